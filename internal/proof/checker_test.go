//go:build linux

package proof

import (
	"io"
	"slices"
	"testing"
	"time"

	"pennypost/internal/mail"
)

// peaceful returns a world in which three messages were sent without faults, and its room's export.
func peaceful() (*world, *sender, []mail.Item) {
	w := &world{seed: 1, out: io.Discard, eraser: &eraser{book: &book{client: "user"}}}
	w.naps = []*nap{{agent: sleeper, offices: []*office{{root: "nowhere"}}}}
	s := &sender{book: &book{client: "ann"}, seed: 1, room: "main", recipients: []string{string(quiet)}}
	w.senders, w.books = []*sender{s}, []*book{s.book}
	one := &watcher{name: "one", room: "main"}
	two := &watcher{name: "two", room: "main"}
	w.watchers = []*watcher{one, two}
	var items []mail.Item
	for n := 1; n <= 3; n++ {
		d := s.draft(n)
		id := mail.ID("msg_" + string(rune('a'+n)))
		s.ops = append(s.ops, op{Client: "ann", Kind: "send", Outcome: done, N: n, Message: id, Seq: mail.Seq(n)})
		m := mail.Message{ID: id, From: "agent:ann", To: []mail.Address{mail.AgentAddress(quiet)}, Body: d.Body,
			Subject: d.Subject, Type: mail.Type(d.Type)}
		items = append(items, mail.Item{Message: m, Seq: mail.Seq(n), Deliveries: []mail.Delivery{{Agent: quiet,
			State: mail.Queued}}})
		for _, by := range w.watchers {
			by.seen = append(by.seen, sight{seq: mail.Seq(n), sum: uint64(n), message: id})
		}
	}
	return w, s, items
}

// holds runs the parts of the checker that need no post office.
func (w *world) holds(items []mail.Item) {
	rooms := map[mail.RoomName][]mail.Item{"main": items}
	for _, s := range w.senders {
		w.checkSender(s, items)
	}
	w.checkStrangers(rooms)
	w.checkSeen(rooms)
	w.checkReceipts()
	w.checkStates(items)
}

// TestCheckerFinds breaks each promise on paper: a checker that finds nothing here would find nothing in a run.
func TestCheckerFinds(t *testing.T) {
	for _, c := range []struct {
		name, promise string
		spoil         func(w *world, s *sender, items []mail.Item) []mail.Item
	}{
		{"nothing", "", func(_ *world, _ *sender, items []mail.Item) []mail.Item { return items }},
		{"lost", "P1", func(_ *world, _ *sender, items []mail.Item) []mail.Item { return items[:2] }},
		{"refused and there", "P1", func(_ *world, s *sender, items []mail.Item) []mail.Item {
			s.ops[1].Outcome = refused
			return items
		}},
		{"in doubt and there", "", func(_ *world, s *sender, items []mail.Item) []mail.Item {
			s.ops[1].Outcome = unknown
			return items
		}},
		{"in doubt and not there", "", func(_ *world, s *sender, items []mail.Item) []mail.Item {
			s.ops[1].Outcome = unknown
			return slices.Delete(items, 1, 2)
		}},
		{"kept and there", "", func(_ *world, s *sender, items []mail.Item) []mail.Item {
			s.ops[1].Kept, s.ops[1].Message = true, ""
			return items
		}},
		{"kept and lost", "P1", func(_ *world, s *sender, items []mail.Item) []mail.Item {
			s.ops[1].Kept, s.ops[1].Message = true, ""
			return slices.Delete(items, 1, 2)
		}},
		{"kept and sent twice", "P2", func(_ *world, s *sender, items []mail.Item) []mail.Item {
			s.ops[1].Kept, s.ops[1].Message = true, ""
			again := items[1]
			again.ID, again.Seq = "msg_z", 9
			return append(items, again)
		}},
		{"kept, and what was sent after it overtook it", "P3", func(_ *world, s *sender,
			items []mail.Item) []mail.Item {
			s.ops[1].Kept, s.ops[1].Message = true, ""
			items[1].Seq = 9
			return items
		}},
		{"kept, and refused at last", "P1", func(_ *world, s *sender, items []mail.Item) []mail.Item {
			s.ops[1].Outcome, s.ops[1].Kept = refused, true
			return items
		}},
		{"acknowledged by one machine, and not there", "P1", func(_ *world, s *sender,
			items []mail.Item) []mail.Item {
			s.ops[2].Office = "m2"
			return items[:2]
		}},
		{"twice", "P2", func(_ *world, _ *sender, items []mail.Item) []mail.Item {
			again := items[2]
			again.ID, again.Seq = "msg_z", 9
			return append(items, again)
		}},
		{"altered", "P2", func(_ *world, _ *sender, items []mail.Item) []mail.Item {
			items[1].Body += "!"
			return items
		}},
		{"another id", "P2", func(_ *world, _ *sender, items []mail.Item) []mail.Item {
			items[1].ID = "msg_z"
			return items
		}},
		{"out of order", "P3", func(_ *world, _ *sender, items []mail.Item) []mail.Item {
			items[0].Seq = 7
			return items
		}},
		{"a watcher's gap", "P3", func(w *world, _ *sender, items []mail.Item) []mail.Item {
			w.watchers[0].seen = slices.Delete(w.watchers[0].seen, 1, 2)
			return items
		}},
		{"two histories", "P3", func(w *world, _ *sender, items []mail.Item) []mail.Item {
			w.watchers[0].seen[1].sum++
			return items
		}},
		{"never shown", "P3", func(w *world, _ *sender, items []mail.Item) []mail.Item {
			w.watchers[0].seen, w.watchers[1].seen = w.watchers[0].seen[:2], w.watchers[1].seen[:2]
			return items
		}},
		{"marked by looking", "P4", func(w *world, _ *sender, items []mail.Item) []mail.Item {
			w.watchers[0].seen[2].receipt = &mail.Receipt{Message: "msg_b", Reader: mail.AgentAddress(quiet),
				Mark: mail.MarkRead}
			return items
		}},
		{"read by looking", "P4", func(_ *world, _ *sender, items []mail.Item) []mail.Item {
			items[0].Deliveries[0].State = mail.Read
			return items
		}},
		{"forged", "P5", func(_ *world, _ *sender, items []mail.Item) []mail.Item {
			return append(items, mail.Item{Message: mail.Message{ID: "msg_f", From: "agent:bob", Body: "x"}, Seq: 9,
				Deliveries: []mail.Delivery{{State: mail.Queued}}})
		}},
		{"under another's name", "P5", func(_ *world, _ *sender, items []mail.Item) []mail.Item {
			return append(items, mail.Item{Message: mail.Message{ID: "msg_f", From: "agent:ann", Body: "x"}, Seq: 9,
				Deliveries: []mail.Delivery{{State: mail.Queued}}})
		}},
		{"presented to nobody", "P7", func(w *world, _ *sender, items []mail.Item) []mail.Item {
			w.watchers[0].seen[2].receipt = &mail.Receipt{Message: "msg_b", Reader: mail.AgentAddress(reader),
				Mark: mail.MarkPresented}
			return items
		}},
		{"without a state", "P7", func(_ *world, _ *sender, items []mail.Item) []mail.Item {
			items[0].Deliveries = nil
			return items
		}},
		{"slept through", "P8", func(_ *world, _ *sender, items []mail.Item) []mail.Item {
			q := items[0]
			q.Deliveries = []mail.Delivery{{Agent: sleeper, State: mail.Notified}}
			q.Type = mail.Question
			items[0] = q
			return items
		}},
		{"erased and there", "P11", func(w *world, _ *sender, items []mail.Item) []mail.Item {
			w.eraser.ops = append(w.eraser.ops, op{Kind: "erase", Outcome: done, Message: items[0].ID})
			return items
		}},
		{"erased and gone", "", func(w *world, _ *sender, items []mail.Item) []mail.Item {
			w.eraser.ops = append(w.eraser.ops, op{Kind: "erase", Outcome: done, Message: items[0].ID})
			return items[1:]
		}},
	} {
		w, s, items := peaceful()
		w.holds(c.spoil(w, s, items))
		if c.promise == "" && len(w.found.list) > 0 || c.promise != "" && w.found.count[c.promise] == 0 {
			t.Errorf("%s: found %+v, want %q", c.name, w.found.list, c.promise)
		}
	}
}

// TestLinearize holds that histories without an order that explains them are found, and others are not.
func TestLinearize(t *testing.T) {
	const a, b = mail.Name("taker-1"), mail.Name("taker-2")
	at := func(o op, from, to time.Duration) op {
		o.Call, o.Return = from, to
		return o
	}
	read := func(who mail.Name, result string) op {
		o := op{Kind: "mark", Outcome: done, Agent: who, Mark: mail.MarkRead, Result: result}
		if result == "" {
			o.Outcome = unknown
		}
		return o
	}
	for _, c := range []struct {
		name  string
		marks []op
		taker mail.Name // seen at the end
		bad   bool
	}{
		{"one takes", []op{at(read(a, "marked"), 1, 2), at(read(b, "not_yours"), 3, 4)}, a, false},
		{"both take at once", []op{at(read(a, "marked"), 1, 4), at(read(b, "marked"), 2, 3)}, a, true},
		{"both take one after the other", []op{at(read(a, "marked"), 1, 2), at(read(b, "marked"), 3, 4)}, b, true},
		{"taken, then forgotten", []op{at(read(a, "marked"), 1, 2)}, "", true},
		{"taken, seen with another", []op{at(read(a, "marked"), 1, 2)}, b, true},
		{"in doubt, and it was", []op{at(read(a, ""), 1, 2), at(read(b, "not_yours"), 3, 4)}, a, false},
		{"in doubt, and it was not", []op{at(read(a, ""), 1, 2), at(read(b, "marked"), 3, 4)}, b, false},
		{"already before it was", []op{at(read(a, "already"), 1, 2), at(read(a, "marked"), 3, 4)}, a, true},
	} {
		h := newHistory(false)
		for _, o := range c.marks {
			h.mark("m", o)
		}
		h.look("m", op{Call: 10, Return: 11}, heard{taker: c.taker})
		var found findings
		h.check(&found, "P6", modelOf(roleMail))
		if bad := len(found.list) > 0; bad != c.bad {
			t.Errorf("%s: found %v, want %v", c.name, found.list, c.bad)
		}
	}
	h := newHistory(false)
	h.mark("m", at(op{Outcome: done, Agent: clerk, Mark: mail.MarkRead, Result: "marked"}, 1, 2))
	h.mark("m", at(op{Outcome: done, Agent: clerk, Mark: mail.MarkUnread, Result: "marked"}, 3, 4))
	h.look("m", op{Call: 10, Return: 11}, heard{state: mail.Read})
	var found findings
	if h.check(&found, "P2", modelOf(directMail)); len(found.list) == 0 {
		t.Error("a mark that was taken back and is seen afterwards was not found")
	}
}

// TestHeldName holds that the model of claims finds two holders, and forgotten claims.
func TestHeldName(t *testing.T) {
	const a, b mail.Name = "holder-1", "holder-2"
	said := func(n mail.Name, k mail.Mark, result string, from, to time.Duration) op {
		o := op{Outcome: done, Agent: n, Mark: k, Result: result, Call: from, Return: to}
		if result == "" {
			o.Outcome = unknown
		}
		return o
	}
	for _, c := range []struct {
		name string
		ops  []op
		last mail.Name
		bad  bool
	}{
		{"one after the other", []op{said(a, takes, "marked", 1, 2), said(b, takes, "not_yours", 3, 4),
			said(a, releases, "marked", 5, 6), said(b, takes, "marked", 7, 8)}, b, false},
		{"two at a time", []op{said(a, takes, "marked", 1, 3), said(b, takes, "marked", 2, 4)}, b, true},
		{"refused though it is free", []op{said(b, takes, "not_yours", 1, 2)}, "", true},
		{"forgotten", []op{said(a, takes, "marked", 1, 2)}, "", true},
		{"given up for another", []op{said(a, takes, "marked", 1, 2), said(b, releases, "marked", 3, 4)}, "", true},
		{"in doubt, and it was", []op{said(a, takes, "", 1, 2), said(b, takes, "not_yours", 3, 4)}, a, false},
		{"in doubt, and it was not", []op{said(a, takes, "", 1, 2), said(b, takes, "marked", 3, 4)}, b, false},
	} {
		h := newHistory(false)
		for _, o := range c.ops {
			h.mark("name", o)
		}
		h.look("name", op{Call: 10, Return: 11}, heard{taker: c.last})
		var found findings
		h.check(&found, "P15", modelOf(heldName))
		if bad := len(found.list) > 0; bad != c.bad {
			t.Errorf("%s: found %v, want %v", c.name, found.list, c.bad)
		}
	}
}

// TestSeedReplays holds that a seed gives the same schedule, even where some faults are not possible.
func TestSeedReplays(t *testing.T) {
	all := new(nemesis).faults()
	some := all[:len(all)-3]
	set := func(faults []fault) map[string]bool {
		names := make(map[string]bool)
		for _, f := range faults {
			names[f.name] = true
		}
		return names
	}
	names := func(possible map[string]bool) (out []string) {
		for round := range 5 {
			for _, s := range schedule(7, round, all, possible) {
				if set(some)[s.fault.name] {
					out = append(out, s.fault.name, s.pause.String(), time.Duration(s.dice.Int64N(1e9)).String())
				}
			}
		}
		return out
	}
	if a, b := names(set(all)), names(set(some)); len(a) != 5*3*len(some) || !slices.Equal(a, b) {
		t.Errorf("one seed, two schedules:\n%v\n%v", a, b)
	}
	if a, b := draftOf(7, "ann", 3, []string{"x"}), draftOf(7, "ann", 3, []string{"x"}); a.Body != b.Body {
		t.Errorf("one seed, two drafts: %q, %q", a.Body, b.Body)
	}
}

// TestLinearizeBehind holds that a post office may lag behind the others, but not behind its own answers.
func TestLinearizeBehind(t *testing.T) {
	mark := func(office string, k mail.Mark, from, to time.Duration) op {
		return op{Office: office, Outcome: done, Agent: clerk, Mark: k, Result: "marked", Call: from, Return: to}
	}
	for _, c := range []struct {
		name  string
		looks []op // each with the state that was seen
		bad   bool
	}{
		{"another is behind", []op{{Office: "m2", State: mail.Queued, Call: 3, Return: 4}}, false},
		{"the same is behind", []op{{Office: "m1", State: mail.Queued, Call: 3, Return: 4}}, true},
		{"another knew it and has forgotten it", []op{{Office: "m2", State: mail.Read, Call: 3, Return: 4},
			{Office: "m2", State: mail.Queued, Call: 5, Return: 6}}, true},
		{"another is behind for long", []op{{Office: "m2", State: mail.Queued, Call: 3, Return: 4},
			{Office: "m2", State: mail.Queued, Call: 5, Return: 6}}, false},
		{"another comes to know it", []op{{Office: "m2", State: mail.Queued, Call: 3, Return: 4},
			{Office: "m2", State: mail.Read, Call: 5, Return: 6}}, false},
		{"another knows it before who asked is told",
			[]op{{Office: "m2", State: mail.Read, Call: 1, Return: 1},
				{Office: "m1", State: mail.Queued, Call: 1, Return: 1}},
			false},
		{"it was known before it was done", []op{{Office: "m2", State: mail.Read, Call: 0, Return: 0}}, true},
		{"nobody knows it in the end", []op{{State: mail.Queued, Call: 9, Return: 10}}, true},
	} {
		h := newHistory(true)
		h.mark("m", mark("m1", mail.MarkRead, 1, 2))
		for _, o := range c.looks {
			h.look("m", o, heard{state: o.State})
		}
		var found findings
		h.check(&found, "P2", modelOf(directMail))
		if bad := len(found.list) > 0; bad != c.bad {
			t.Errorf("%s: found %v, want %v", c.name, found.list, c.bad)
		}
	}
}
