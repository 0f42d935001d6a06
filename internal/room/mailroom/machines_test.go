package mailroom

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
	"pennypost/internal/room/journal"
)

// TestEraseWhereItIsNotReadYet: a message that another machine has acknowledged can be erased on a lagging one, which
// does not say that there is no such message.
func TestEraseWhereItIsNotReadYet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 2, Options{})
		release := f.posts[1].disk.Hold()
		defer release()
		sent, err := f.posts[0].As(mail.User).Send(t.Context(), mail.Draft{To: mail.Recipients{"all"}, Body: "secret"})
		f.must("send", err)
		began := time.Now()
		f.wantError("where it is not read", f.posts[1].As(mail.User).Erase(t.Context(), sent.ID), mail.Unavailable,
			"nothing was erased")
		if took := time.Since(began); took > 2*readWithin {
			t.Errorf("it took %v to say so", took)
		}
		time.AfterFunc(readWithin/2, release)
		f.wantError("where it is read in a moment", f.posts[1].As(mail.User).Erase(t.Context(), sent.ID),
			mail.Unavailable, "erased here", "disk of m0")
		f.must("the other's part", f.posts[0].finishErasures(t.Context()))
		f.wantError("what nobody has sent", f.posts[1].As(mail.User).Erase(t.Context(), "msg_nobody"), mail.NotFound)
		f.posts[1].disk.Cut(journal.ErrAway)
		f.wantError("that, with the way away", f.posts[1].As(mail.User).Erase(t.Context(), "msg_nobody"),
			mail.Unavailable, "nothing was erased")
		f.posts[1].disk.Cut(nil)
	})
}

// TestRaces makes two post offices decide about the same thing concurrently, each before it has the event of the
// other. The first in the journal's order wins, on every machine, and the other's answer says so.
func TestRaces(t *testing.T) {
	register := func(f *fleet, p *post, as mail.Name, c mail.Presence) (mail.Agent, error) {
		return p.As(as).Register(f.Context(), c)
	}
	for name, test := range map[string]func(f *fleet){
		"a child of two parents": func(f *fleet) {
			for _, n := range []mail.Name{"ann", "bob"} {
				_, err := register(f, f.posts[0], mail.User, mail.Presence{Name: n})
				f.must("register", err)
			}
			var first, second error
			f.race(
				func() {
					_, first = register(f, f.posts[0], "ann",
						mail.Presence{Name: "kid", Parent: new(mail.Name("ann"))})
				},
				func() {
					_, second = register(f, f.posts[1], "bob",
						mail.Presence{Name: "kid", Parent: new(mail.Name("bob"))})
				})
			f.must("the first", first)
			f.wantError("the second", second, mail.Denied, "kid")
		},
		"names that look alike": func(f *fleet) {
			var first, second, third error
			f.race(
				func() { _, first = register(f, f.posts[0], "ann", mail.Presence{}) },
				func() { _, second = register(f, f.posts[1], "ａｎｎ", mail.Presence{}) },
				func() {
					_, third = f.posts[2].As("Ann\u00ad").Send(f.Context(),
						mail.Draft{To: mail.Recipients{"user"}, Body: "x"})
				})
			f.must("the first", first)
			f.wantError("the second", second, mail.Conflict, "ann")
			if third == nil {
				f.Error("a message by a name that looks like another's was sent")
			}
		},
		"a message by a name that looks alike": func(f *fleet) {
			var first, second error
			f.race(
				func() { _, first = register(f, f.posts[0], "ann", mail.Presence{}) },
				func() {
					_, second = f.posts[1].As("ａｎｎ").Send(f.Context(),
						mail.Draft{To: mail.Recipients{"user"}, Body: "x"})
				})
			f.must("the first", first)
			f.wantError("the message", second, mail.Conflict, "ann")
			if n := len(f.posts[0].state.Records); n != 0 {
				f.Errorf("%d messages stand all the same", n)
			}
		},
		"the next number": func(f *fleet) {
			_, err := register(f, f.posts[0], "ann", mail.Presence{Session: "s"})
			f.must("register", err)
			var names [2]mail.Name
			take := func(i int) func() {
				return func() {
					a, err := register(f, f.posts[i], mail.User, mail.Presence{Name: "ann"})
					f.must("register", err)
					names[i] = a.Name
				}
			}
			f.race(take(0), take(1))
			if names != [2]mail.Name{"ann-2", "ann-3"} {
				f.Errorf("they are called %v", names)
			}
		},
		"two sessions of a name": func(f *fleet) {
			var names [2]mail.Name
			take := func(i int) func() {
				return func() {
					b, err := f.posts[i].As("ann").Turn(f.Context(),
						mail.Turn{Moment: mail.SessionStart, Session: fmt.Sprint("s", i), Process: "1.a"})
					f.must("turn", err)
					names[i] = b.Agent
				}
			}
			f.race(take(0), take(1))
			if names != [2]mail.Name{"ann", "ann-2"} {
				f.Errorf("they are called %v", names)
			}
			a, _, err := mail.OneAgent(f.Context(), f.posts[0].As(mail.User), "ann-2")
			if err != nil || a.Machine != "m1" || a.MachineAway {
				f.Errorf("the second is %+v, %v; want it on m1", a, err)
			}
		},
		"two orchestrators": func(f *fleet) {
			var first, second, hook error
			f.race(
				func() { _, first = register(f, f.posts[0], mail.Orchestrator, mail.Presence{Session: "s0"}) },
				func() { _, second = register(f, f.posts[1], mail.Orchestrator, mail.Presence{Session: "s1"}) },
				func() {
					_, hook = f.posts[2].As(mail.Orchestrator).Turn(f.Context(),
						mail.Turn{Moment: mail.SessionStart, Session: "s2"})
				})
			f.must("the first", first)
			f.wantError("the second", second, mail.Conflict, "s0 on m0")
			f.wantError("the hook of the third", hook, mail.Conflict, "s0 on m0")
			if n := len(f.posts[0].state.Listed); n != 1 {
				f.Errorf("the roster has %d agents", n)
			}
		},
		"one child too many": func(f *fleet) {
			_, err := register(f, f.posts[0], mail.User, mail.Presence{Name: "ann"})
			f.must("register", err)
			var errs [3]error
			var acts []func()
			for i, p := range f.posts {
				acts = append(acts, func() {
					_, errs[i] = register(f, p, "ann", mail.Presence{Name: mail.Name(fmt.Sprint("kid", i)),
						Parent: new(mail.Name("ann"))})
				})
			}
			f.race(acts...)
			f.must("the first", errs[0])
			f.must("the second", errs[1])
			f.wantError("the third", errs[2], mail.Limited, "ann already has 2 live agents")
		},
		"an agent that is retired meanwhile": func(f *fleet) {
			_, err := register(f, f.posts[0], mail.User, mail.Presence{Name: "ann"})
			f.must("register", err)
			var first, update, token error
			f.race(
				func() { first = f.posts[0].As(mail.User).Retire(f.Context(), "ann") },
				func() {
					_, update = register(f, f.posts[1], mail.User,
						mail.Presence{Name: "ann", Update: true, Roles: []string{"x"}})
				},
				func() { _, token = f.posts[2].As(mail.User).Token(f.Context(), "ann") })
			f.must("retire", first)
			f.wantError("update", update, mail.NotFound)
			f.wantError("token", token, mail.NotFound)
		},
		"renamed to one name, and to two": func(f *fleet) {
			for _, n := range []mail.Name{"ann", "bob", "eve"} {
				_, err := register(f, f.posts[0], mail.User, mail.Presence{Name: n})
				f.must("register", err)
			}
			var ann, bob, again, other error
			rename := func(p *post, from, to mail.Name, err *error) func() {
				return func() { _, *err = p.As(mail.User).Rename(f.Context(), from, to) }
			}
			f.race(rename(f.posts[0], "ann", "zoe", &ann), rename(f.posts[1], "bob", "zoe", &bob))
			f.must("the first", ann)
			f.wantError("the second", bob, mail.Conflict, "zoe", "taken")
			f.race(rename(f.posts[0], "eve", "ida", &ann), rename(f.posts[1], "eve", "ida", &again),
				rename(f.posts[2], "eve", "kay", &other))
			if a := f.posts[1].state.Agent("eve"); a == nil || a.Name != "kay" {
				f.Errorf("eve is %+v now", a)
			}
			f.must("the last", other)
			f.wantError("the first", ann, mail.Conflict, `"kay"`)
		},
		"one key": func(f *fleet) {
			var sent [3]mail.Sent
			var errs [3]error
			send := func(i int, body string) func() {
				return func() {
					sent[i], errs[i] = f.posts[i].As(mail.User).Send(f.Context(),
						mail.Draft{To: mail.Recipients{"user"}, Body: body, Key: "k"})
				}
			}
			f.race(send(0, "x"), send(1, "x"), send(2, "something else"))
			f.must("the first", errs[0])
			f.must("the second", errs[1])
			if sent[1].ID != sent[0].ID || !sent[1].Duplicate || sent[0].Duplicate {
				f.Errorf("the second was told of %+v, the first of %+v", sent[1], sent[0])
			}
			f.wantError("another text", errs[2], mail.Conflict, string(sent[0].ID))
		},
		"one text": func(f *fleet) {
			_, err := register(f, f.posts[0], mail.User, mail.Presence{Name: "bob"})
			f.must("register", err)
			_, err = register(f, f.posts[0], mail.User, mail.Presence{Name: "ann"})
			f.must("register", err)
			var sent [3]mail.Sent
			send := func(i int) func() {
				return func() {
					var err error
					sent[i], err = f.posts[i].As("ann").Send(f.Context(),
						mail.Draft{To: mail.Recipients{"bob"}, Body: "x"})
					f.must("send", err)
				}
			}
			f.race(send(0), send(1))
			send(2)() // which was heard of there
			for i := range 2 {
				if s := sent[i+1]; s.ID != sent[0].ID || !s.Duplicate {
					f.Errorf("the next was told of %+v, the first of %+v", s, sent[0])
				}
			}
			time.Sleep(policy.DefaultRepeatWindow + time.Second)
			send(2)()
			if sent[2].Duplicate {
				f.Error("the text cannot be sent again when the window is over")
			}
		},
		"answers and a withdrawal": func(f *fleet) {
			_, err := register(f, f.posts[0], mail.User, mail.Presence{Name: "ann"})
			f.must("register", err)
			ask := func() mail.ID {
				q, err := f.posts[0].As("ann").Send(f.Context(), mail.Draft{To: mail.Recipients{"user"}, Body: "?",
					Type: "question", Again: true})
				f.must("ask", err)
				return q.ID
			}
			q := ask()
			var sent [2]mail.Sent
			var withdrawn error
			answer := func(i int) func() {
				return func() {
					var err error
					sent[i], err = f.posts[i].As(mail.User).Send(f.Context(),
						mail.Draft{To: mail.Recipients{"ann"}, ReplyTo: q, Body: fmt.Sprint(i)})
					f.must("answer", err)
				}
			}
			withdraw := func() { withdrawn = f.posts[2].As("ann").Withdraw(f.Context(), q) }
			f.race(answer(0), answer(1), withdraw)
			if st := sent[1].Settled; sent[0].Settled != nil || st == nil || st.Answer != sent[0].ID {
				f.Errorf("the second answer's sender was told %+v, the first's %+v", st, sent[0].Settled)
			}
			f.wantError("the withdrawal", withdrawn, mail.Conflict, "answered by user")
			q = ask()
			f.race(withdraw, answer(1))
			f.must("withdraw", withdrawn)
			if st := sent[1].Settled; st == nil || st.As != mail.Withdrawn || st.By != "ann" && st.By != "agent:ann" {
				f.Errorf("who answered what was withdrawn was told %+v", st)
			}
		},
		"role mail": func(f *fleet) {
			for _, n := range []mail.Name{"b1", "b2"} {
				_, err := register(f, f.posts[0], mail.User, mail.Presence{Name: n, Roles: []string{"builder"}})
				f.must("register", err)
			}
			sent, err := f.posts[0].As(mail.User).Send(f.Context(), mail.Draft{To: mail.Recipients{"role:builder"},
				Body: "x"})
			f.must("send", err)
			var late error
			f.race(
				func() {
					_, err := register(f, f.posts[0], mail.User, mail.Presence{Name: "b1", State: mail.Gone})
					f.must("b1 goes", err)
				},
				func() {
					_, err := f.posts[2].Note(f.Context(),
						[]mail.Receipt{{Message: sent.ID, Reader: "agent:b2", Mark: mail.MarkRead}})
					f.must("b2 reads", err)
				},
				func() {
					_, late = f.posts[1].As("b1").Mark(f.Context(),
						mail.Marking{IDs: []mail.ID{sent.ID}, Mark: mail.MarkRead})
				})
			f.wantError("b1 reads", late, mail.Denied, "taken by b2")
		},
		"held role mail": func(f *fleet) {
			sent, err := f.posts[0].As(mail.User).Send(f.Context(), mail.Draft{To: mail.Recipients{"role:builder"},
				Body: "x"})
			f.must("send", err)
			var took [2]int
			note := func(i int) func() {
				return func() {
					var err error
					took[i], err = f.posts[i].Note(f.Context(), []mail.Receipt{{Message: sent.ID,
						Reader: mail.Address(fmt.Sprint("agent:b", i)), Mark: mail.MarkRead}})
					f.must("note", err)
				}
			}
			for i := range 2 {
				_, err := register(f, f.posts[0], mail.User, mail.Presence{Name: mail.Name(fmt.Sprint("b", i)),
					State: mail.Frozen, Roles: []string{"builder"}})
				f.must("register", err)
			}
			f.race(note(0), note(1))
			if took != [2]int{1, 0} {
				f.Errorf("%v have taken it", took)
			}
		},
		"the end of a turn": func(f *fleet) {
			turn := func(p *post, moment mail.Moment) (mail.Briefing, error) {
				return p.As("ann").Turn(f.Context(), mail.Turn{Moment: moment, Session: "s"})
			}
			_, err := turn(f.posts[0], mail.TurnStart)
			f.must("turn", err)
			var brief mail.Briefing
			f.race(
				func() {
					_, err := f.posts[1].As(mail.User).Send(f.Context(),
						mail.Draft{To: mail.Recipients{"ann"}, Body: "go on"})
					f.must("send", err)
				},
				func() { brief, err = turn(f.posts[0], mail.TurnEnd) })
			if err != nil || !brief.Continue || len(brief.Items) != 1 {
				f.Errorf("the turn ends with %+v, %v; want it to go on", brief, err)
			}
		},
		"two that take over": func(f *fleet) {
			var seats [2]mail.Agent
			take := func(i int) func() {
				return func() {
					var err error
					seats[i], err = register(f, f.posts[i], "ann",
						mail.Presence{Session: fmt.Sprint("s", i), TakeOver: true})
					f.must("register", err)
				}
			}
			f.race(take(0), take(1))
			if seats[0].Session != "s1" || seats[1].Session != "s1" || seats[0].Machine != "m1" {
				f.Errorf("they were told of %+v and %+v; want both to know that s1 has the name", seats[0], seats[1])
			}
		},
		"bridges": func(f *fleet) {
			var ids [2]string
			add := func(i int, dir string) func() {
				return func() {
					b, err := f.posts[i].As(mail.User).AddBridge(f.Context(), mail.Bridge{Dialect: "haak", Dir: dir})
					f.must("bridge", err)
					ids[i] = b.ID
				}
			}
			f.race(add(0, "/a"), add(1, "/a"))
			if ids != [2]string{"haak", "haak-2"} || len(f.posts[2].state.Bridges) != 2 {
				f.Errorf("the bridges of two disks are %v: %v", ids, f.posts[2].state.Bridges)
			}
			add(1, "/a")()
			if ids[1] != "haak-2" || len(f.posts[2].state.Bridges) != 2 {
				f.Errorf("a bridge that is there was added as %s", ids[1])
			}
		},
		"one import": func(f *fleet) {
			item := mail.Item{Message: mail.Message{ID: "msg_1", Type: mail.Custom, From: "user",
				To:   []mail.Address{"user"},
				Body: "x", Sent: 1_000_000_000_000}}
			var got [2]mail.Imported
			add := func(i int) func() {
				return func() {
					var err error
					got[i], err = f.posts[i].As(mail.User).Import(f.Context(), []mail.Item{item})
					f.must("import", err)
				}
			}
			f.race(add(0), add(1))
			if got != [2]mail.Imported{{Added: 1}, {Skipped: 1}} {
				f.Errorf("imported %+v", got)
			}
		},
		"a message that is erased meanwhile": func(f *fleet) {
			sent, err := f.posts[0].As(mail.User).Send(f.Context(), mail.Draft{To: mail.Recipients{"user"}, Body: "x"})
			f.must("send", err)
			f.race(
				func() {
					_, err := f.posts[1].commit(f.Context(),
						mail.Event{Erased: &mail.Erasure{Message: sent.ID, By: mail.User}})
					f.must("erase", err)
				},
				func() {
					_, err := f.posts[2].As(mail.User).Mark(f.Context(),
						mail.Marking{IDs: []mail.ID{sent.ID}, Mark: mail.MarkRead})
					f.must("mark", err)
				})
			for _, p := range f.posts {
				f.must("finish", p.finishErasures(f.Context()))
			}
			if f.settle(); len(f.posts[0].state.Erasing) != 0 {
				f.Errorf("pending: %v", f.posts[0].state.Pending(sent.ID))
			}
		},
		"a keeper that was replaced": func(f *fleet) {
			sent, err := f.posts[0].As(mail.User).Send(f.Context(), mail.Draft{To: mail.Recipients{"user"}, Body: "x"})
			f.must("send", err)
			at := f.posts[0].state.UpkeepAt
			f.race(
				func() {
					_, err := f.posts[1].commit(f.Context(),
						mail.Event{Machine: &mail.MachineChange{Name: "m1", Upkeep: true, After: at}})
					f.must("upkeep", err)
				},
				func() {
					_, err := f.posts[2].commit(f.Context(),
						mail.Event{Machine: &mail.MachineChange{Name: "m2", Upkeep: true, After: at}})
					f.must("upkeep", err)
				},
				func() { // the old one trims, not knowing it
					f.must("trim", f.posts[0].letGo(f.Context(), []mail.ID{sent.ID}, f.posts[0].now(), 1<<60, false))
				})
			if _, keeper := f.posts[0].Machines(); keeper != "m1" {
				f.Errorf("the keeper is %q, want m1", keeper)
			}
			if f.posts[2].state.Records[sent.ID] == nil {
				f.Error("what the old keeper let go of has gone")
			}
		},
		"the person asks while the keeper trims": func(f *fleet) {
			sent, err := f.posts[0].As(mail.User).Send(f.Context(), mail.Draft{To: mail.Recipients{"user"}, Body: "x"})
			f.must("send", err)
			f.race(
				func() {
					_, err := f.posts[1].As(mail.User).Mark(f.Context(),
						mail.Marking{IDs: []mail.ID{sent.ID}, Mark: mail.MarkSnoozed,
							Until: f.posts[1].now().Add(time.Hour)})
					f.must("snooze", err)
				},
				func() {
					f.must("trim", f.posts[0].letGo(f.Context(), []mail.ID{sent.ID}, f.posts[0].now(), 1<<60, false))
				})
			if f.posts[2].state.Records[sent.ID] == nil {
				f.Error("what was put off has gone to the archive")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 3, Options{Limits: policy.Limits{Children: 2}}, test)
		})
	}
}
