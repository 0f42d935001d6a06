package tui

import (
	"fmt"
	"strings"

	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
)

func (m *model) viewList() []line {
	l := m.shown()
	if len(l.rows) == 0 {
		return m.viewEmpty(l)
	}
	var out []line
	for i := l.top; i < len(l.rows) && len(out) < 2*m.listRows(); i++ {
		for _, text := range m.viewRow(&l.rows[i], i == l.cursor) {
			out = append(out, rowLine(fill(text, m.width), i-l.top, i == l.cursor))
		}
	}
	return out
}

func (m *model) viewEmpty(l *list) []line {
	text := "Nothing needs you."
	switch {
	case m.filter.search != "" && m.tab == updates && m.notice != "":
		text = ""
	case !l.loaded:
		text = "Looking…"
	case m.filter != (filter{}):
		text = "No matches."
	case m.tab == updates:
		text = "No updates."
	}
	return []line{nil, {{"   " + text, grey}}}
}

// viewRow draws a conversation in two lines: subject, sender, room and age, then the options or the beginning of the
// text.
func (m *model) viewRow(c *row, under bool) []line {
	if c.card != nil {
		return m.viewDialogRow(c, under)
	}
	sign, st := "  ", style(0)
	urgent := c.Urgent || c.Priority == mail.Urgent
	switch {
	case urgent:
		sign, st = "! ", red|bold
	case c.Asks > 0:
		sign, st = "? ", red|bold
	case c.Unread > 0:
		sign, st = "● ", blue
	}
	bar := span{text: "  "}
	if under {
		bar = span{"▌ ", red}
	}
	subject := span{headline(&c.Message, c.Preview), 0}
	if c.Folded > 0 {
		subject.text = wording.Plural(c.Folded, "status report")
	}
	if c.Unread > 0 || c.Asks > 0 || under {
		subject.style = bold
	}
	left := line{bar, {sign, st}, subject}
	if n := c.Messages; n > 1 && c.Folded == 0 {
		left = append(line{bar, {sign, st}}, cut(line{subject}, max(8, m.width-m.asideWidth()-10))...)
		left = append(left, span{fmt.Sprintf(" (%d)", n), grey})
	}
	aside := m.viewAside(&c.Conversation)
	if urgent {
		aside = append(line{{" URGENT ", label}, {" ", 0}}, aside...)
	}
	below := append(line{bar, {text: "  "}}, m.viewBelow(&c.Conversation)...)
	return []line{spread(left, aside, m.width), spread(below, m.howManyWait(&c.Conversation), m.width)}
}

// howManyWait says how many agents wait for a question's answer.
func (m *model) howManyWait(c *mail.Conversation) line {
	if c.Asks == 0 {
		return nil
	}
	switch n := len(waitersFor(m.fleet[waitsPart].all, c.Room, asker(&c.Item))); n {
	case 0:
		return nil
	default:
		return line{{itoa(n) + " waiting ", amber}}
	}
}

// On a screen narrower than compact, a row's second line has the name and room; narrower than narrow, only the name.
const (
	compact = 64
	narrow  = 60
)

// asideWidth is the width of the column of names and times.
func (m *model) asideWidth() int {
	switch {
	case m.width < compact:
		return ageWidth
	case m.width < 100:
		return 34
	}
	return 44
}

// ageWidth is the width of "30 days".
const ageWidth = 8

// viewAside draws the sender, room and age.
func (m *model) viewAside(c *mail.Conversation) line {
	when := ago(m.now, c.Sent)
	age := span{strings.Repeat(" ", max(0, ageWidth-1-columns(when))) + when + " ", grey}
	names := m.asideWidth() - columns(age.text)
	if m.width < compact {
		return line{age}
	}
	if m.room != "" {
		return line{{fit(writer(c), names), 0}, age}
	}
	room := cleanLine(string(c.Room))
	return line{{fit(writer(c), names-names/2), 0}, {" " + fit(room, names/2-2) + " ", grey}, age}
}

// writer is the sender of a row's message.
func writer(c *mail.Conversation) string {
	if c.Doubt() != "" {
		return signer(c.From) + " (" + c.Doubt() + ")"
	}
	return signer(c.From)
}

// viewBelow is the second line of a row: the options of a question, or the beginning of the text.
func (m *model) viewBelow(c *mail.Conversation) line {
	var out line
	if c.Folded == 0 {
		out = optionsLine(choices(&c.Item))
	}
	preview := cleanLine(c.Preview)
	if c.Subject == "" && len(out) == 0 && c.Folded == 0 {
		preview = "" // it is the headline
	}
	if c.Subject == "" && len(out) > 0 {
		preview = ""
	}
	if len(out) > 0 && preview != "" {
		out = append(out, span{text: "   "})
	}
	out = append(out, span{preview, grey})
	return append(m.whose(c), out...)
}

// whose is the sender and room in the second line, on a narrow screen.
func (m *model) whose(c *mail.Conversation) line {
	if m.width >= compact {
		return nil
	}
	out := line{{shorten(writer(c), m.width/3) + "  ", grey}}
	if m.room == "" && m.width >= narrow {
		out = append(out, span{shorten(cleanLine(string(c.Room)), m.width/5) + "  ", grey})
	}
	return out
}

// optionsLine lists options on one line.
func optionsLine(options []mail.Option) line {
	var out line
	for i, o := range options {
		if i > 0 {
			out = append(out, span{" · ", grey})
		}
		out = append(out, span{itoa(i+1) + " ", red | bold}, span{text: shorten(cleanLine(o.Answer), 40)})
	}
	return out
}
