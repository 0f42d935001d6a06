package mailroom

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
	"pennypost/internal/room/journal/journaltest"
)

// naive is a mailbox as one would write it down in an hour: lists, loops, nothing remembered that can be found out.
type naive struct {
	now    time.Time
	agents []*naiveAgent
	msgs   []*naiveMsg
	turn   map[string]mail.Name
}

type naiveAgent struct {
	names       []mail.Name // the present one last
	roles, tags []string
	state       mail.State
	registered  bool
}

func (a *naiveAgent) name() mail.Name { return a.names[len(a.names)-1] }

type naiveMsg struct {
	id     mail.ID
	draft  mail.Draft
	from   *naiveAgent
	to     []string
	sent   time.Time
	holder map[string]*naiveAgent
	read   map[*naiveAgent]bool
	asks   bool
	closed mail.Outcome
}

// agent returns who bears or bore a name, nil if nobody did.
func (n *naive) agent(name mail.Name) *naiveAgent {
	i := slices.IndexFunc(n.agents, func(a *naiveAgent) bool { return slices.Contains(a.names, name) })
	if i < 0 {
		return nil
	}
	return n.agents[i]
}

func (n *naive) give(m *naiveMsg, role string) {
	var names []mail.Name
	for _, a := range n.agents {
		if a.registered && a.state.Live() && a != m.from && slices.Contains(a.roles, role) {
			names = append(names, a.name())
		}
	}
	slices.Sort(names)
	m.holder[role] = nil
	if name := policy.Next(names, n.turn[role]); name != "" {
		n.turn[role] = name
		m.holder[role] = n.agent(name)
	}
}

// settle moves role mail after a has changed.
func (n *naive) settle(a *naiveAgent) {
	for _, m := range n.msgs {
		for _, to := range m.to {
			if m.holder[to] == a && a != nil && !m.read[a] &&
				(!a.registered || a.state == mail.Gone || !slices.Contains(a.roles, to)) {
				n.give(m, to)
			}
		}
	}
	if !a.registered || !a.state.Live() {
		return
	}
	for _, role := range a.roles {
		for _, m := range n.msgs {
			if slices.Contains(m.to, role) && m.holder[role] == nil {
				n.give(m, role)
			}
		}
	}
}

func (n *naive) unread(a *naiveAgent) []mail.ID {
	out := []mail.ID{}
	for _, m := range n.msgs {
		age := n.now.Sub(m.sent)
		reached := slices.ContainsFunc(m.to, func(to string) bool {
			switch {
			case to == "all":
				return a.registered && a != m.from && age < 4*time.Hour
			case to == "project:x":
				return a.registered && a != m.from && slices.Contains(a.tags, to) && age < 24*time.Hour
			case to == "builder" || to == "scout":
				return m.holder[to] == a
			}
			return slices.Contains(a.names, mail.Name(to)) && age < 7*24*time.Hour
		})
		if reached && !m.read[a] {
			out = append(out, m.id)
		}
	}
	return out
}

// TestModel drives a room with random commands, closing and trimming it in between, and compares every mailbox with
// the naive one after each.
func TestModel(t *testing.T) {
	groups := []string{"all", "project:x", "builder", "scout"}
	rapid.Check(t, func(t *rapid.T) {
		n := &naive{now: time.UnixMilli(1_000_000_000_000), turn: map[string]mail.Name{}}
		for _, name := range []mail.Name{"a", "b", "c"} {
			n.agents = append(n.agents, &naiveAgent{names: []mail.Name{name}})
		}
		store := &journaltest.Store{}
		opts := Options{Now: func() time.Time {
			return n.now
		}, Retention: policy.Retention{Age: -1, Count: -1}, Limits: policy.Limits{RepeatWindow: -1, Exchanges: -1,
			PerMinute: -1, Depth: -1}}
		ctx := context.Background()
		room, err := Open(ctx, "lab", store.Open(), opts)
		must(t, err)
		defer func() { must(t, room.Close()) }()
		user := room.As(mail.User)
		known := func() *naiveAgent {
			var in []*naiveAgent
			for _, a := range n.agents {
				if a.registered {
					in = append(in, a)
				}
			}
			if len(in) == 0 {
				t.Skip("nobody is registered")
			}
			return rapid.SampledFrom(in).Draw(t, "agent")
		}
		t.Repeat(map[string]func(*rapid.T){
			"register": func(t *rapid.T) {
				a := rapid.SampledFrom(n.agents).Draw(t, "agent")
				p := mail.Presence{Name: a.name(),
					Roles: rapid.SliceOfDistinct(rapid.SampledFrom([]string{"builder", "scout"}), rapid.ID).Draw(t,
						"roles"),
					Tags:  rapid.SliceOfDistinct(rapid.Just("project:x"), rapid.ID).Draw(t, "tags"),
					State: rapid.SampledFrom([]mail.State{mail.Working, mail.Idle, mail.Gone}).Draw(t, "state")}
				a.registered, a.roles, a.tags, a.state = true, p.Roles, p.Tags, p.State
				_, err := user.Register(ctx, p)
				must(t, err)
				n.settle(a)
			},
			"retire": func(t *rapid.T) {
				a := known()
				must(t, user.Retire(ctx, a.name()))
				a.registered, a.state = false, mail.Gone
				n.settle(a)
			},
			"send": func(t *rapid.T) {
				m := &naiveMsg{sent: n.now, holder: map[string]*naiveAgent{}, read: map[*naiveAgent]bool{}}
				from := mail.User
				if rapid.Bool().Draw(t, "from an agent") {
					m.from = known()
					from = rapid.SampledFrom(m.from.names).Draw(t, "under the name")
				}
				targets := slices.Clone(groups)
				for _, a := range n.agents {
					for _, name := range a.names {
						targets = append(targets, string(name))
					}
				}
				m.to = rapid.SliceOfNDistinct(rapid.SampledFrom(targets), 1, 4, rapid.ID).Draw(t, "to")
				m.to = slices.DeleteFunc(m.to, func(to string) bool {
					a := n.agent(mail.Name(to))
					return a != nil && !a.registered
				})
				if len(m.to) == 0 {
					t.Skip("nobody to send to")
				}
				if m.from != nil && m.from.state == mail.Gone { // it is back by this act
					m.from.state = mail.Idle
					n.settle(m.from)
				}
				d := mail.Draft{Body: "x", Key: rapid.StringMatching("k[0-9]{8}").Draw(t, "key")}
				if m.asks = rapid.Bool().Draw(t, "asks"); m.asks {
					d.Type = "question"
				}
				for _, to := range m.to {
					if to == "builder" || to == "scout" {
						n.give(m, to)
						to = "role:" + to
					}
					d.To = append(d.To, to)
				}
				sent, err := room.As(from).Send(ctx, d)
				must(t, err)
				m.id, m.draft = sent.ID, d
				n.msgs = append(n.msgs, m)
			},
			"read": func(t *rapid.T) {
				a := known()
				ids := n.unread(a)
				if len(ids) == 0 || a.state == mail.Gone {
					t.Skip("nothing to read")
				}
				id := rapid.SampledFrom(ids).Draw(t, "message")
				for _, m := range n.msgs {
					m.read[a] = m.read[a] || m.id == id
				}
				_, err := room.As(a.name()).Mark(ctx, mail.Marking{IDs: []mail.ID{id}, Mark: mail.MarkRead})
				must(t, err)
			},
			"present": func(t *rapid.T) {
				a := known()
				if len(n.unread(a)) == 0 || a.state == mail.Gone {
					t.Skip("nothing to present")
				}
				_, err := room.As(a.name()).Mark(ctx, mail.Marking{All: true, Mark: mail.MarkPresented, Door: "mcp"})
				must(t, err)
			},
			"rename": func(t *rapid.T) {
				a := known()
				to := mail.Name(rapid.StringMatching("[a-z]{6}").Draw(t, "name"))
				if n.agent(to) != nil {
					t.Skip("the name is taken")
				}
				_, err := user.Rename(ctx, a.name(), to)
				must(t, err)
				a.names = append(a.names, to)
			},
			"send again": func(t *rapid.T) {
				if len(n.msgs) == 0 {
					t.Skip("nothing was sent")
				}
				m := rapid.SampledFrom(n.msgs).Draw(t, "message")
				from := mail.User
				if m.from != nil {
					from = rapid.SampledFrom(m.from.names).Draw(t, "under the name")
				}
				sent, err := room.As(from).Send(ctx, m.draft)
				must(t, err)
				if !sent.Duplicate || sent.ID != m.id {
					t.Fatalf("%s sent again is %s", m.id, sent.ID)
				}
			},
			"lose a race": func(t *rapid.T) { // as another post office on the same journal can
				if len(n.msgs) == 0 {
					t.Skip("nothing was sent")
				}
				m := rapid.SampledFrom(n.msgs).Draw(t, "message")
				from := mail.ToUser
				if m.from != nil {
					from = mail.AgentAddress(rapid.SampledFrom(m.from.names).Draw(t, "under the name"))
				}
				_, err := room.commit(ctx, mail.Event{At: mail.TimeOf(n.now), Message: &mail.Message{ID: newID(),
					From: from, To: []mail.Address{mail.ToAll}, Type: mail.Custom, Body: "x", Key: m.draft.Key}})
				must(t, err)
			},
			"settle": func(t *rapid.T) {
				asked := slices.DeleteFunc(slices.Clone(n.msgs), func(m *naiveMsg) bool { return !m.asks })
				if len(asked) == 0 {
					t.Skip("nothing was asked")
				}
				m := rapid.SampledFrom(asked).Draw(t, "question")
				as := rapid.SampledFrom([]mail.Outcome{mail.Answered, mail.Declined,
					mail.Withdrawn}).Draw(t, "as")
				if as == mail.Withdrawn {
					err := user.Withdraw(ctx, m.id)
					if late := m.closed != "" && m.closed != as; late != (mail.CodeOf(err) == mail.Conflict) {
						t.Fatalf("Withdraw of what was %q: %v", m.closed, err)
					}
				} else {
					d := mail.Draft{To: mail.Recipients{"user"}, Type: "answer", Body: "y", ReplyTo: m.id}
					if as == mail.Declined {
						d.Metadata = mail.Metadata(`{"declined":true}`)
					}
					_, err := user.Send(ctx, d)
					must(t, err)
				}
				if m.closed == "" {
					m.closed = as
				}
			},
			"erase an answer": func(t *rapid.T) {
				for _, m := range n.msgs {
					it, err := user.Message(ctx, m.id)
					must(t, err)
					if it.Settled != nil && it.Settled.Answer != "" {
						if err := user.Erase(ctx, it.Settled.Answer); mail.CodeOf(err) != mail.NotFound {
							must(t, err)
						}
						return
					}
				}
				t.Skip("nothing was answered")
			},
			"pass time": func(t *rapid.T) {
				n.now = n.now.Add(time.Duration(rapid.IntRange(1, 3000).Draw(t, "minutes")) * time.Minute)
			},
			"archive": func(t *rapid.T) {
				_, err := user.Archive(ctx)
				must(t, err)
				maps.DeleteFunc(n.turn, func(role string, _ mail.Name) bool { // nobody has it
					return !slices.ContainsFunc(n.agents, func(a *naiveAgent) bool {
						return a.registered && slices.Contains(a.roles, role)
					})
				})
			},
			"reopen": func(t *rapid.T) {
				must(t, room.Close())
				room, err = Open(ctx, "lab", store.Open(), opts)
				must(t, err)
				user = room.As(mail.User)
			},
			"": func(t *rapid.T) {
				p, err := user.History(ctx, mail.HistoryQuery{Open: true, Limit: mail.MaxLimit})
				must(t, err)
				want := []mail.ID{}
				for _, m := range n.msgs {
					if m.asks && m.closed == "" {
						want = append(want, m.id)
					}
				}
				got := []mail.ID{}
				for _, it := range p.Messages {
					got = append(got, it.ID)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("open (-naive +room):\n%s", diff)
				}
				for _, m := range n.msgs {
					it, err := user.Message(ctx, m.id)
					must(t, err)
					if m.closed != "" && (it.Settled == nil || it.Settled.As != m.closed) {
						t.Fatalf("%s is settled %+v, want %s", m.id, it.Settled, m.closed)
					}
				}
				for _, a := range n.agents {
					if !a.registered {
						continue
					}
					p, err := user.Inbox(ctx, mail.InboxQuery{Agent: a.name(), Limit: mail.MaxLimit})
					must(t, err)
					got := []mail.ID{}
					for _, it := range p.Messages {
						got = append(got, it.ID)
					}
					if diff := cmp.Diff(n.unread(a), got); diff != "" {
						t.Fatalf("unread of %s (-naive +room):\n%s", a.name(), diff)
					}
				}
			},
		})
	})
}

func must(t *rapid.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestP6_OneTaker lets holders come, go and read while role mail is sent. Every message must end up read by exactly
// one.
func TestP6_OneTaker(t *testing.T) {
	room, _ := openRoom(t, "lab", Options{})
	ctx := t.Context()
	const agents, mails = 4, 200
	var mu sync.Mutex
	readers := map[mail.ID][]mail.Name{}
	var work sync.WaitGroup
	sending := make(chan struct{})
	for i := range agents {
		name := mail.Name(fmt.Sprintf("b%d", i))
		work.Go(func() {
			v := room.As(name)
			for round := 0; ; round++ {
				state := mail.Idle
				if round%7 == i {
					state = mail.Gone // its mail goes to the others
				}
				if _, err := v.Register(ctx, mail.Presence{Roles: []string{"builder"}, State: state}); err != nil {
					t.Error(err)
					return
				}
				page, err := v.Inbox(ctx, mail.InboxQuery{Limit: 5})
				if err != nil {
					t.Error(err)
					return
				}
				for _, it := range page.Messages {
					got, err := v.Mark(ctx, mail.Marking{IDs: []mail.ID{it.ID}, Mark: mail.MarkRead})
					if err != nil && mail.CodeOf(err) != mail.Denied {
						t.Error(err)
					}
					mu.Lock()
					for _, id := range got.Marked {
						readers[id] = append(readers[id], name)
					}
					mu.Unlock()
				}
				select {
				case <-sending:
					mu.Lock()
					done := len(readers) == mails
					mu.Unlock()
					if done {
						return
					}
				default:
				}
			}
		})
	}
	for i := range mails {
		if _, err := room.As(mail.User).Send(ctx, mail.Draft{To: mail.Recipients{"role:builder"},
			Body: fmt.Sprint(i)}); err != nil {
			t.Error(err)
		}
	}
	close(sending)
	work.Wait()
	for id, names := range readers {
		if len(names) != 1 {
			t.Errorf("%s was read by %v, want one", id, names)
		}
	}
}

// TestP2_ConcurrentSenders sends from many goroutines, some with the same idempotency key.
func TestP2_ConcurrentSenders(t *testing.T) {
	room, _ := openRoom(t, "lab", Options{})
	ctx := t.Context()
	if _, err := room.As(mail.User).Register(ctx, mail.Presence{Name: "ann"}); err != nil {
		t.Fatal(err)
	}
	const senders, each = 16, 50
	var wg sync.WaitGroup
	var mu sync.Mutex
	acknowledged := map[mail.ID]int{}
	for i := range senders {
		wg.Go(func() {
			v := room.As(mail.Name(fmt.Sprintf("s%d", i%4)))
			for k := range each {
				sent, err := v.Send(ctx, mail.Draft{To: mail.Recipients{"ann"}, Body: "same",
					Key: fmt.Sprint("key ", k)})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				acknowledged[sent.ID]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(acknowledged) != 4*each {
		t.Errorf("%d messages were acknowledged, want %d: one for each sender and key", len(acknowledged), 4*each)
	}
	page, err := room.As("ann").Inbox(ctx, mail.InboxQuery{Limit: mail.MaxLimit})
	if err != nil || page.Unread != len(acknowledged) {
		t.Errorf("ann has %d, %v; want %d", page.Unread, err, len(acknowledged))
	}
	for _, it := range page.Messages {
		if acknowledged[it.ID] == 0 {
			t.Errorf("%s was never acknowledged", it.ID)
		}
	}
}

// TestP2_SameKeyAtOnce holds that of sends with one key at the same time only one stands in the journal, where tail
// and jq would show what the room ignores.
func TestP2_SameKeyAtOnce(t *testing.T) {
	room, _ := openRoom(t, "lab", Options{})
	ctx := t.Context()
	const keys, each = 150, 32
	for k := range keys {
		var ready, all sync.WaitGroup
		ready.Add(each)
		for i := range each {
			all.Go(func() {
				ready.Done()
				ready.Wait()
				ctx, leave := context.WithCancel(ctx)
				if i > 0 { // all but one leave before they have their answer
					time.AfterFunc(time.Duration(rand.IntN(200))*time.Microsecond, leave)
				}
				defer leave()
				_, err := room.As("ann").Send(ctx, mail.Draft{To: mail.Recipients{"user"}, Body: "same",
					Key: fmt.Sprint("key ", k)})
				if err != nil && ctx.Err() == nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
	st, err := room.As(mail.User).Status(ctx)
	if err != nil {
		t.Fatal(err)
	}
	w := room.journal.Follow(0)
	defer w.Close()
	messages := 0
	for seq := mail.Seq(0); seq < st.Seq; {
		events, err := w.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if seq = e.Seq; e.Message != nil {
				messages++
			}
		}
	}
	if messages != keys {
		t.Errorf("the journal has %d messages of %d keys", messages, keys)
	}
}
