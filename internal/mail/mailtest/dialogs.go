package mailtest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"pennypost/internal/mail"
)

// dialogsOfClients checks that an agent is Asking while its client shows a dialog, that its senders are told so,
// and that no one else can set that state or report the user's answer.
func dialogsOfClients(s *suite) {
	s.register("bob")
	s.turn("ann", mail.TurnStart, "s1")
	c := mail.DialogChange{Agent: "ann", Session: "s1", Dialog: mail.Dialog{ID: "d-1", Kind: mail.AsksPermission,
		Tool: "Bash", Sum: strings.Repeat("0f", 32)}}
	w, err := s.as(mail.User).Watch(s.ctx, 0)
	if err != nil {
		s.Fatal(err)
	}
	defer w.Close()
	tell := func(who mail.Name, change func(*mail.DialogChange)) error {
		c := c
		if change != nil {
			change(&c)
		}
		return s.as(who).Dialog(s.ctx, c)
	}
	other := func(c *mail.DialogChange) { c.ID = "d-2" }
	for _, forged := range []struct {
		who    mail.Name
		change func(*mail.DialogChange)
		want   mail.Code
	}{
		{"bob", nil, mail.NotFound},
		{"ann", func(c *mail.DialogChange) { c.Session = "s2" }, mail.NotFound},
		{"ann", func(c *mail.DialogChange) { c.Kind = "wish" }, mail.Invalid},
		{"ann", func(c *mail.DialogChange) { c.Outcome = "granted" }, mail.Invalid},
		{"ann", func(c *mail.DialogChange) { c.Sum = "0f" }, mail.Invalid},
		{"ann", func(c *mail.DialogChange) { c.ID = "D\n1" }, mail.Invalid},
		{"ann", func(c *mail.DialogChange) { c.Tool = "Bash\nrm" }, mail.Invalid},
		{mail.User, nil, mail.Denied},
	} {
		s.wantCode(tell(forged.who, forged.change), forged.want)
	}
	s.wantDialogs("ann", mail.Working)
	for range 2 { // hooks may run twice
		s.wantCode(tell("ann", nil), "")
	}
	s.wantCode(tell("ann", other), "")
	s.wantDialogs("ann", mail.Asking, "d-1", "d-2")
	asked := s.send("bob", mail.Draft{To: mail.Recipients{"ann"}, Type: string(mail.Question), Body: "which?"})
	if d := asked.Recipients[0]; d.Wake != mail.WakeAsking || d.Asking == 0 || d.Doubt {
		s.Errorf("the sender is told %+v", d)
	}
	s.wantAsking()
	s.send("bob", mail.Draft{To: mail.Recipients{"ann"}, Type: string(mail.Status), Body: "done"})
	s.wantStuckAsking("ann")
	s.wantCode(tell("ann", func(c *mail.DialogChange) { c.Doubt = true }), "")
	s.wantCode(tell("ann", func(c *mail.DialogChange) { other(c); c.Doubt = true }), "")
	if d := s.delivery(asked.ID, "ann"); d.Wake != mail.WakeTurnEnd || d.Asking == 0 || !d.Doubt {
		s.Errorf("in doubt the sender is told %+v", d)
	}
	s.wantDialogs("ann", mail.Asking, "d-1 doubt", "d-2 doubt")
	end := func(c *mail.DialogChange) {
		c.Outcome, c.By, c.Where, c.Tool = mail.DialogAllowed, mail.User, string(mail.ByPages), "Write"
	}
	s.wantCode(tell("ann", func(c *mail.DialogChange) { end(c); c.Sum = strings.Repeat("0e", 32) }), mail.Conflict)
	s.wantCode(tell("bob", end), "") // of a dialog that it does not have
	s.wantDialogs("ann", mail.Asking, "d-1 doubt", "d-2 doubt")
	for range 2 {
		s.wantCode(tell("ann", end), "")
	}
	s.wantDialogs("ann", mail.Asking, "d-2 doubt")
	s.wantOutcome(w)
	s.turn("ann", mail.SessionEnd, "s1")
	s.wantDialogs("ann", mail.Gone)
	s.wantCode(tell("ann", func(c *mail.DialogChange) { other(c); end(c) }), "") // the session has ended it
	s.turn("ann", mail.SessionStart, "s1")
	s.wantDialogs("ann", mail.Idle)
	for i := range mail.MaxDialogs + 1 {
		want := mail.Code("")
		if i == mail.MaxDialogs {
			want = mail.Limited
		}
		s.wantCode(tell("ann", func(c *mail.DialogChange) { c.ID = mail.ID(fmt.Sprint("d-", i)) }), want)
	}
}

// wantDialogs compares an agent's dialogs, and checks that other agents see neither their tool nor their sum.
func (s *suite) wantDialogs(n mail.Name, state mail.State, want ...string) {
	s.Helper()
	for _, who := range []mail.Name{mail.User, "bob"} {
		list, err := s.as(who).Agents(s.ctx, mail.RosterQuery{States: []mail.State{state}, Name: n})
		if err != nil || len(list.Agents) != 1 || list.States[state] != 1 {
			s.Errorf("%s is not %s: %+v, %v", n, state, list, err)
			return
		}
		a := list.Agents[0]
		got := []string{}
		for _, d := range a.Dialogs {
			text := string(d.ID)
			if d.Doubt {
				text += " doubt"
			}
			if got = append(got, text); (who == mail.User) != (d.Tool == "Bash" && d.Sum != "") || d.Since == 0 ||
				a.Since > d.Since {
				s.Errorf("%s sees %+v", who, d)
			}
		}
		if strings.Join(got, ", ") != strings.Join(want, ", ") {
			s.Errorf("%s stands at %q, want %q", n, got, want)
		}
	}
}

// wantAsking checks that the status counts one asking agent, and that no agent can register as asking.
func (s *suite) wantAsking() {
	s.Helper()
	st, err := s.as(mail.User).Status(s.ctx)
	if err != nil || st.Asking != 1 {
		s.Errorf("%d agents are asking, %v; want 1", st.Asking, err)
	}
	_, err = s.as("bob").Register(s.ctx, mail.Presence{State: mail.Asking})
	s.wantCode(err, mail.Invalid, "dialogs")
}

// wantStuckAsking checks that an agent is stuck at two dialogs, with its mail, and in no other kind.
func (s *suite) wantStuckAsking(n mail.Name) {
	s.Helper()
	for _, who := range []mail.Name{mail.User, "bob"} {
		list, err := s.as(who).Stuck(s.ctx, mail.StuckQuery{})
		if err != nil || len(list.Groups) != 1 || list.Kinds[mail.StuckAsking] != 1 {
			s.Errorf("stuck is %+v, %v", list, err)
			return
		}
		g := list.Groups[0]
		if g.Kind != mail.StuckAsking || g.For != mail.AgentAddress(n) || g.Count != 2 || len(g.Dialogs) != 2 ||
			g.Since != g.Dialogs[0].Since || strings.Join(bodiesOf(g.Mail), ", ") != "which?, done" ||
			(who == mail.User) != (g.Dialogs[0].Tool == "Bash") {
			s.Errorf("%s is stuck so: %+v", n, g)
		}
	}
	s.wantStuck(mail.StuckQuery{Kind: mail.StuckWaiting})
}

// wantOutcome checks that the watch has the end of the dialog d-1, as its agent reported it.
func (s *suite) wantOutcome(w mail.Watch) {
	s.Helper()
	next, opened, ended := reader(s, w), 0, 0
	for ended == 0 {
		switch c := next().Dialog; {
		case c == nil || c.ID != "d-1":
		case c.Outcome == "" && !c.Doubt:
			opened++
		case c.Outcome != "":
			if ended++; c.Tool != "Bash" || c.By != "" || c.Where != mail.AtClient || c.Agent != "ann" {
				s.Errorf("d-1 ended so: %+v", c)
			}
		}
	}
	if opened != 1 {
		s.Errorf("d-1 opened %d times", opened)
	}
}

// Asking holds the dialogs of a test's office; it is empty at first.
type Asking struct {
	mu      sync.Mutex
	cards   []mail.Card
	Answers []mail.DialogAnswer // the answers given
}

// Ask puts a dialog on the desk.
func (d *Asking) Ask(c mail.Card) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cards = append(d.cards, c)
}

// Forget removes a dialog that is over from the desk.
func (d *Asking) Forget(id mail.ID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cards = slices.DeleteFunc(d.cards, func(c mail.Card) bool { return c.ID == id })
}

// Dialogs implements mail.Office.
func (d *Asking) Dialogs(_ context.Context, q mail.DialogQuery) (mail.Cards, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := mail.Cards{Cards: []mail.Card{}}
	for _, c := range d.cards {
		if q.ID == "" || q.ID == c.ID {
			out.Cards = append(out.Cards, c)
		}
	}
	return out, nil
}

// AnswerDialog implements mail.Office.
func (d *Asking) AnswerDialog(_ context.Context, a mail.DialogAnswer) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, c := range d.cards {
		if c.ID != a.Dialog {
			continue
		}
		if c.Sum != a.Sum {
			return mail.Errorf(mail.Conflict, "it asks something else: nothing was done")
		}
		if err := c.Fits(&a); err != nil {
			return err
		}
		d.cards = append(d.cards[:i:i], d.cards[i+1:]...)
		d.Answers = append(d.Answers, a)
		return nil
	}
	return mail.Errorf(mail.NotFound, "no such dialog is open any more")
}
