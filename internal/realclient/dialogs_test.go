package realclient

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pennypost/internal/mail"
)

// The dialogs of clients on the person's desk. The tests see questions and outcomes through the person's commands.

// settlesIn is the longest a dialog may be on the desk after proof that it is over.
const settlesIn = 2 * time.Second

// cards are the person's open questions.
func (l *lab) cards() []mail.Card {
	l.t.Helper()
	return ask[mail.Cards](l, "dialogs").Cards
}

// card waits for a dialog whose text contains all of these texts, and returns it whole.
func (l *lab) card(texts ...string) (c mail.Card) {
	l.t.Helper()
	l.until("a card with "+strings.Join(texts, ", "), func() bool {
		for _, c = range l.cards() {
			all := c.Text + c.Plan + c.Path + c.Tool + c.Says
			for _, q := range c.Questions {
				all += q.Text
			}
			if !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(all, text) }) {
				return true
			}
		}
		return false
	})
	return c
}

// asks is card for a dialog whose agent must also be asking.
func (l *lab) asks(texts ...string) mail.Card {
	l.t.Helper()
	c := l.card(texts...)
	l.until(string(c.Agent)+" is said to be asking", func() bool { return l.state(c.Agent) == mail.Asking })
	return c
}

// settled checks that no dialog is on the desk soon after now.
func (l *lab) settled() {
	l.t.Helper()
	l.settledSince(time.Now())
}

func (l *lab) settledSince(proof time.Time) {
	l.t.Helper()
	l.until("no dialog is on the desk", func() bool { return len(l.cards()) == 0 })
	if took := time.Since(proof); took > settlesIn {
		l.t.Errorf("the dialog was on the desk for %v after it was over", took)
	}
}

// answers answers a dialog as the person.
func (l *lab) answers(c mail.Card, said ...string) {
	l.t.Helper()
	l.pp(append([]string{"answer", string(c.ID)}, said...)...)
}

// refused checks that the desk refuses an answer, for a certain reason.
func (l *lab) refused(c mail.Card, why string, said ...string) {
	l.t.Helper()
	text, err := l.try(append([]string{"answer", string(c.ID)}, said...)...)
	if err == nil || !strings.Contains(text, why) {
		l.t.Errorf("answer %q: %v, want an error that says %q\n%s", said, err, why, text)
	}
}

// outcomes are the ends of dialogs in the journal: "allowed user terminal".
func (l *lab) outcomes() (list []string) {
	l.t.Helper()
	for _, e := range l.events() {
		if d := e.Dialog; d != nil && d.Outcome != "" {
			list = append(list, strings.Join(strings.Fields(string(d.Outcome)+" "+string(d.By)+" "+d.Where), " "))
		}
	}
	return list
}

// ended checks how the dialogs ended, in order.
func (l *lab) ended(want ...string) {
	l.t.Helper()
	if got := l.outcomes(); !slices.Equal(got, want) {
		l.t.Errorf("the journal says that the dialogs ended %q, want %q", got, want)
	}
}

// runs waits until a tool has made its file.
func (l *lab) runs(name string) {
	l.t.Helper()
	l.until("the tool has run", func() bool { return l.exists(name) })
}

// dialogScenarios are scenarios of one client's dialogs, by name.
func dialogScenarios(all map[string]func(*testing.T, *lab)) (list []scenario) {
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		list = append(list, scenario{name: name, run: all[name]})
	}
	return list
}

// dialogEvents are the journal's events of dialogs.
func (l *lab) dialogEvents() (list []mail.DialogChange) {
	l.t.Helper()
	for _, e := range l.events() {
		if e.Dialog != nil {
			list = append(list, *e.Dialog)
		}
	}
	return list
}
