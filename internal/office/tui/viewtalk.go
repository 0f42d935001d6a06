package tui

import (
	"strings"

	"pennypost/internal/mail"
	"pennypost/internal/mail/triage"
)

// viewTalk draws the conversation, with the options of its question below.
func (m *model) viewTalk() []line {
	t := m.talk
	if !t.loaded {
		return []line{nil, {{"   Looking…", dim}}}
	}
	lines, _ := m.talkLines()
	rows := m.talkRows()
	top := min(t.top, max(0, len(lines)-1))
	out := lines[top:min(len(lines), top+rows)]
	below := m.viewOptions()
	if len(below) == 0 {
		return out
	}
	for len(out) < rows && len(lines) > rows {
		out = append(out, nil)
	}
	return append(out[:len(out):len(out)], below...)
}

// belowTalk is how many lines the options take.
func (m *model) belowTalk() int { return len(m.viewOptions()) }

// viewOptions lists what can be answered to the open question.
func (m *model) viewOptions() []line {
	options, suggestion := choices(m.talk.question()), m.talk.suggestion()
	if len(options) == 0 && suggestion == nil || m.box != nil {
		return nil
	}
	out := []line{nil}
	if suggestion != nil {
		out = append(out, line{{"  a  ", bold}, {text: "as " + signer(suggestion.From) +
			" suggests, who was not asked: " + shorten(cleanLine(suggestion.Body), 60)}})
	}
	for i, o := range options {
		key := " "
		if i < 9 {
			key = itoa(i + 1)
		}
		l := line{{"  " + key + "  ", bold}, {text: cleanLine(o.Answer)}}
		if o.Note != "" {
			l = append(l, span{"  " + cleanLine(o.Note), dim})
		}
		out = append(out, l)
	}
	return out[:min(len(out), max(2, m.bodyRows()/2))]
}

// maxMeasure is how wide text is set: longer lines are hard to read.
const maxMeasure = 100

// talkLines sets the conversation in lines, and says at which line each message begins.
func (m *model) talkLines() (lines []line, starts []int) {
	t := m.talk
	width := min(m.width-2, maxMeasure)
	if t.set != nil && t.width == width {
		return t.set, t.starts
	}
	defer func() { t.set, t.starts, t.width = lines, starts, width }()
	if t.earlier {
		lines = append(lines, line{{" Earlier messages: pennypost history --thread " + string(t.root), dim}})
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
			lines = append(lines, line{{"   document: " + cleanLine(d.Path), dim}})
		}
	}
	return lines, starts
}

// messageHead says who wrote to whom, when, and what the message is.
func (m *model) messageHead(it *mail.Item, width int) line {
	from := signer(it.From)
	if it.From == mail.ToUser {
		from = "you"
	}
	if it.Via != "" {
		from += " (" + mail.Unproven + ")"
	}
	sign := span{" ", 0}
	if triage.AsksUser(it) {
		sign = span{"?", bold}
	} else if !it.Read && it.State != "" {
		sign = span{"●", 0}
	}
	left := line{sign, {" " + from, bold}, {" → " + recipients(it.To), dim}}
	kind := string(it.Type) + " "
	switch {
	case it.Type == mail.Custom || it.Type == "":
		kind = ""
	case it.Suggests:
		kind = "suggestion "
	case it.Settled != nil:
		kind += string(it.Settled.As) + " "
	}
	right := line{{kind, dim}, {when(m.now, it.Sent), dim}}
	if it.Priority == mail.Urgent {
		right = append(line{{"urgent ", red | bold}}, right...)
	}
	return spread(left, right, width+1)
}

// recipients are those of a message as a person would say them.
func recipients(to []mail.Address) string {
	names := make([]string, len(to))
	for i, a := range to {
		if names[i] = signer(a); a == mail.ToUser {
			names[i] = "you"
		}
	}
	return strings.Join(names, ", ")
}

func (m *model) viewAgents() []line {
	r := &m.roster
	if len(r.rows) == 0 {
		text := "No agents are here. An agent that is connected appears by itself."
		if !r.loaded {
			text = "Looking…"
		} else if r.words != "" {
			text = "Nothing fits."
		}
		return []line{nil, {{"   " + text, dim}}}
	}
	var out []line
	for i := r.top; i < len(r.rows) && len(out) < m.bodyRows(); i++ {
		out = append(out, m.viewAgent(&r.rows[i], i == r.cursor))
	}
	return out
}

func (m *model) viewAgent(a *agent, under bool) line {
	bar, st := span{text: "  "}, style(0)
	if under {
		bar, st = span{"▌ ", bold}, bold
	}
	name := min(28, max(12, m.width/4))
	state := cleanLine(string(a.State))
	left := line{bar, {fit(cleanLine(string(a.Name)), name) + " ", st}, {fit(state, 8), 0}}
	var right line
	if a.Unread > 0 {
		right = append(right, span{itoa(a.Unread) + " unread ", 0})
	}
	if m.room == "" && m.width >= 60 {
		right = append(right, span{" " + fit(cleanLine(string(a.room)), 12) + " ", dim})
	}
	if m.width >= 50 {
		left = append(left, span{fit(ago(m.now, a.Since), 9), dim})
	}
	if on := a.On(); on != "" && m.width >= 80 {
		left = append(left, span{" " + fit(cleanLine(on), 20), dim})
	}
	task := cleanLine(a.Task)
	if task == "" {
		task = cleanLine(strings.Join(a.Roles, ", "))
	}
	return spread(append(left, span{" " + task, 0}), right, m.width)
}

// manual is what the keys do.
var manual = []hint{
	{"j k ↑ ↓", "next, previous; scroll"}, {"space pgup", "a screen on, back"}, {"g G", "first, last"},
	{"enter", "open"}, {"q esc", "back; q in a list quits"}, {"tab", "Needs you, Updates, Agents"},
	{"1–9", "answer with an option"}, {"r", "reply here (^S sends, esc keeps)"}, {"R ^E", "reply in $EDITOR"},
	{"x", "decline to answer"}, {"a", "answer as suggested"}, {"e", "archive"}, {"u", "read, unread"}, {"s", "snooze"},
	{"z", "undo; answers leave after 5 seconds"}, {"n p", "next, previous conversation"},
	{"c", "write a new message"}, {"/", "filter as you type; enter searches"}, {"^Z ^C", "suspend, quit"},
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
