package tui

import (
	"slices"
	"strings"

	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
	"pennypost/internal/mail/triage"
)

// mostBefore is how many of the letters before a question are told in a line each, where there is room; on a screen of
// 24 lines there are two.
const mostBefore = 6

// answerKey is the key of the n-th answer, n from 0, as it is drawn: red for a question, and black for the dialog of a
// client, as red would recommend haste. Those after the ninth have none.
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

// answerLine is a line that answers, wherever it is clicked: its key, what it says, and a note.
func (m *model) answerLine(n int, text line, note string) line {
	key := m.answerKey(n)
	out := append(line{{" ", 0}, key, {" ", 0}}, text...)
	if note != "" {
		out = append(out, span{"  " + cleanLine(note), grey})
	}
	return on(fill(out, m.width), key.style&^(label|reverse|bold))
}

// asked is at which line of the conversation its question begins, and how many lines there are in all; -1: it asks
// nothing.
func (m *model) asked() (at, lines int) {
	set, starts := m.talkLines()
	i := slices.IndexFunc(m.talk.items, func(it mail.Item) bool { return triage.AsksUser(&it) })
	if i < 0 {
		return -1, len(set)
	}
	return starts[i], len(set)
}

// viewOptions lists what can be answered to the open question, and below it who waits for that and what was written
// before it, as far as there is room.
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
			" suggests, who was not asked: " + shorten(cleanLine(suggestion.Body), 60)}})
	}
	for i, o := range options {
		if tall || len(out) == 0 {
			out = append(out, nil)
		}
		out = append(out, m.answerLine(i, line{{cleanLine(o.Answer), bold}}, o.Note))
	}
	out = out[:min(len(out), max(2, m.bodyRows()/2, room))]
	if at == 0 || lines+len(out)+len(waits) <= m.bodyRows() {
		at = 0 // what came before stands above, in full
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
		out = append(out, m.waitsLine(behind(m.fleet[waitsPart].all, t.room, asker(question))))
	}
	return out
}

const waitsPart = waits - agents

// asker is the agent that a message is of; "": it is of nobody who could be waited for.
func asker(it *mail.Item) mail.Name { return mail.Name(it.From.Signer()) }

// viewWaits tells who waits behind a question: in a line, or on a tall screen as a tree.
func (m *model) viewWaits(q *mail.Item) []line {
	list := behind(m.fleet[waitsPart].all, m.talk.room, asker(q))
	if len(list) == 0 {
		return nil
	}
	if m.height < 32 {
		return []line{m.waitsLine(list)}
	}
	out := []line{spread(line{{" Waits behind it", grey}}, line{{wording.Plural(len(list), "agent") + " ", grey}},
		min(m.width, maxMeasure))}
	for _, w := range list {
		out = append(out, append(line{{" " + strings.Repeat("   ", w.depth) + "└─ ", grey}},
			append(m.waiter(w), span{"  " + cleanLine(w.Subject), grey})...))
	}
	return append(out, nil)
}

// waitsLine tells in a line who waits.
func (m *model) waitsLine(list []waiter) line {
	out := line{{" " + wording.Plural(len(list), "agent") + " " +
		map[bool]string{true: "waits", false: "wait"}[len(list) == 1] + " behind it: ", grey}}
	for i, w := range list {
		if i > 0 {
			out = append(out, span{", ", grey})
		}
		out = append(out, m.waiter(w)...)
	}
	return out
}

// waiter says who waits, and since when.
func (m *model) waiter(w waiter) line {
	sign := span{"○ ", grey}
	for i := range m.fleet[0].all {
		if e := &m.fleet[0].all[i]; e.room == m.talk.room && e.agent.Name == w.Asker {
			_, _, sign = m.namesOf(e)
		}
	}
	return line{sign, {cleanLine(string(w.Asker)), 0}, {" " + ago(m.now, w.Since), amber}}
}

// viewBefore tells the last letters before a question, at most so many, in a line each.
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

// openFirst opens the first question when the view has just begun.
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
