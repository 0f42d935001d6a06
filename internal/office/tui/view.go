package tui

import (
	"fmt"
	"strconv"
	"strings"

	"pennypost/internal/base/wording"
	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
)

// screen is what is to be seen.
type screen struct {
	lines  []line
	cx, cy int // where the cursor is; -1: nowhere
}

// Lines of the screen around the body: tabs, what is shown, what has happened, and keys.
const around = 4

// boxHeight is how many lines the box takes, with its title; 0 without one.
func (m *model) boxHeight() int {
	if m.box == nil || m.box.single {
		return 0
	}
	lines, _, _ := m.box.place(m.width - 2)
	return 1 + min(max(3, len(lines)), max(3, m.height/2))
}

// bodyRows is how many lines there are for lists and text.
func (m *model) bodyRows() int { return max(1, m.height-around-m.boxHeight()) }

// listRows is how many conversations are on the screen.
func (m *model) listRows() int { return max(1, m.bodyRows()/2) }

// settle keeps what the person looks at on the screen when its size changes.
func (m *model) settle() {
	for i := range m.lists {
		m.lists[i].settle(m.listRows())
	}
	m.roster.settle(m.bodyRows())
	if m.talk != nil {
		m.scroll(0)
	}
}

// view draws the screen.
func (m *model) view() screen {
	s := screen{cx: -1, cy: -1}
	if m.width < 1 || m.height < 1 {
		return s
	}
	var rows []line
	switch {
	case m.help:
		rows = m.viewHelp()
	case m.talk != nil:
		rows = m.viewTalk()
	case m.tab == agents:
		rows = m.viewAgents()
	default:
		rows = m.viewList()
	}
	s.lines = append(s.lines, m.viewTabs(), m.viewAbout())
	for i := range m.bodyRows() {
		if i < len(rows) {
			s.lines = append(s.lines, rows[i])
		} else {
			s.lines = append(s.lines, nil)
		}
	}
	if m.box != nil {
		m.viewBox(&s)
	}
	if m.box == nil || !m.box.single {
		s.lines = append(s.lines, m.viewNotice(), m.viewKeys())
	}
	s.lines = s.lines[:min(len(s.lines), m.height)]
	for i := range s.lines {
		s.lines[i] = cut(s.lines[i], m.width)
	}
	return s
}

func itoa(n int) string { return strconv.Itoa(n) }

func (m *model) viewTabs() line {
	names := [tabs]string{"Needs you", "Updates", "Agents"}
	counts := [tabs]int{m.waiting, m.unread, 0}
	if m.width < 44 {
		names[needs] = "Needs"
	}
	var out line
	for t := range tabs {
		text := " " + names[t] + " "
		if counts[t] > 0 {
			text += itoa(counts[t]) + " "
		}
		st := style(0)
		if t == m.tab {
			st = reverse | bold
		}
		out = append(out, span{text, st}, span{text: " "})
	}
	right := line{{string(m.room), dim}}
	if m.room == "" && m.width >= 60 {
		right = line{{"all rooms", dim}}
	}
	return spread(out, append(right, span{text: " "}), m.width)
}

// viewAbout says what is shown, if that is not all, and what has come above it.
func (m *model) viewAbout() line {
	var left, right line
	if l := m.shown(); l != nil && m.talk == nil && l.fresh > 0 {
		right = line{{"↑ " + itoa(l.fresh) + " new ", bold}}
	}
	wrong, only := m.outOfOrder(), m.shownOnly()
	switch {
	case wrong != "":
		left = line{{" " + wrong, red}}
	case m.help:
		return nil
	case m.talk != nil:
		room := cleanLine(string(m.talk.room))
		left, right = line{{" " + m.talk.subject, bold}}, line{{shorten(room, m.width/3) + " ", dim}}
	case only != "":
		left = line{{" " + only + "  (esc: all)", dim}}
	}
	return spread(left, right, m.width)
}

// outOfOrder says why what is shown may not be all, or not be new.
func (m *model) outOfOrder() string {
	switch {
	case m.lost != nil:
		return "The post office does not answer. Looking for it…"
	case len(m.shut) > 0:
		return "Cannot be opened: " + cli.Joined(m.shut, ", ")
	case m.trouble != "":
		return "This is " + cleanLine(m.trouble)
	}
	return ""
}

// shownOnly says of what the list is shown, if not of all.
func (m *model) shownOnly() string {
	switch f := &m.filter; {
	case f.search != "" && m.tab == updates:
		return "Found: " + cleanLine(f.search)
	case f.from != "" && m.tab == updates:
		return "From " + cleanLine(string(f.from))
	case f.status && m.tab == updates:
		return "Status reports"
	case f.words != "" && m.box == nil:
		return "With: " + cleanLine(f.words)
	}
	return ""
}

func (m *model) viewList() []line {
	l := m.shown()
	if len(l.rows) == 0 {
		return m.viewEmpty(l)
	}
	var out []line
	for i := l.top; i < len(l.rows) && len(out) < 2*m.listRows(); i++ {
		out = append(out, m.viewRow(&l.rows[i], i == l.cursor)...)
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
		text = "Nothing fits."
	case m.tab == updates:
		text = "No updates."
	}
	return []line{nil, {{"   " + text, dim}}}
}

// viewRow draws a conversation in two lines: what it is about, who wrote, where and when; and below how it begins, or
// what can be answered.
func (m *model) viewRow(c *mail.Conversation, under bool) []line {
	sign, st := "  ", style(0)
	switch {
	case c.Urgent || c.Priority == mail.Urgent:
		sign, st = "! ", red|bold
	case c.Asks > 0:
		sign, st = "? ", bold
	case c.Unread > 0:
		sign, st = "● ", 0
	}
	bar := span{text: "  "}
	if under {
		bar = span{"▌ ", bold}
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
		left = append(left, span{fmt.Sprintf(" (%d)", n), dim})
	}
	return []line{spread(left, m.viewAside(c), m.width), append(line{bar, {text: "  "}}, m.viewBelow(c)...)}
}

// narrow is below how many columns the name stands in the second line of a row, and the room nowhere.
const narrow = 60

// asideWidth is how wide the column of names and times is.
func (m *model) asideWidth() int {
	switch {
	case m.width < narrow:
		return ageWidth
	case m.width < 100:
		return 34
	}
	return 44
}

// ageWidth is that of "30 days".
const ageWidth = 8

// viewAside says who wrote, where and when.
func (m *model) viewAside(c *mail.Conversation) line {
	when := ago(m.now, c.Sent)
	age := span{strings.Repeat(" ", max(0, ageWidth-1-columns(when))) + when + " ", dim}
	names := m.asideWidth() - columns(age.text)
	if m.width < narrow {
		return line{age}
	}
	if m.room != "" {
		return line{{fit(writer(c), names), 0}, age}
	}
	room := cleanLine(string(c.Room))
	return line{{fit(writer(c), names-names/2), 0}, {" " + fit(room, names/2-2) + " ", dim}, age}
}

// writer is who wrote the message of a row.
func writer(c *mail.Conversation) string {
	if c.Via != "" {
		return signer(c.From) + " (" + mail.Unproven + ")"
	}
	return signer(c.From)
}

// viewBelow is the second line of a row: the options of a question, or how the text begins.
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
	out = append(out, span{preview, dim})
	if m.width < narrow {
		out = append(line{{shorten(writer(c), m.width/3) + "  ", dim}}, out...)
	}
	return out
}

// optionsLine lists options in one line.
func optionsLine(options []mail.Option) line {
	var out line
	for i, o := range options {
		if i > 0 {
			out = append(out, span{" · ", dim})
		}
		out = append(out, span{itoa(i+1) + " ", bold}, span{text: shorten(cleanLine(o.Answer), 40)})
	}
	return out
}

func (m *model) viewNotice() line {
	if c := m.choice; c != nil {
		out := line{{" " + c.text + "  ", bold}}
		for _, o := range c.keys {
			out = append(out, span{o.key, bold}, span{" " + o.label + "  ", 0})
		}
		return append(out, span{"esc", bold}, span{text: " no"})
	}
	return line{{" " + m.notice, 0}}
}

// hint is a key and what it does.
type hint struct{ key, does string }

func (m *model) viewKeys() line {
	var hints []hint
	switch {
	case m.help:
		hints = []hint{{"any key", "back"}}
	case m.choice != nil:
	case m.box != nil:
		hints = []hint{{"^S", "send"}, {"esc", "keep"}, {"^E", "in the editor"}}
	case m.talk != nil:
		hints = []hint{{"1–9", "answer"}, {"r", "reply"}, {"e", "archive"}, {"n p", "next, previous"}, {"q", "back"},
			{"?", "keys"}}
		if len(choices(m.talk.question())) == 0 {
			hints = hints[1:]
		}
	case m.tab == needs:
		hints = []hint{{"enter", "open"}, {"1–9", "answer"}, {"r", "reply"}, {"e", "archive"}, {"/", "search"},
			{"?", "keys"}, {"q", "quit"}}
	case m.tab == updates:
		hints = []hint{{"enter", "open"}, {"e", "archive"}, {"r", "reply"}, {"/", "search"}, {"?", "keys"},
			{"q", "quit"}}
	default:
		hints = []hint{{"enter", "mail from it"}, {"c", "write to it"}, {"/", "filter"}, {"?", "keys"}, {"q", "quit"}}
	}
	var out line
	used := 0
	for _, h := range hints {
		n := columns(h.key) + columns(h.does) + 4
		if used += n; used > m.width {
			break
		}
		out = append(out, span{" " + h.key, bold}, span{" " + h.does + "  ", dim})
	}
	return out
}

// viewBox draws the text that is being written.
func (m *model) viewBox(s *screen) {
	b := m.box
	if b.single {
		text := b.String()
		for columns(text) > m.width-4 && text != "" { // its end is where the person types
			text = text[len(cells(text, 0)[0].text):]
		}
		s.lines = append(s.lines, line{{" /", bold}, {text: text}})
		s.cx, s.cy = 2+columns(text), len(s.lines)-1
		s.lines = append(s.lines, line{{" enter", bold}, {" search everywhere  ", dim}, {"esc", bold}, {" all", dim}})
		return
	}
	s.lines = append(s.lines, line{{" " + b.title + " ", reverse}})
	lines, row, column := b.place(m.width - 2)
	height := m.boxHeight() - 1
	top := max(0, row-height+1)
	for i := top; i < top+height; i++ {
		var l line
		if i < len(lines) {
			l = append(line{{text: " "}}, lineOf(b.text[lines[i][0]:lines[i][1]])...)
		}
		s.lines = append(s.lines, l)
	}
	s.cx, s.cy = min(1+column, m.width-1), len(s.lines)-height+row-top
}
