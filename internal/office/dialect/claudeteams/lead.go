package claudeteams

import (
	"context"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

// inboxPatience is how long an entry of ours may be left unread in the inbox of a lead that has a session. Claude Code
// looks there every second while it leads a team and is between turns.
const inboxPatience = 15 * time.Second

// looksSooner reports whether a member with a session of its own sees a message in its inbox sooner than its hooks or
// doors bring it: it is the lead, which looks at its inbox by itself, and the room does not wake it for this one.
func (f *files) looksSooner(m member, wake string) bool {
	return m.name == f.config.lead && (wake == mail.WakeNone || wake == mail.WakeNoDoor)
}

// takeBack removes from the lead's inbox what it has left unread for too long, because it works, or was restarted and
// leads no team any more. The hooks then tell of it as of any other mail.
func (f *files) takeBack(ctx context.Context, n *dialect.News) {
	b := f.boxes[sanitise(f.config.lead)]
	if b == nil || b.broken != "" || f.config.ours() {
		return
	}
	name, err := f.names.of(ctx, b.owner)
	if err != nil || !f.hooked(ctx, name) {
		return // its inbox is its only way
	}
	now, unread := f.opts.Now(), make(map[mail.ID]time.Time)
	var late []mail.ID
	for i := range b.letters {
		l := &b.letters[i]
		if _, ours := f.written.byEntry[l.id]; !ours || l.Read {
			continue
		}
		since, known := f.unreadSince[l.id]
		if !known {
			since = now
		}
		if unread[l.id] = since; now.Sub(since) >= inboxPatience {
			late = append(late, l.id)
		}
	}
	if f.unreadSince = unread; len(late) > 0 {
		f.remove(ctx, b, name, late, n)
	}
}

// remove takes entries of ours out of an inbox, if they are unread still. That they do not stand there is noted first:
// who finds out after a crash that they are gone must not take them for read.
func (f *files) remove(ctx context.Context, b *box, name mail.Name, entries []mail.ID, n *dialect.News) {
	var removed []line
	err := b.edit(locker{ctx, 0}, func() (c changes, err error) {
		b.dirty = true
		for _, id := range entries {
			if i := b.find(id); i >= 0 && !b.letters[i].Read {
				l := f.written.byEntry[id]
				l.Done = false
				removed, c.remove = append(removed, l), append(c.remove, id)
			}
		}
		return c, f.written.note(removed...)
	})
	if err != nil {
		return // somebody has the lock: at the next look
	}
	for _, l := range removed {
		delete(b.seen, l.Entry)
		n.Receipts = append(n.Receipts, mail.Receipt{Message: l.Message, Reader: mail.AgentAddress(name),
			Mark: mail.MarkUntold})
	}
}
