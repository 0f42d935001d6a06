package tui

import (
	"slices"
	"strings"

	"pennypost/internal/mail"
	"pennypost/internal/mail/triage"
)

// dialogRows is how many lines of the dialog's text fit on the screen.
func (m *model) dialogRows() int { return max(1, m.bodyRows()-len(m.viewAnswers())) }

func (m *model) scrollDialog(n int) {
	m.dialog.top = min(max(0, m.dialog.top+n), max(0, len(m.dialogLines())-m.dialogRows()))
}

// viewDialog draws the dialog with its answers below.
func (m *model) viewDialog() []line {
	d := m.dialog
	if !d.all {
		return []line{nil, {{"   Looking…", grey}}}
	}
	lines, rows := m.dialogLines(), m.dialogRows()
	top := min(d.top, max(0, len(lines)-rows))
	out := lines[top:min(len(lines), top+rows)]
	for len(out) < rows && len(lines) > rows {
		out = append(out, nil)
	}
	below := m.viewAnswers()
	if rest := len(lines) - top - rows; rest > 0 {
		below[0] = line{{"  ↓ " + itoa(rest) + " more lines: space", bold}}
	}
	return append(out[:len(out):len(out)], below...)
}

// viewAnswers draws the answers that can be pressed.
func (m *model) viewAnswers() []line {
	d := m.dialog
	if !d.card.Here {
		return append([]line{nil}, hung("  ", "  ", cells("It cannot be answered from here: "+
			cleanLine(d.card.Why)+".", bold), m.width)...)
	}
	out := []line{nil}
	q := d.question()
	for i, p := range d.presses() {
		var l line
		if p.option != "" && q.Several {
			l = line{{text: map[bool]string{true: "☑ ", false: "☐ "}[slices.Contains(d.ticked, p.option)]}}
		}
		out = append(out, m.answerLine(i, append(l, span{cleanLine(p.Label), bold}), p.Note))
	}
	if q != nil && q.Free {
		out = append(out, line{{"  r  ", bold}, {text: "In your own words"}})
	}
	said := "An answer is sent immediately and cannot be undone."
	if q != nil && q.Several {
		said = "Enter continues. " + said
	}
	last := line{{"  " + said, grey}}
	if d.hold != "" {
		last = line{{"  " + d.hold, amber | bold}}
	}
	return append(out[:min(len(out), max(2, m.bodyRows()/2))], last)
}

// dialogLines lays out the text of the dialog.
func (m *model) dialogLines() []line {
	d := m.dialog
	if d.set != nil && d.width == m.width {
		return d.set
	}
	c := &d.card
	out := []line{m.dialogWho()}
	say := func(text string, st style) {
		out = append(out, hung("   ", "   ", cells(cleanLine(text), st), min(m.width, maxMeasure))...)
	}
	if c.Doubt {
		say("It may have been answered at its client already; the client does not report that.", bold)
	}
	if c.Cut {
		say("This is only a part, so it cannot be allowed here. Its terminal shows the rest.", bold)
	}
	if c.Path != "" {
		say(c.Path, bold)
	}
	out = append(out, m.verbatim()...)
	if c.Plan != "" {
		out = append(out, m.plan()...)
	}
	if c.Says != "" {
		out = append(out, nil)
		say("What the model says about it (not checked):", grey)
		out = append(out, hung("     ", "     ", cells(exposed(c.Says), 0), min(m.width, maxMeasure))...)
	}
	out = append(out, m.viewQuestion()...)
	out = append(out, m.viewWaiters()...)
	if c.Here && c.Beside {
		out = append(out, nil)
		say("Its client shows the dialog too: the first answer wins.", grey)
	}
	d.set, d.width = out, m.width
	return out
}

// dialogWho says which agent asks, where and since when.
func (m *model) dialogWho() line {
	c := &m.dialog.card
	who := cleanLine(string(c.Agent))
	if c.Who != "" {
		who += ", its " + cleanLine(c.Who)
	}
	out := line{{" " + who, bold}}
	for _, part := range []string{cleanLine(c.Client), cleanLine(string(c.Room)), "since " + when(m.now, c.Since),
		cleanLine(string(c.ID))} {
		if part != "" {
			out = append(out, span{" · " + part, grey})
		}
	}
	return out
}

// exposed returns multi-line text with invisible characters written out.
func exposed(text string) string {
	text, _ = triage.Exposed(text)
	return clean(text)
}

// verbatim draws the requested text unchanged, beside a bar that marks its extent, so that none of its lines can pass
// for ours.
func (m *model) verbatim() []line {
	c := &m.dialog.card
	if c.Text == "" && (c.Form == "" || c.Kind != mail.AsksPermission) {
		return nil
	}
	out := []line{nil}
	out = append(out, hung(" │ ", " │ ", cells(exposed(strings.TrimSuffix(c.Text, "\n")), 0), m.width-1)...)
	return append(out, line{{" " + m.extent(c.Text), grey}})
}

// extent says which tool the text is for, and how long it is.
func (m *model) extent(text string) string {
	c := &m.dialog.card
	out := cleanLine(c.Tool)
	if c.Dir != "" {
		out += ", in " + cleanLine(c.Dir)
	}
	if out != "" {
		out += " · "
	}
	if text == "" {
		return out + "empty"
	}
	return out + triage.Extent(text)
}

// plan draws the plan as Markdown.
func (m *model) plan() []line {
	text, _ := triage.Exposed(m.dialog.card.Plan)
	out := []line{nil}
	for _, l := range body(text, min(m.width-2, maxMeasure)-3) {
		out = append(out, append(line{{text: " │ "}}, l...))
	}
	return append(out, line{{" " + m.extent(m.dialog.card.Plan), grey}})
}

// viewQuestion draws the current question below the earlier ones and their answers.
func (m *model) viewQuestion() []line {
	d := m.dialog
	var out []line
	width := min(m.width, maxMeasure)
	for i := range d.card.Questions {
		q := &d.card.Questions[i]
		if d.question() != nil && i > d.at {
			break
		}
		count := ""
		if n := len(d.card.Questions); n > 1 {
			count = itoa(i+1) + " of " + itoa(n) + "  "
		}
		out = append(out, nil)
		out = append(out, hung(" "+count, "   ", cells(exposed(q.Text), bold), width)...)
		switch {
		case d.question() == nil:
			for _, o := range q.Options {
				out = append(out, line{{"     " + cleanLine(o.Label), 0}, {"  " + cleanLine(o.Note), grey}})
			}
		case i < d.at:
			said := strings.Join(d.given[i].Labels, ", ")
			if q.Secret {
				said = "…"
			} else if said == "" {
				said = d.given[i].Words
			}
			out = append(out, line{{"     " + cleanLine(said), grey}})
		}
	}
	return out
}

// viewWaiters draws the agents that wait for the agent.
func (m *model) viewWaiters() (out []line) {
	for i := range m.dialog.card.Waiters {
		w := &m.dialog.card.Waiters[i]
		if i == 0 {
			out = append(out, nil, line{{" Waiting for it:", grey}})
		}
		out = append(out, line{{"   " + cleanLine(string(w.Asker)), 0},
			{"  since " + when(m.now, w.Since) + "  " + cleanLine(w.Subject), grey}})
	}
	return out
}

// viewDialogRow draws a dialog in the list: its title, and the question below.
func (m *model) viewDialogRow(c *row, under bool) []line {
	bar := span{text: "  "}
	if under {
		bar = span{"▌ ", red}
	}
	left := line{bar, {"? ", red | bold}, {cleanLine(c.Subject), bold}}
	below := line{bar, {text: "  "}, {cleanLine(c.Preview), 0}}
	if !c.card.Here {
		below = line{bar, {text: "  "}, {"in its terminal only  ", grey}, {cleanLine(c.Preview), 0}}
	}
	below = append(below[:2:2], append(m.whose(&c.Conversation), below[2:]...)...)
	return []line{spread(left, m.viewAside(&c.Conversation), m.width), below}
}
