package tui

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"time"

	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
	"pennypost/internal/mail/triage"
)

// undoTime is how long an answer can be undone. Nothing is sent before it is over.
const undoTime = 5 * time.Second

// pending is mail to be sent soon.
type pending struct {
	number int
	room   mail.RoomName
	key    string // of its conversation; "": it begins one
	hides  bool   // it settles the question of the conversation's row
	draft  mail.Draft
	notice string // describes it to the person
	going  bool   // being sent, too late to undo

	row *row // the hidden row and its position in the needs list; nil: it was not there
	at  int
}

// due says that pending mail must be sent now.
type due struct{ number int }

// left is the result of sending.
type left struct {
	number int
	err    error
	kept   bool // kept in this machine's outbox
}

// send sends a draft when its time to undo is over.
func (m *model) send(room mail.RoomName, key string, hides bool, d mail.Draft, notice string) []effect {
	m.made++
	d.Key = mail.MadeKey + rand.Text() // retries send it only once
	p := &pending{number: m.made, room: room, key: key, hides: hides, draft: d, notice: notice}
	m.pending = append(m.pending, p)
	delete(m.drafts, key)
	m.last = nil
	m.notice = notice + " · z undoes it"
	m.hide(p)
	return []effect{later{undoTime, due{p.number}}}
}

// hide removes the row that p settles.
func (m *model) hide(p *pending) {
	if !p.hides {
		return
	}
	m.waiting = max(0, m.waiting-1)
	p.row = nil
	if p.at = m.lists[needs].at(p.key); p.at >= 0 {
		row := m.lists[needs].rows[p.at]
		p.row = &row
	}
	m.lists[needs].remove(p.key, m.listRows())
	m.lists[updates].remove(p.key, m.listRows())
}

// sendHeld sends failed mail again, immediately and with the same idempotency keys, so that mail that did arrive is
// not duplicated.
func (m *model) sendHeld() []effect {
	if len(m.held) == 0 {
		return m.say("No unsent mail.")
	}
	var out []effect
	m.notice = "Sending " + wording.Plural(len(m.held), "message") + "…"
	for _, p := range m.held {
		if m.drafts[p.key] == p.text() {
			delete(m.drafts, p.key)
		}
		m.hide(p)
		p.going = false
		m.pending = append(m.pending, p)
		out = append(out, due{p.number}.change(m)...)
	}
	m.held = nil
	return out
}

// draft returns the unsent text of a conversation, to be continued.
func (m *model) draft(key string) string {
	text := m.drafts[key]
	m.held = slices.DeleteFunc(m.held, func(p *pending) bool { return p.key == key && p.text() == text })
	return text
}

func (m *model) find(number int) *pending {
	for _, p := range m.pending {
		if p.number == number {
			return p
		}
	}
	return nil
}

func (msg due) change(m *model) []effect {
	p := m.find(msg.number)
	if p == nil || p.going {
		return nil
	}
	p.going = true
	if m.notice == p.notice+" · z undoes it" {
		m.notice = p.notice
	}
	return []effect{call(func(ctx context.Context, office mail.Office) message {
		svc, err := office.Room(ctx, p.room, mail.User)
		var sent mail.Sent
		if err == nil {
			sent, err = svc.Send(ctx, p.draft)
		}
		if err == nil && sent.Kept == nil && p.hides { // an answer implies that the question was read
			_, _ = svc.Mark(ctx, mail.Marking{IDs: []mail.ID{p.draft.ReplyTo}, Mark: mail.MarkRead})
		}
		return left{p.number, err, sent.Kept != nil}
	})}
}

// keptHere is the notice for mail in the outbox.
const keptHere = "Kept on this machine, not delivered yet. It is sent when the room is reachable."

// Mail that failed to send becomes a draft.
func (msg left) change(m *model) []effect {
	p := m.find(msg.number)
	m.drop(p)
	if msg.err != nil {
		shows := "r"
		if p.key == "" {
			shows = "c"
		}
		m.notice = "Not sent, but kept: S sends it, " + shows + " shows it. " + cleanLine(msg.err.Error())
		m.drafts[p.key], m.held = p.text(), append(m.held, p)
		m.restore(p)
	} else if msg.kept {
		m.notice = keptHere
	} else if strings.HasPrefix(m.notice, "Sending ") && !m.sending() {
		m.notice = p.notice
	}
	out := m.reload()
	return m.leave(msg.err, out)
}

// leave quits if that was requested and nothing is being sent any more. After a failure the view stays, so that the
// person can decide.
func (m *model) leave(failed error, out []effect) []effect {
	switch {
	case !m.leaving || m.sending():
		return out
	case failed != nil:
		m.leaving = false
		return out
	}
	return []effect{quit{}}
}

// text is the person's text.
func (p *pending) text() string {
	if p.key == "" {
		return composed(p.draft)
	}
	return p.draft.Body
}

func (m *model) drop(p *pending) {
	m.pending = slices.DeleteFunc(slices.Clone(m.pending), func(other *pending) bool { return other == p })
}

// restore puts a hidden row back before the next reload.
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

// takeBack undoes the last action.
func (m *model) takeBack() []effect {
	for i := len(m.pending) - 1; i >= 0; i-- {
		if p := m.pending[i]; !p.going {
			m.drop(p)
			m.drafts[p.key] = p.text()
			m.restore(p)
			m.notice = "Undone. Nothing was sent."
			return m.reload()
		}
	}
	if u := m.last; u != nil {
		m.last = nil
		return []effect{mark(u.batches, u.mark, 0, "Undone.", nil)}
	}
	return m.say("Nothing to undo.")
}

// quit sends all pending mail now, and quits afterwards.
func (m *model) quit() []effect {
	m.leaving = true
	if !m.sending() {
		return []effect{quit{}}
	}
	m.notice = "Sending " + wording.Plural(len(m.pending)+m.answers, "message") + "…"
	var out []effect
	for _, p := range m.pending {
		out = append(out, due{p.number}.change(m)...)
	}
	return out
}

// triage is the message as a question to the person.
func (s *subject) triage() triage.Question {
	return triage.Question{Item: &s.Item, By: mail.User, As: "it"}
}

// make sends a draft made by triage, or shows its error.
func (m *model) make(q *subject, d mail.Draft, err error, notice string) []effect {
	if err != nil {
		return m.wrong(err)
	}
	return m.send(q.room, q.key(), triage.AsksUser(&q.Item), d, notice)
}

// chooses answers with the n-th option.
func (m *model) chooses(q *subject, n int) []effect {
	d, err := q.triage().Option(n)
	return m.make(q, d, err, "Answered “"+shorten(cleanLine(d.Body), 40)+"” to "+signer(q.From))
}

// answer sends a written answer or reply.
func (m *model) answer(q *subject, text string) []effect {
	d, err := q.triage().Write(text)
	notice := "Replied to "
	if d.Type != string(mail.Custom) {
		notice = "Answered "
	}
	for _, to := range d.To[:min(1, len(d.To))] {
		notice += signer(mail.Address(to))
	}
	return m.make(q, d, err, notice)
}

// decline refuses to answer.
func (m *model) decline(q *subject) []effect {
	d, err := q.triage().Decline(mail.DeclinedBody)
	return m.make(q, d, err, "Declined to answer "+signer(q.From))
}

// adopt answers the conversation's open question with the newest suggestion.
func (m *model) adopt() []effect {
	if m.talk == nil {
		return m.say("Open it first: enter shows the suggestion.")
	}
	q, s := m.talk.question(), m.talk.suggestion()
	if q == nil || s == nil {
		return m.say("No suggestion here.")
	}
	about := &subject{m.talk.room, *q}
	d, err := about.triage().Adopt(s)
	return append(m.make(about, d, err, "Answered "+signer(q.From)+" as "+signer(s.From)+" suggests"), m.openNext()...)
}

// signer is the sender's name.
func signer(a mail.Address) string { return cleanLine(string(a.Signer())) }
