package tui

import (
	"context"
	"crypto/rand"
	"slices"
	"time"

	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
)

// undoTime is how long an answer can be taken back. Until it is over nothing has been sent.
const undoTime = 5 * time.Second

// pending is mail that leaves soon.
type pending struct {
	number int
	room   mail.RoomName
	key    string // of its conversation; "": it begins one
	hides  bool   // it settles what the row of the conversation asks
	draft  mail.Draft
	notice string // what it is, for the person
	going  bool   // it cannot be taken back any more

	row *mail.Conversation // what hides, and where it was among what needs the person; nil: it was not there
	at  int
}

// due says that something leaves now.
type due struct{ number int }

// left says what became of what was sent.
type left struct {
	number int
	err    error
}

// send has a draft leave when it can no longer be taken back.
func (m *model) send(room mail.RoomName, key string, hides bool, d mail.Draft, notice string) []effect {
	m.made++
	d.Key = mail.MadeKey + rand.Text() // so that it is sent once, however often
	p := &pending{number: m.made, room: room, key: key, hides: hides, draft: d, notice: notice}
	m.pending = append(m.pending, p)
	delete(m.drafts, key)
	delete(m.failed, key)
	m.last = nil
	m.notice = notice + " · z takes it back"
	if hides {
		m.waiting = max(0, m.waiting-1)
		if p.at = m.lists[needs].at(key); p.at >= 0 {
			row := m.lists[needs].rows[p.at]
			p.row = &row
		}
		m.lists[needs].remove(key, m.listRows())
		m.lists[updates].remove(key, m.listRows())
	}
	return []effect{pause{undoTime, due{p.number}}}
}

func (m *model) find(number int) *pending {
	for _, p := range m.pending {
		if p.number == number {
			return p
		}
	}
	return nil
}

func (m *model) due(msg due) []effect {
	p := m.find(msg.number)
	if p == nil || p.going {
		return nil
	}
	p.going = true
	if m.notice == p.notice+" · z takes it back" {
		m.notice = p.notice
	}
	return []effect{call(func(ctx context.Context, office mail.Office) message {
		svc, err := office.Room(ctx, p.room, mail.User)
		if err == nil {
			_, err = svc.Send(ctx, p.draft)
		}
		if err == nil && p.hides { // whoever answers has read the question
			_, _ = svc.Mark(ctx, mail.Marking{IDs: []mail.ID{p.draft.ReplyTo}, Mark: mail.MarkRead})
		}
		return left{p.number, err}
	})}
}

// left notes what became of what was sent. What could not be sent is kept as what is being written.
func (m *model) left(msg left) []effect {
	p := m.find(msg.number)
	m.drop(p)
	if msg.err != nil {
		m.notice = "Not sent, and kept: r shows it. " + cleanLine(msg.err.Error())
		if p.key == "" {
			m.notice = "Not sent, and kept: c shows it. " + cleanLine(msg.err.Error())
		}
		m.drafts[p.key], m.failed[p.key] = p.text(), true
		m.restore(p)
	}
	out := m.reload()
	if m.leaving && len(m.pending) == 0 {
		if msg.err != nil {
			m.leaving = false // the person decides what becomes of it
			return out
		}
		return []effect{quit{}}
	}
	return out
}

// text is what the person wrote.
func (p *pending) text() string {
	if p.key == "" {
		return composed(p.draft)
	}
	return p.draft.Body
}

func (m *model) drop(p *pending) {
	for i := range m.pending {
		if m.pending[i] == p {
			m.pending = append(m.pending[:i:i], m.pending[i+1:]...)
			return
		}
	}
}

// restore shows what is asked again, before the post office has been asked.
func (m *model) restore(p *pending) {
	if p.row == nil {
		return
	}
	l := &m.lists[needs]
	m.waiting++
	l.all = slices.Insert(slices.Clone(l.all), min(p.at, len(l.all)), *p.row)
	l.filter(l.words)
	l.cursor = max(0, l.at(p.key))
	l.settle(m.listRows())
}

// takeBack takes back what was done last.
func (m *model) takeBack() []effect {
	for i := len(m.pending) - 1; i >= 0; i-- {
		if p := m.pending[i]; !p.going {
			m.drop(p)
			m.drafts[p.key] = p.text()
			m.restore(p)
			m.notice = "Taken back. Nothing was sent."
			return m.reload()
		}
	}
	if u := m.last; u != nil {
		m.last = nil
		return []effect{mark(u.batches, u.mark, 0, "Taken back.", nil)}
	}
	m.notice = "There is nothing to take back."
	return nil
}

// quit ends the view when everything that is pending has been sent, which happens now.
func (m *model) quit() []effect {
	m.leaving = true
	if len(m.pending) == 0 {
		return []effect{quit{}}
	}
	m.notice = "Sending " + wording.Plural(len(m.pending), "message") + "…"
	var out []effect
	for _, p := range m.pending {
		out = append(out, m.due(due{p.number})...)
	}
	return out
}

// answer sends an answer: one of the choices or, if choice is "", a text.
func (m *model) answer(q *subject, choice, text string) []effect {
	d := q.Reply(mail.User)
	if d.Body = text; choice != "" {
		d = q.Choose(mail.User, choice)
	}
	if len(d.To) == 0 {
		m.notice = "Nobody can be answered: this is from the post office itself."
		return nil
	}
	to := signer(mail.Address(d.To[0]))
	notice := "Replied to " + to
	switch {
	case choice != "":
		notice = "Answered “" + shorten(cleanLine(choice), 40) + "” to " + to
	case d.Type != string(mail.Custom):
		notice = "Answered " + to
	}
	return m.send(q.room, q.key(), asksUser(&q.Item), d, notice)
}

// decline refuses to answer.
func (m *model) decline(q *subject) []effect {
	return m.send(q.room, q.key(), true, q.Decline(mail.User, mail.DeclinedBody), "Declined to answer "+signer(q.From))
}

// adopt answers the open question of the conversation in the words of the newest suggestion, which is shown there.
func (m *model) adopt() []effect {
	if m.talk == nil {
		m.notice = "Open it first: enter shows what is suggested."
		return nil
	}
	q, s := m.talk.question(), m.talk.suggestion()
	if q == nil || s == nil {
		m.notice = "Nothing is suggested here."
		return nil
	}
	about := &subject{m.talk.room, *q}
	return append(m.send(about.room, about.key(), true, q.Adopt(mail.User, &s.Message),
		"Answered "+signer(q.From)+" as "+signer(s.From)+" suggests"), m.openNext()...)
}

// signer is who signs, as a person would say it.
func signer(a mail.Address) string { return cleanLine(string(a.Signer())) }
