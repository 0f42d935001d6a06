package tui

import (
	"strings"

	"pennypost/internal/mail"
	"pennypost/internal/mail/triage"
)

// viewTalk draws the conversation, with its question's options below.
func (m *model) viewTalk() []line {
	t := m.talk
	if !t.loaded {
		return []line{nil, {{"   Looking…", grey}}}
	}
	lines, _ := m.talkLines()
	rows := m.talkRows()
	top := min(t.top, max(0, len(lines)-1))
	out := lines[top:min(len(lines), top+rows)]
	below := m.viewOptions()
	if len(below) == 0 {
		return out
	}
	for len(out) < rows && top+len(out) < len(lines) {
		out = append(out, nil)
	}
	return append(out[:len(out):len(out)], below...)
}

// belowTalk is the height of the options.
func (m *model) belowTalk() int { return len(m.viewOptions()) }

// maxMeasure is the greatest width of text: longer lines are hard to read.
const maxMeasure = 100

// talkLines lays out the conversation, and returns the line at which each message begins.
func (m *model) talkLines() (lines []line, starts []int) {
	t := m.talk
	width := min(m.width-2, maxMeasure)
	if t.set != nil && t.width == width {
		return t.set, t.starts
	}
	defer func() { t.set, t.starts, t.width = lines, starts, width }()
	if t.earlier {
		lines = append(lines, line{{" Earlier messages: pennypost history --thread " + string(t.root), grey}})
	}
	for i := range t.items {
		it := &t.items[i]
		if i > 0 {
			lines = append(lines, nil)
		}
		starts = append(starts, len(lines))
		lines = append(lines, m.messageHead(it, width))
		if it.Subject != "" && cleanLine(it.Subject) != t.subject {
			lines = append(lines, line{{" " + cleanLine(it.Subject), bold}})
		}
		for _, l := range body(it.Body, width-2) {
			lines = append(lines, append(line{{text: "   "}}, l...))
		}
		for _, d := range it.Docs {
			lines = append(lines, line{{"   document: " + cleanLine(d.Path), grey}})
		}
	}
	return lines, starts
}

// messageHead draws sender, recipients, time and type.
func (m *model) messageHead(it *mail.Item, width int) line {
	from := signer(it.From)
	if it.From == mail.ToUser {
		from = "you"
	}
	if it.Doubt() != "" {
		from += " (" + it.Doubt() + ")"
	}
	sign := span{" ", 0}
	if triage.AsksUser(it) {
		sign = span{"?", red | bold}
	} else if !it.Read && it.State != "" {
		sign = span{"●", blue}
	}
	left := line{sign, {" " + from, bold}, {" → " + recipients(it.To), grey}}
	kind := string(it.Type) + " "
	switch {
	case it.Type == mail.Custom || it.Type == "":
		kind = ""
	case it.Suggests:
		kind = "suggestion "
	case it.Settled != nil:
		kind += string(it.Settled.As) + " "
	}
	right := line{{kind, grey}, {when(m.now, it.Sent), grey}}
	if it.Priority == mail.Urgent {
		right = append(line{{" URGENT ", label}, {" ", 0}}, right...)
	}
	return spread(left, right, width+1)
}

// recipients names a message's recipients.
func recipients(to []mail.Address) string {
	names := make([]string, len(to))
	for i, a := range to {
		if names[i] = signer(a); a == mail.ToUser {
			names[i] = "you"
		}
	}
	return strings.Join(names, ", ")
}

// manual is the list of keys.
var manual = []hint{
	{"j k ↑ ↓", "next, previous; scroll"}, {"space pgup", "a screen down, up"}, {"g G", "first, last"},
	{"enter", "open"}, {"q esc", "back to the list; quit there"}, {"tab [ ]", "the other lists"},
	{"w", "this room only, or all rooms"},
	{"1–9", "answer; a client's dialog immediately"}, {"r", "reply here (^S sends, esc keeps)"},
	{"R ^E", "reply in $EDITOR"}, {"x m", "decline; a wait: withdraw or free, remind"}, {"a", "answer as suggested"},
	{"e", "archive"}, {"u s", "read or unread; snooze"},
	{"z S", "undo, for 5 seconds; send failed mail"}, {"n p", "next, previous conversation"},
	{"c", "write a new message"}, {"/", "filter as you type; enter searches"}, {"^Z ^C", "suspend, quit"},
	{"mouse", "click to select; wheel scrolls"},
}

func (m *model) viewHelp() []line {
	var out []line
	half := len(manual)
	if m.width >= 96 {
		half = (len(manual) + 1) / 2
	}
	cell := func(h hint) line {
		return line{{"  " + fit(h.key, 11), bold}, {text: h.does}}
	}
	for i := range half {
		l := cell(manual[i])
		if i+half < len(manual) {
			l = append(cut(l, 46), span{text: strings.Repeat(" ", max(1, 48-columns(l.String())))})
			l = append(l, cell(manual[i+half])...)
		}
		out = append(out, l)
	}
	return out
}
