package mailroom

import (
	"cmp"
	"context"
	"sync"

	"pennypost/internal/mail"
	"pennypost/internal/room/check"
	"pennypost/internal/room/fold"
)

// Desk implements mail.Reader.
func (v *view) Desk(ctx context.Context, q mail.DeskQuery) (mail.Desk, error) {
	if err := v.NeedUser("see the desk"); err != nil {
		return mail.Desk{}, err
	}
	out, err := v.DeskRows(q)
	if err != nil {
		return mail.Desk{}, err
	}
	if out.Needs, err = v.Preview(ctx, out.Needs); err == nil {
		out.Updates, err = v.Preview(ctx, out.Updates)
	}
	return out, err
}

// DeskRows returns the desk of the room without the content of its texts. Of the desks of a thousand rooms few rows
// are shown, and Preview is called for those.
func (r *Room) DeskRows(q mail.DeskQuery) (mail.Desk, error) {
	q, err := q.Checked()
	if err != nil {
		return mail.Desk{}, err
	}
	v := r.view(check.Caller{Who: mail.User})
	out := mail.Desk{Needs: []mail.Conversation{}, Updates: []mail.Conversation{}, Trouble: v.opts.Trouble()}
	v.read(func(s *fold.State, now mail.Time) {
		f := fold.DeskFilter{Q: q}
		f.After, _ = mail.ParseDeskSpot(q.After) // checked
		if q.From != "" {
			if f.From, err = v.address(s, q.From); err != nil {
				return
			}
		}
		v.desks.of(s, q.Place, now).Fill(&out, v.sight(s), &f, v.name, now)
	})
	return out, err
}

// Preview completes rows except for their bodies, of which they show the beginning. It omits messages that were
// erased meanwhile.
func (r *Room) Preview(ctx context.Context, rows []mail.Conversation) ([]mail.Conversation, error) {
	items := make([]mail.Item, len(rows))
	for i := range rows {
		items[i] = rows[i].Item
	}
	items, err := r.complete(ctx, items)
	there := rows[:0]
	for _, c := range rows {
		if len(items) > 0 && items[0].Seq == c.Seq {
			c.Item, items = items[0], items[1:]
			c.Preview, c.Body = cmp.Or(r.opts.Preview(c.Body), c.DocNames()), ""
			there = append(there, c)
		}
	}
	return there, err
}

// desks caches desks until something happens. A large mailbox takes milliseconds to walk, and several pages may look
// at it again and again.
type desks struct {
	mu   sync.Mutex // taken after Room.mu
	last map[mail.Place]*fold.Conversations
}

// of returns the desk of a state, which is locked.
func (d *desks) of(s *fold.State, place mail.Place, now mail.Time) *fold.Conversations {
	d.mu.Lock()
	defer d.mu.Unlock()
	if k := d.last[place]; k != nil && k.Seq == s.Seq && k.At <= now && now < k.Until {
		return k
	}
	if d.last == nil {
		d.last = make(map[mail.Place]*fold.Conversations)
	}
	d.last[place] = s.Conversations(place, now)
	return d.last[place]
}
