package tui

import (
	"context"

	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
	"pennypost/internal/mail/triage"
)

// choice is the view's own question.
type choice struct {
	text string
	keys []option
}

// option is an answer to a choice.
type option struct {
	key, label string
	do         func() []effect
}

// choose answers a choice; any other key cancels it.
func (m *model) choose(k string) []effect {
	c := m.choice
	m.choice = nil
	for _, o := range c.keys {
		if o.key == k {
			return o.do()
		}
	}
	return nil
}

// batch is some messages of a room.
type batch struct {
	room mail.RoomName
	ids  []mail.ID
}

// batches returns the messages of a conversation.
func batches(c *mail.Conversation) []batch {
	ids := c.IDs
	if len(ids) == 0 && c.State != "" {
		ids = []mail.ID{c.ID}
	}
	return []batch{{c.Room, ids}}
}

// archive archives a conversation. With an open question, it asks first.
func (m *model) archive() []effect {
	c := m.row()
	if c == nil {
		return nil
	}
	if c.Asks == 0 {
		return m.putAway(*c)
	}
	row, q := *c, m.about()
	m.choice = &choice{text: "It is still waiting for your answer.", keys: []option{
		{"e", "archive anyway", func() []effect { return m.putAway(row) }},
		{"r", "answer", func() []effect { return m.replyTo(q) }},
		{"x", "decline", func() []effect { return m.askDeclineOf(q) }},
	}}
	return nil
}

// putAway archives a conversation.
func (m *model) putAway(c mail.Conversation) []effect {
	title := shorten(headline(&c.Message, c.Preview), 40)
	m.remove(keyOf(&row{Conversation: c}))
	if c.Folded > 0 && len(c.IDs) == 0 {
		return []effect{archiveStatus(m.rooms())}
	}
	batches := batches(&c)
	return []effect{mark(batches, mail.MarkArchived, 0, "Archived “"+title+"” · z undoes it",
		&undo{batches, mail.MarkUnarchived})}
}

// remove removes a conversation from the screen.
func (m *model) remove(key string) {
	m.talk = nil
	for i := range m.lists {
		m.lists[i].remove(key, m.listRows())
	}
}

// archiveStatus archives the folded status messages.
func archiveStatus(rooms []mail.RoomName) effect {
	return call(func(ctx context.Context, p mail.Office) message {
		d, err := p.Desk(ctx, mail.DeskQuery{Rooms: rooms, Part: mail.Updates, Status: true, Limit: mail.MaxLimit})
		if err != nil {
			return done{err: err}
		}
		var all []batch
		n := 0
		for _, c := range d.Updates {
			all = append(all, batch{c.Room, c.IDs})
			n += len(c.IDs)
		}
		return mark(all, mail.MarkArchived, 0, "Archived "+wording.Plural(n, "message")+" · z undoes it",
			&undo{all, mail.MarkUnarchived}).(call)(ctx, p)
	})
}

// toggleRead marks a conversation read, or its last message unread.
func (m *model) toggleRead() []effect {
	c := m.row()
	switch {
	case c == nil:
		return nil
	case c.Unread > 0:
		return []effect{mark(batches(c), mail.MarkRead, 0, "Marked read.", nil)}
	case c.State == "":
		return nil
	}
	m.talk = nil
	return []effect{mark([]batch{{c.Room, []mail.ID{c.ID}}}, mail.MarkUnread, 0, "Marked unread.", nil)}
}

// askSnooze asks when a conversation should come back.
func (m *model) askSnooze() []effect {
	c := m.row()
	if c == nil || c.Folded > 0 {
		return nil
	}
	ask := &choice{text: "Snooze until"}
	batches, key := batches(c), keyOf(&row{Conversation: *c})
	for i, later := range triage.Laters(m.now) {
		ask.keys = append(ask.keys, option{itoa(i + 1), later.Short, func() []effect {
			m.remove(key)
			back := later.At.Std().In(m.now.Location()).Format("Mon 2 Jan 15:04")
			return []effect{mark(batches, mail.MarkSnoozed, later.At, "Back "+back+" · z undoes it",
				&undo{batches, mail.MarkUnread})}
		}})
	}
	m.choice = ask
	return nil
}

// askDecline asks whether to decline a question.
func (m *model) askDecline() []effect { return m.askDeclineOf(m.about()) }

func (m *model) askDeclineOf(q *subject) []effect {
	if q == nil || !triage.AsksUser(&q.Item) {
		return m.say("No question here waits for your answer.")
	}
	m.choice = &choice{text: "Decline to answer? " + signer(q.From) + " then decides alone.", keys: []option{
		{"x", "decline", func() []effect {
			return m.onward(m.decline(q))
		}},
	}}
	return nil
}
