package tui

import (
	"slices"
	"strconv"
	"strings"

	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
	"pennypost/internal/mail/triage"
)

// screen is the drawn view.
type screen struct {
	lines  []line
	cx, cy int // the cursor; -1: hidden
}

// The lines around the body: tabs, scope, notice and keys.
const around = 4

// boxHeight is the height of the box with its title; 0 without one.
func (m *model) boxHeight() int {
	if m.box == nil || m.box.single {
		return 0
	}
	lines, _, _ := m.box.place(m.width - 2)
	return 1 + min(max(3, len(lines)), max(3, m.height/2))
}

// bodyRows is how many lines lists and text have.
func (m *model) bodyRows() int { return max(1, m.height-around-m.boxHeight()) }

// listRows is how many conversations fit on the screen.
func (m *model) listRows() int { return max(1, m.bodyRows()/2) }

// settle keeps the current rows and text on the screen when its size changes.
func (m *model) settle() {
	for i := range m.lists {
		m.lists[i].settle(m.listRows())
	}
	for i := range m.fleet {
		m.fleet[i].settle(m.bodyRows())
	}
	if m.talk != nil {
		m.scroll(0)
	}
	if m.dialog != nil {
		m.scrollDialog(0)
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
	case m.dialog != nil:
		rows = m.viewDialog()
	case m.talk != nil:
		rows = m.viewTalk()
	case m.twoPanes():
		rows = m.viewPanes()
	default:
		rows = m.viewRows()
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

// viewRows draws the tab's list.
func (m *model) viewRows() []line {
	if m.tab >= agents {
		return m.viewEntries()
	}
	return m.viewList()
}

func itoa(n int) string { return strconv.Itoa(n) }

// tabNames are the names of the tabs, and shorter ones for a narrow screen.
var tabNames = [2][tabs]string{{"Needs you", "Updates", "Agents", "Stuck", "Waiting"},
	{"Needs", "Updates", "Agents", "Stuck", "Waiting"}}

// viewTabs draws the tabs with their counts, and the scope. On a narrow screen, tabs before the chosen one are
// dropped.
func (m *model) viewTabs() line {
	names := tabNames[0]
	if m.width < 44 {
		names = tabNames[1]
	}
	right := append(m.scopeName(), span{text: " "})
	colours := [tabs]style{needs: red, stuck: amber}
	var all []line
	used := 0
	for t := range tabs {
		st := clickTab | style(t)<<numbered
		if t == m.tab {
			st |= reverse | bold
		}
		tab := line{{" " + names[t] + " ", st}, {text: " "}}
		if n := m.count(t); n > 0 {
			count := colours[t] | bold
			if t == m.tab {
				count = 0
			}
			tab = line{tab[0], {itoa(n) + " ", st | count}, tab[1]}
		}
		all = append(all, tab)
		if used += columns(tab.String()); t <= m.tab {
			for len(all) > 1 && used > m.width-columns(right.String())-1 {
				used, all = used-columns(all[0].String()), all[1:]
			}
		}
	}
	return spread(slices.Concat(all...), right, m.width)
}

// count is a tab's number: agents that are not gone, unread updates.
func (m *model) count(t tab) int {
	switch t {
	case needs:
		return m.waiting
	case updates:
		return m.unread
	}
	n := 0
	for _, e := range m.fleet[t-agents].all {
		if e.agent == nil || e.agent.State != mail.Gone {
			n++
		}
	}
	return n
}

// scopeName names the rooms shown or, while a question is open, its position and the total.
func (m *model) scopeName() line {
	at, of := m.place()
	switch {
	case of > 0:
		return line{{itoa(at) + " of " + itoa(of), bold}}
	case m.room != "":
		return line{{shorten(cleanLine(string(m.room)), max(8, m.width/5)), grey}}
	case m.width < narrow:
		return nil
	}
	return line{{"all rooms", grey}}
}

// place is the position of the open item in the needs list; 0 of 0: not in it.
func (m *model) place() (at, of int) {
	l, key := &m.lists[needs], ""
	switch {
	case m.dialog != nil:
		key = dialogKey(m.dialog.card.ID)
	case m.talk != nil:
		key = m.talk.key()
	}
	if at = l.at(key); key == "" || at < 0 {
		return 0, 0
	}
	return at + 1, max(len(l.rows), m.waiting)
}

// viewAbout draws the line above the list: warnings, filters, and how many new rows are above the screen.
func (m *model) viewAbout() line {
	var left, right line
	open := m.talk != nil || m.dialog != nil
	if l := m.shown(); l != nil && !open && l.fresh > 0 {
		right = line{{"↑ " + itoa(l.fresh) + " new ", bold}}
	}
	wrong, only := m.outOfOrder(), m.shownOnly()
	switch {
	case wrong != "" && !open:
		left = line{{" " + wrong, amber | bold}}
	case m.help:
		return nil
	case m.tab >= agents && !open && m.notAll() != "":
		left = line{{" " + m.notAll(), amber}}
	case open:
		return m.viewTitle()
	case only != "":
		left = line{{" " + only + "  (esc: all)", grey}}
	}
	return spread(left, right, m.width)
}

// viewTitle draws the title and room of the open item.
func (m *model) viewTitle() line {
	if m.dialog != nil {
		return line{{" " + cleanLine(triage.DialogTitle(&m.dialog.card)), bold}}
	}
	room := cleanLine(string(m.talk.room))
	return spread(line{{" " + m.talk.subject, bold}}, line{{shorten(room, m.width/3) + " ", grey}}, m.width)
}

// outOfOrder explains why the screen may be incomplete or outdated.
func (m *model) outOfOrder() string {
	switch {
	case m.lost != nil:
		return "Post office offline since " + m.since.Format("15:04") + ". Your text is kept."
	case len(m.shut) > 0:
		return "Cannot be opened: " + cli.Joined(m.shut, ", ")
	case m.trouble != "":
		return strings.TrimSpace("This is " + cleanLine(m.trouble) + ". " + cleanLine(m.degraded))
	case m.degraded != "":
		return cleanLine(m.degraded)
	}
	return ""
}

// shownOnly describes the list's filter.
func (m *model) shownOnly() string {
	switch f := &m.filter; {
	case f.search != "" && m.tab == updates:
		return "Found: " + cleanLine(f.search)
	case f.from != "" && m.tab == updates:
		return "From " + cleanLine(string(f.from))
	case f.status && m.tab == updates:
		return "Status reports"
	case f.words != "" && m.box == nil:
		return "Matching: " + cleanLine(f.words)
	}
	return ""
}

func (m *model) viewNotice() line {
	if c := m.choice; c != nil {
		out := line{{" " + c.text + "  ", bold}}
		for _, o := range c.keys {
			out = append(out, span{o.key, bold}, span{" " + o.label + "  ", 0})
		}
		return append(out, span{"esc", bold}, span{text: " no"})
	}
	if wrong := m.outOfOrder(); wrong != "" && (m.talk != nil || m.dialog != nil) { // the title has its line
		return line{{" " + wrong + "  ", amber | bold}, {m.notice, 0}}
	}
	if e := m.pointed(); m.notice == "" && m.talk == nil && m.dialog == nil && e != nil && len(e.holds) > 0 {
		return line{{" " + holdsLine(e.holds), grey}}
	}
	return line{{" " + m.notice, 0}}
}

// hint is a key with its meaning.
type hint struct{ key, does string }

func (m *model) viewKeys() line {
	var out line
	used := 0
	for _, h := range m.hints() {
		n := columns(h.key) + columns(h.does) + 4
		if used += n; used > m.width {
			break
		}
		out = append(out, span{" " + h.key, blue | bold}, span{" " + h.does + "  ", grey})
	}
	return out
}

// hints are the keys that are useful now.
func (m *model) hints() (hints []hint) {
	switch {
	case m.help:
		hints = []hint{{"any key", "back"}}
	case m.choice != nil:
	case m.box != nil:
		hints = []hint{{"^S", "send"}, {"esc", "keep"}, {"^E", "in the editor"}}
	case m.dialog != nil:
		hints = []hint{{"1–9", "answer"}, {"space", "more"}, {"n p", "next, previous"}, {"q", "back"}, {"?", "keys"}}
		if !m.dialog.card.Here {
			hints = hints[1:]
		}
	case m.talk != nil:
		hints = []hint{{"1–9", "answer"}, {"r", "reply"}, {"e", "archive"}, {"n p", "next, previous"}, {"q", "back"},
			{"?", "keys"}}
		if len(choices(m.talk.question())) == 0 {
			hints = hints[1:]
		}
	default:
		return m.hintsOfList()
	}
	return hints
}

// hintsOfList are the keys of the current list.
func (m *model) hintsOfList() []hint {
	switch {
	case m.tab == needs:
		return []hint{{"enter", "open"}, {"1–9", "answer"}, {"r", "reply"}, {"w", m.otherScope()}, {"/", "search"},
			{"?", "keys"}, {"q", "quit"}}
	case m.tab == updates:
		return []hint{{"enter", "open"}, {"e", "archive"}, {"r", "reply"}, {"/", "search"}, {"?", "keys"},
			{"q", "quit"}}
	case m.tab == agents:
		return []hint{{"enter", "open"}, {"c", "write to it"}, {"w", m.otherScope()}, {"/", "filter"}, {"?", "keys"},
			{"q", "quit"}}
	case m.pointed() != nil && m.pointed().stuck != nil && len(m.pointed().stuck.Claims) > 0:
		return []hint{{"x", "free"}, {"c", "write to it"}, {"w", m.otherScope()}, {"/", "filter"}, {"?", "keys"},
			{"q", "quit"}}
	}
	return []hint{{"enter", "open"}, {"m", "remind"}, {"x", "withdraw"}, {"w", m.otherScope()}, {"/", "filter"},
		{"?", "keys"}, {"q", "quit"}}
}

// viewBox draws the box.
func (m *model) viewBox(s *screen) {
	b := m.box
	if b.single {
		m.viewLine(s)
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

// viewLine draws a single-line box and the keys that end it.
func (m *model) viewLine(s *screen) {
	b := m.box
	text, before := b.String(), " /"
	ends := line{{" enter", bold}, {" search everywhere  ", grey}, {"esc", bold}, {" all", grey}}
	if b.for_ == toDialog {
		before = " " + shorten(b.title, max(8, m.width/2)) + ": "
		ends = line{{" enter", bold}, {" answer now  ", grey}, {"esc", bold}, {" back", grey}}
	}
	if b.secret {
		text = strings.Repeat("•", len(b.text))
	}
	for columns(text) > m.width-2-columns(before) && text != "" { // keep the end in view, where the person types
		text = text[len(cells(text, 0)[0].text):]
	}
	s.lines = append(s.lines, line{{before, bold}, {text: text}})
	s.cx, s.cy = columns(before)+columns(text), len(s.lines)-1
	s.lines = append(s.lines, ends)
}
