package claudeteams

import (
	"context"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

// inboxPatience is how long an entry of ours may stay unread in the inbox of a lead that has a session. While it
// leads a team, Claude Code checks the inbox every second between turns.
const inboxPatience = 15 * time.Second

// looksSooner reports whether a member with a session of its own sees a message in its inbox before its hooks or
// doors deliver it: the lead does, because it polls its inbox, if the room does not wake it for the message.
func (f *files) looksSooner(m member, wake string) bool {
	return m.name == f.config.lead && (wake == mail.WakeNone || wake == mail.WakeNoDoor)
}

// takeBack removes from the lead's inbox entries that it has left unread for too long, because it is working, or was
// restarted and no longer leads a team. Its hooks then deliver them like any other mail.
func (f *files) takeBack(ctx context.Context, n *dialect.News) {
	b := f.boxes[sanitise(f.config.lead)]
	if b == nil || b.broken != "" || f.config.ours() {
		return
	}
	name, err := f.names.of(ctx, b.owner)
	if err != nil || !f.hooked(ctx, name) {
		return // the inbox is its only way
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

// remove takes entries of ours out of an inbox if they are still unread. It first records that they are not there:
// after a crash their absence must not be taken for a read.
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
		return // another process has the lock: the next look tries again
	}
	for _, l := range removed {
		delete(b.seen, l.Entry)
		n.Receipts = append(n.Receipts, mail.Receipt{Message: l.Message, Reader: mail.AgentAddress(name),
			Mark: mail.MarkUntold})
	}
}
