package mailroom

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// desk is a room with a clock, and two agents who talk.
type desk struct {
	*testing.T
	room *Room
	now  time.Time
}

func newDesk(t *testing.T, l policy.Limits) *desk {
	d := &desk{T: t, now: time.Date(2026, 5, 10, 14, 0, 0, 0, time.UTC)}
	d.room, _ = openRoom(t, "lab", Options{Limits: l, Now: func() time.Time { return d.now }})
	for _, n := range []mail.Name{"ann", "bob"} {
		if _, err := d.room.As(mail.User).Register(t.Context(), mail.Presence{Name: n}); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

func (d *desk) send(from mail.Name, m mail.Draft) mail.Sent {
	d.Helper()
	sent, err := d.room.As(from).Send(d.Context(), m)
	if err != nil {
		d.Fatalf("%s sends %q: %v", from, m.Body, err)
	}
	return sent
}

func (d *desk) refused(from mail.Name, m mail.Draft) {
	d.Helper()
	if sent, err := d.room.As(from).Send(d.Context(), m); mail.CodeOf(err) != mail.Limited {
		d.Errorf("%s sends %q: %+v, %v, want a limit", from, m.Body, sent, err)
	}
}

// notices returns how many notices the user has.
func (d *desk) notices() int {
	d.Helper()
	p, err := d.room.As(mail.User).Inbox(d.Context(), mail.InboxQuery{Limit: mail.MaxLimit})
	if err != nil {
		d.Fatal(err)
	}
	n := 0
	for _, it := range p.Messages {
		if it.From == mail.FromSystem {
			n++
		}
	}
	return n
}

// saw checks that both sides see a trip: the sender's answer says these words, and the user has one notice, which
// names the limit.
func (d *desk) saw(err error, words, limit string) {
	d.Helper()
	if err == nil || !strings.Contains(err.Error(), words) || !strings.Contains(err.Error(), "nothing was sent") {
		d.Errorf("the sender is told %v, want %q", err, words)
	}
	d.wantTold(limit)
}

func (d *desk) wantTold(limit string) {
	d.Helper()
	p, err := d.room.As(mail.User).Inbox(d.Context(), mail.InboxQuery{Limit: mail.MaxLimit})
	if err != nil {
		d.Fatal(err)
	}
	n := 0
	for _, it := range p.Messages {
		if it.From == mail.FromSystem && strings.Contains(it.Body, limit+" in [room.limits]") {
			n++
		}
	}
	if n != 1 {
		d.Errorf("the user was told %d times of %s, want once", n, limit)
	}
}

// The sender sees each trip of a breaker in the answer, and the user in a notice that names the limit. The budget of
// rings is in package wake: TestP12_Budget.
func TestP12_TripsAreSeen(t *testing.T) {
	send := func(d *desk, from mail.Name, m mail.Draft) error {
		_, err := d.room.As(from).Send(d.Context(), m)
		return err
	}
	t.Run("exchanges", func(t *testing.T) {
		d := newDesk(t, policy.Limits{Exchanges: 2})
		d.send("ann", to("bob", "1"))
		d.send("bob", to("ann", "2"))
		d.refused("ann", to("bob", "3"))
		d.saw(send(d, "ann", to("bob", "4")), "answered each other 2 times", "exchanges")
	})
	t.Run("repeats", func(t *testing.T) {
		d := newDesk(t, policy.Limits{})
		first := d.send("ann", to("bob", "same"))
		for range 3 {
			if again := d.send("ann", to("bob", "same")); again.ID != first.ID || !again.Duplicate {
				t.Errorf("the sender is told %+v, want a duplicate of %s", again, first.ID)
			}
			d.now = d.now.Add(time.Minute)
		}
		d.wantTold("repeat_window")
	})
	t.Run("depth", func(t *testing.T) {
		d := newDesk(t, policy.Limits{Depth: 1, Exchanges: -1})
		id := d.send("ann", to("bob", "0")).ID
		id = d.send("bob", mail.Draft{To: mail.Recipients{"ann"}, Body: "1", ReplyTo: id}).ID
		d.saw(send(d, "ann", mail.Draft{To: mail.Recipients{"bob"}, Body: "2", ReplyTo: id}), "2 replies without",
			"depth")
	})
	t.Run("rate", func(t *testing.T) {
		d := newDesk(t, policy.Limits{Burst: 1, PerMinute: 60})
		d.send("ann", to("bob", "1"))
		d.refused("ann", to("bob", "2"))
		d.saw(send(d, "ann", to("bob", "3")), "more than 60 messages in a minute", "per_minute")
	})
}

// claude-code#94000: a cap that cannot be moved breaks honest work. Each can be moved, and removed.
func TestP12_LimitsAreTunable(t *testing.T) {
	d := newDesk(t, policy.Limits{Exchanges: -1, RepeatWindow: -1, PerMinute: -1, Depth: -1})
	var id mail.ID
	for i := range 6000 {
		from, other := mail.Name("ann"), "bob"
		if i%2 == 1 {
			from, other = "bob", "ann"
		}
		sent := d.send(from, mail.Draft{To: mail.Recipients{other}, Body: "same", ReplyTo: id})
		if sent.Duplicate {
			t.Fatal("a repetition was dropped without a limit")
		}
		id = sent.ID
	}
	if n := d.notices(); n != 0 {
		t.Errorf("%d notices without a limit", n)
	}
}

func to(name, format string, args ...any) mail.Draft {
	return mail.Draft{To: mail.Recipients{name}, Body: fmt.Sprintf(format, args...)}
}

func TestP12_Repeats(t *testing.T) {
	d := newDesk(t, policy.Limits{})
	first := d.send("ann", to("bob", "same"))
	if again := d.send("ann", to("bob", "same")); again.ID != first.ID || !again.Duplicate {
		t.Errorf("a repetition is %+v, want %s again", again, first.ID)
	}
	for name, m := range map[string]mail.Draft{
		"another text":  to("bob", "other"),
		"another type":  {To: mail.Recipients{"bob"}, Body: "same", Type: string(mail.Question)},
		"a reply":       {To: mail.Recipients{"bob"}, Body: "same", ReplyTo: first.ID},
		"the user":      to("user", "same"),
		"again":         {To: mail.Recipients{"bob"}, Body: "same", Again: true},
		"a key":         {To: mail.Recipients{"bob"}, Body: "same", Key: "k1"},
		"another key":   {To: mail.Recipients{"bob"}, Body: "same", Key: "k2"},
		"two of a role": to("role:x", "same"),
	} {
		if sent := d.send("ann", m); sent.Duplicate || sent.ID == first.ID {
			t.Errorf("%s: %+v", name, sent)
		}
	}
	if a, b := d.send(mail.User, to("bob", "hi")), d.send(mail.User, to("bob", "hi")); a.ID == b.ID {
		t.Error("the user cannot say the same twice")
	}
	d.now = d.now.Add(5 * time.Minute)
	if sent := d.send("ann", to("bob", "same")); !sent.Duplicate {
		t.Errorf("five minutes later: %+v", sent)
	}
	d.now = d.now.Add(1)
	if sent := d.send("ann", to("bob", "same")); sent.Duplicate {
		t.Errorf("after five minutes: %+v", sent)
	}
}

func TestP12_PolitenessLoop(t *testing.T) {
	d := newDesk(t, policy.Limits{})
	said := 0
	loop := func(n int) {
		t.Helper()
		for i := range n {
			who, other := mail.Name("ann"), "bob"
			if i%2 == 1 {
				who, other = "bob", "ann"
			}
			said++
			d.send(who, to(other, "thank you %d", said))
		}
	}
	loop(policy.DefaultExchanges)
	d.refused("ann", to("bob", "no, thank you"))
	d.refused("ann", to("bob", "no, no"))
	if n := d.notices(); n != 1 {
		t.Errorf("%d notices to the user, want one a trip", n)
	}
	// about a task: work continues
	d.send("ann", mail.Draft{To: mail.Recipients{"bob"}, Type: string(mail.TaskDone), Body: "done"})
	loop(policy.DefaultExchanges)
	d.refused("ann", to("bob", "enough"))
	d.send(mail.User, to("bob", "go on"))
	loop(policy.DefaultExchanges)
	d.refused("ann", to("bob", "enough again"))
	d.now = d.now.Add(policy.DefaultExchangeWindow + 1)
	loop(2)
	for i := range 3 * policy.DefaultExchanges { // a sender of many reports is no loop
		d.send("ann", to("bob", "progress %d", i))
	}
}

// Two agents that wake each other, one of whom the other knows only by its role, are stopped however slow they are: a
// ring that is answered costs none of the budget of rings.
func TestP12_WakingLoop(t *testing.T) {
	d := newDesk(t, policy.Limits{})
	if _, err := d.room.As(mail.User).Register(t.Context(), mail.Presence{Name: "ann",
		Roles: []string{string(mail.Orchestrator)}}); err != nil {
		t.Fatal(err)
	}
	said := 0
	next := func(asks, answers mail.Type) (mail.Name, mail.Draft) {
		who, m := mail.Name("bob"), to("orchestrator", "%s %d", asks, said)
		m.Type = string(asks)
		if said%2 == 1 {
			who, m = "ann", to("bob", "%s %d", answers, said)
			m.Type = string(answers)
		}
		said++
		d.now = d.now.Add(80 * time.Second)
		return who, m
	}
	loop := func() {
		for range 2 * policy.DefaultExchanges {
			d.send(next(mail.Question, mail.Answer))
		}
		d.refused(next(mail.Question, mail.Answer))
		said--
	}
	loop()
	if n := d.notices(); n != 1 {
		t.Errorf("%d notices to the user, want 1", n)
	}
	d.send("ann", mail.Draft{To: mail.Recipients{"bob"}, Type: string(mail.TaskAssigned), Body: "work"})
	loop()
	d.send(mail.User, to("orchestrator", "go on"))
	for range 4 * policy.DefaultExchanges { // which wakes no one
		d.send(next(mail.Custom, mail.Custom))
	}
	for range 4 * policy.DefaultExchanges { // the loop that a team is for
		d.send(next(mail.TaskDone, mail.TaskAssigned))
	}
	loop()
}

func TestP12_Rate(t *testing.T) {
	d := newDesk(t, policy.Limits{Burst: 5, PerMinute: 60})
	for i := range 5 {
		d.send("ann", to("bob", "%d", i))
	}
	d.refused("ann", to("bob", "x"))
	d.send("bob", to("ann", "others may"))
	d.send(mail.User, to("bob", "the person too"))
	d.now = d.now.Add(time.Second)
	d.send("ann", to("bob", "y"))
	d.refused("ann", to("bob", "z"))
	if n := d.notices(); n != 1 {
		t.Errorf("%d notices to the user, want 1", n)
	}
}

func TestP12_Depth(t *testing.T) {
	d := newDesk(t, policy.Limits{Depth: 3, Exchanges: -1})
	id := d.send("ann", to("bob", "0")).ID
	reply := func(n int) mail.Draft {
		return mail.Draft{To: mail.Recipients{"bob"}, Body: fmt.Sprint(n), ReplyTo: id}
	}
	for i := range 3 {
		id = d.send("ann", reply(i)).ID
	}
	d.refused("ann", reply(4))
	id = d.send(mail.User, reply(5)).ID
	for i := range 3 {
		id = d.send("ann", reply(10+i)).ID
	}
}
