package tui

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"pennypost/internal/base/wording"
	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
)

// late is how long a wait lasts before it is shown in amber.
const late = 30 * time.Minute

// viewEntries draws Agents, Stuck or Waiting.
func (m *model) viewEntries() []line {
	p := m.entries()
	if len(p.rows) == 0 {
		text := [...]string{"No agents yet. An agent appears when it connects.",
			"Nothing is stuck.", "No agent waits for an answer."}[m.tab-agents]
		switch {
		case !p.loaded:
			text = "Looking…"
		case m.filter.words != "":
			text = "No matches."
		case len(m.notRead) > 0:
			text = "Nothing in the rooms read so far."
		}
		return []line{nil, {{"   " + text, grey}}}
	}
	var out []line
	for i := p.top; i < len(p.rows) && len(out) < m.bodyRows(); i++ {
		out = append(out, m.viewEntry(&p.rows[i], i-p.top, i == p.cursor))
	}
	return out
}

// viewEntry draws a row: name, state, age, subject and room.
func (m *model) viewEntry(e *entry, at int, under bool) line {
	bar, st := span{text: "  "}, style(0)
	if under {
		bar, st = span{"▌ ", red}, bold
	}
	name, word, sign := m.namesOf(e)
	width := min(28, max(12, m.width/4))
	if e.wait != nil {
		width = min(40, max(20, m.width*2/5))
	}
	left := line{bar, sign, {fit(name, width) + " ", st}}
	if word != "" {
		left = append(left, span{fit(word, 9), sign.style})
	}
	if m.width >= 50 {
		age := grey
		if e.agent == nil && m.now.Sub(e.since().Std()) >= late {
			age = amber
		}
		left = append(left, span{fit(ago(m.now, e.since()), 9), age})
	}
	if e.agent != nil && e.agent.On() != "" && m.width >= 80 {
		left = append(left, span{" " + fit(cleanLine(e.agent.On()), 20), grey})
	}
	left = append(left, span{" " + cleanLine(e.about()), 0})
	return rowLine(spread(left, m.entryAside(e), m.width), at, under)
}

// namesOf returns the name and state in a row, and the sign for the state.
func (m *model) namesOf(e *entry) (name, word string, sign span) {
	switch {
	case e.wait != nil:
		to := signer(e.wait.Address)
		if e.wait.Asked != "" {
			to = cleanLine(string(e.wait.Asked))
		}
		sign = span{"  ", 0}
		switch {
		case e.wait.Address == mail.ToUser:
			to, sign = "you", span{"■ ", red}
		case e.wait.Circle:
			sign = span{"↻ ", amber}
		}
		return cleanLine(string(e.wait.Asker)) + " → " + to, "", sign
	case e.stuck != nil:
		sign = span{"! ", amber}
		if e.stuck.Kind == mail.StuckAsking {
			sign = span{"■ ", red}
		}
		return signer(e.stuck.For), cleanLine(string(e.stuck.Kind)), sign
	}
	switch sign = (span{"· ", grey}); e.agent.State {
	case mail.Asking:
		sign = span{"■ ", red}
	case mail.Working:
		sign = span{"● ", 0}
	case mail.Idle:
		sign = span{"○ ", grey}
	}
	return cleanLine(string(e.agent.Name)), cleanLine(string(e.agent.State)), sign
}

// entryAside draws the unread count, the room, and its date if it is closed.
func (m *model) entryAside(e *entry) (right line) {
	if e.agent != nil && e.agent.Unread > 0 {
		right = append(right, span{itoa(e.agent.Unread) + " unread ", 0})
	}
	if e.asOf != 0 && m.width >= narrow {
		right = append(right, span{" as of " + when(m.now, e.asOf) + " ", amber})
	}
	if m.room == "" && m.width >= narrow {
		right = append(right, span{" " + fit(cleanLine(string(e.room)), min(12, m.width/8)) + " ", grey})
	}
	return right
}

// notAll names the rooms missing from the fleet.
func (m *model) notAll() string {
	var out []string
	if n := len(m.notRead); n > 0 {
		out = append(out, wording.Plural(n, "room")+" not read yet")
	}
	if len(m.closed) > 0 {
		out = append(out, "not available: "+cli.Joined(m.closed, ", "))
	}
	return strings.Join(out, " · ")
}

// holdsLine names as many of an agent's claims as fit on a line.
func holdsLine(held []mail.Holding) string {
	const most = 3
	names := make([]string, 0, most)
	for i := range held[:min(len(held), most)] {
		names = append(names, cleanLine(held[i].Target.String()))
	}
	text := "holds " + strings.Join(names, ", ")
	if n := len(held) - most; n > 0 {
		text += " and " + itoa(n) + " more"
	}
	first := slices.MinFunc(held, func(a, b mail.Holding) int { return cmp.Compare(a.Since, b.Since) })
	if text += ", since " + first.Since.Std().Local().Format("15:04"); first.Why != "" {
		text += ", for: " + cleanLine(first.Why)
	}
	return text
}
