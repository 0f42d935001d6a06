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

	row *row // what hides, and where it was among what needs the person; nil: it was not there
	at  int
}

// due says that something leaves now.
type due struct{ number int }

// left says what became of what was sent.
type left struct {
	number int
	err    error
	kept   bool // in the outbox of this machine
}

// send has a draft leave when it can no longer be taken back.
func (m *model) send(room mail.RoomName, key string, hides bool, d mail.Draft, notice string) []effect {
	m.made++
	d.Key = mail.MadeKey + rand.Text() // so that it is sent once, however often
	p := &pending{number: m.made, room: room, key: key, hides: hides, draft: d, notice: notice}
	m.pending = append(m.pending, p)
	delete(m.drafts, key)
	m.last = nil
	m.notice = notice + " · z takes it back"
	m.hide(p)
	return []effect{later{undoTime, due{p.number}}}
}

// hide takes off the lists what p settles.
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

// sendHeld sends at once what the post office did not take. It has the keys of the first time, so that what got there
// after all is not there twice.
func (m *model) sendHeld() []effect {
	if len(m.held) == 0 {
		return m.say("Nothing is kept that was to be sent.")
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

// draft returns what was written for a conversation and not sent, for the person to go on with.
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
	if m.notice == p.notice+" · z takes it back" {
		m.notice = p.notice
	}
	return []effect{call(func(ctx context.Context, office mail.Office) message {
		svc, err := office.Room(ctx, p.room, mail.User)
		var sent mail.Sent
		if err == nil {
			sent, err = svc.Send(ctx, p.draft)
		}
		if err == nil && sent.Kept == nil && p.hides { // whoever answers has read the question
			_, _ = svc.Mark(ctx, mail.Marking{IDs: []mail.ID{p.draft.ReplyTo}, Mark: mail.MarkRead})
		}
		return left{p.number, err, sent.Kept != nil}
	})}
}

// keptHere is said of what went into the outbox.
const keptHere = "Kept on this machine: nobody has it yet. It goes when the way to the room is back."

// What could not be sent is kept as what is being written.
func (msg left) change(m *model) []effect {
	p := m.find(msg.number)
	m.drop(p)
	if msg.err != nil {
		shows := "r"
		if p.key == "" {
			shows = "c"
		}
		m.notice = "Not sent, and kept: S sends it, " + shows + " shows it. " + cleanLine(msg.err.Error())
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

// leave ends the view when it is to end and the last that was on its way has been heard of. Of what failed the person
// decides what becomes.
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

// text is what the person wrote.
func (p *pending) text() string {
	if p.key == "" {
		return composed(p.draft)
	}
	return p.draft.Body
}

func (m *model) drop(p *pending) {
	m.pending = slices.DeleteFunc(slices.Clone(m.pending), func(other *pending) bool { return other == p })
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
	return m.say("There is nothing to take back.")
}

// quit ends the view when everything that is pending has been sent, which happens now.
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

// triage is the message as something that the person answers.
func (s *subject) triage() triage.Question {
	return triage.Question{Item: &s.Item, By: mail.User, As: "it"}
}

// make sends what triage made of an item, or says why it made nothing.
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

// answer answers, or replies, with what was written.
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

// adopt answers the open question of the conversation in the words of the newest suggestion, which is shown there.
func (m *model) adopt() []effect {
	if m.talk == nil {
		return m.say("Open it first: enter shows what is suggested.")
	}
	q, s := m.talk.question(), m.talk.suggestion()
	if q == nil || s == nil {
		return m.say("Nothing is suggested here.")
	}
	about := &subject{m.talk.room, *q}
	d, err := about.triage().Adopt(s)
	return append(m.make(about, d, err, "Answered "+signer(q.From)+" as "+signer(s.From)+" suggests"), m.openNext()...)
}

// signer is who signs, as a person would say it.
func signer(a mail.Address) string { return cleanLine(string(a.Signer())) }
