package tui

import (
	"slices"
	"strings"

	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
	"pennypost/internal/mail/triage"
)

// mostBefore limits the messages before a question that are shown on one line each. A screen of 24 lines has room for
// two.
const mostBefore = 6

// answerKey is the key of the n-th answer, from 0: red for a question, and black for a client's dialog, where red
// would suggest haste. Answers after the ninth have none.
func (m *model) answerKey(n int) span {
	stamp := label
	if m.dialog != nil {
		stamp = reverse | bold
	}
	switch {
	case n > 8:
		return span{"   ", 0}
	case m.plain:
		return span{"[" + itoa(n+1) + "]", bold | clickDigit | style(n+1)<<numbered}
	}
	return span{" " + itoa(n+1) + " ", stamp | clickDigit | style(n+1)<<numbered}
}

// answerLine is an answer that can be clicked anywhere: its key, its text, and a note.
func (m *model) answerLine(n int, text line, note string) line {
	key := m.answerKey(n)
	out := append(line{{" ", 0}, key, {" ", 0}}, text...)
	if note != "" {
		out = append(out, span{"  " + cleanLine(note), grey})
	}
	return on(fill(out, m.width), key.style&^(label|reverse|bold))
}

// asked returns the line at which the question begins, and the total number of lines; -1: there is no question.
func (m *model) asked() (at, lines int) {
	set, starts := m.talkLines()
	i := slices.IndexFunc(m.talk.items, func(it mail.Item) bool { return triage.AsksUser(&it) })
	if i < 0 {
		return -1, len(set)
	}
	return starts[i], len(set)
}

// viewOptions draws the answers to the open question and, if there is room, who waits for it and the messages before
// it.
func (m *model) viewOptions() []line {
	t := m.talk
	question := t.question()
	if question == nil || m.box != nil {
		return nil
	}
	options, suggestion := choices(question), t.suggestion()
	at, lines := m.asked()
	room := m.bodyRows() - (lines - at)
	waits := m.viewWaits(question)
	tall := len(options) > 0 && 2*len(options)+2+len(waits)+2 < room
	var out []line
	if suggestion != nil {
		out = append(out, nil, line{{"  a  ", bold}, {text: "as " + signer(suggestion.From) +
			" suggests, without being asked: " + shorten(cleanLine(suggestion.Body), 60)}})
	}
	for i, o := range options {
		if tall || len(out) == 0 {
			out = append(out, nil)
		}
		out = append(out, m.answerLine(i, line{{cleanLine(o.Answer), bold}}, o.Note))
	}
	out = out[:min(len(out), max(2, m.bodyRows()/2, room))]
	if at == 0 || lines+len(out)+len(waits) <= m.bodyRows() {
		at = 0 // the earlier messages are above in full
	}
	var before []line
	if at > 0 {
		before = m.viewBefore(question, min(mostBefore, room-len(out)-len(waits)-2))
	}
	if more := append(waits, before...); len(more) > 0 && len(out)+len(more)+2 <= room {
		out = append(out, nil, line{{" " + strings.Repeat("┄", min(m.width-2, maxMeasure)), grey}})
		return append(out, more...)
	}
	if len(waits) > 0 && len(out)+1 <= max(room, m.bodyRows()/2) {
		out = append(out, m.waitsLine(waitersFor(m.fleet[waitsPart].all, t.room, asker(question))))
	}
	return out
}

const waitsPart = waits - agents

// asker is the agent that sent a message; "": none that could be waited for.
func asker(it *mail.Item) mail.Name { return mail.Name(it.From.Signer()) }

// viewWaits draws who waits for a question: on one line, or as a tree on a tall screen.
func (m *model) viewWaits(q *mail.Item) []line {
	list := waitersFor(m.fleet[waitsPart].all, m.talk.room, asker(q))
	if len(list) == 0 {
		return nil
	}
	if m.height < 32 {
		return []line{m.waitsLine(list)}
	}
	out := []line{spread(line{{" Waiting for it", grey}}, line{{wording.Plural(len(list), "agent") + " ", grey}},
		min(m.width, maxMeasure))}
	for _, w := range list {
		out = append(out, append(line{{" " + strings.Repeat("   ", w.depth) + "└─ ", grey}},
			append(m.waiter(w), span{"  " + cleanLine(w.Subject), grey})...))
	}
	return append(out, nil)
}

// waitsLine draws the waiting agents on one line.
func (m *model) waitsLine(list []waiter) line {
	out := line{{" " + wording.Plural(len(list), "agent") + " " +
		map[bool]string{true: "waits", false: "wait"}[len(list) == 1] + " for it: ", grey}}
	for i, w := range list {
		if i > 0 {
			out = append(out, span{", ", grey})
		}
		out = append(out, m.waiter(w)...)
	}
	return out
}

// waiter draws a waiting agent and its waiting time.
func (m *model) waiter(w waiter) line {
	sign := span{"○ ", grey}
	for i := range m.fleet[0].all {
		if e := &m.fleet[0].all[i]; e.room == m.talk.room && e.agent.Name == w.Asker {
			_, _, sign = m.namesOf(e)
		}
	}
	return line{sign, {cleanLine(string(w.Asker)), 0}, {" " + ago(m.now, w.Since), amber}}
}

// viewBefore draws at most that many of the last messages before a question, on one line each.
func (m *model) viewBefore(q *mail.Item, most int) (out []line) {
	for i := range m.talk.items {
		it := &m.talk.items[i]
		if it.ID == q.ID {
			break
		}
		text, _, _ := strings.Cut(strings.TrimSpace(it.Body), "\n")
		out = append(out, line{{" " + when(m.now, it.Sent) + "  ", grey},
			{fit(people(it), 26) + " ", 0}, {shorten(cleanLine(text), max(8, min(m.width, maxMeasure)-36)), grey}})
	}
	return out[max(0, len(out)-max(0, most)):]
}

// people says who wrote to whom.
func people(it *mail.Item) string {
	from := signer(it.From)
	if it.From == mail.ToUser {
		from = "you"
	}
	return from + " → " + recipients(it.To)
}

// openFirst opens the first question at the start.
func (m *model) openFirst() []effect {
	if !m.first {
		return nil
	}
	m.first = false
	if m.tab != needs || m.talk != nil || m.dialog != nil || m.box != nil {
		return nil
	}
	return m.open()
}
