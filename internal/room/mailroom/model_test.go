package mailroom

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
	"pennypost/internal/room/fold/foldtest"
)

// naive is a mailbox as anyone would write it in an hour: lists and loops, nothing stored that can be computed.
type naive struct {
	world  *world
	name   mail.RoomName
	agents []*naiveAgent
	msgs   []*naiveMsg
	turn   map[string]mail.Name

	store *store
	room  *Room
}

type naiveAgent struct {
	names       []mail.Name // the present one last
	roles, tags []string
	state       mail.State
	registered  bool
}

func (a *naiveAgent) name() mail.Name { return a.names[len(a.names)-1] }

// naiveMsg is a message in one room. Its copies in other rooms have the same id.
type naiveMsg struct {
	id       mail.ID
	draft    mail.Draft
	from     *naiveAgent // nil: the user
	came     *naive      // from another room; from is an agent there
	to       []string    // in this room
	sent     time.Time
	holder   map[string]*naiveAgent
	read     map[*naiveAgent]bool
	asks     bool
	tracked  bool // settling it in one room settles it in all
	closed   mail.Outcome
	archived bool
}

// agent returns the agent that bears or bore a name, nil if none did.
func (n *naive) agent(name mail.Name) *naiveAgent {
	i := slices.IndexFunc(n.agents, func(a *naiveAgent) bool { return slices.Contains(a.names, name) })
	if i < 0 {
		return nil
	}
	return n.agents[i]
}

func (n *naive) String() string { return string(n.name) }

func (a *naiveAgent) String() string { return fmt.Sprint(a.names, a.roles, a.state) }

func (m *naiveMsg) String() string { return fmt.Sprint(m.id, " of ", m.from, " to ", m.to) }

func (n *naive) user() mail.Service { return n.room.As(mail.User) }

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
			if m.holder[to] == a && a != nil && !m.read[a] && !m.archived &&
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
			if slices.Contains(m.to, role) && m.holder[role] == nil && !m.archived {
				n.give(m, role)
			}
		}
	}
}

// back records that an agent has acted: it is back if it was gone.
func (n *naive) back(a *naiveAgent) {
	if a != nil && a.state == mail.Gone {
		a.state = mail.Idle
		n.settle(a)
	}
}

func (n *naive) unread(a *naiveAgent) []mail.ID {
	out := []mail.ID{}
	for _, m := range n.msgs {
		age := n.world.now.Sub(m.sent)
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
		if reached && !m.read[a] && !m.archived {
			out = append(out, m.id)
		}
	}
	return out
}

// held reports whether m is role mail that still waits for someone to read it.
func (m *naiveMsg) held() bool {
	return m.closed != mail.Withdrawn && slices.ContainsFunc(m.to, func(to string) bool {
		return (to == "builder" || to == "scout") && !m.read[m.holder[to]]
	})
}

// registered draws an agent on the roster.
func (n *naive) registered(t *rapid.T) *naiveAgent {
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

// message draws a message that want accepts.
func (n *naive) message(t *rapid.T, want func(m *naiveMsg) bool) *naiveMsg {
	var in []*naiveMsg
	for _, m := range n.msgs {
		if want(m) {
			in = append(in, m)
		}
	}
	if len(in) == 0 {
		t.Skip("there is no such message")
	}
	return rapid.SampledFrom(in).Draw(t, "message")
}

// world is some rooms of one post office.
type world struct {
	now   time.Time
	rooms []*naive
	away  bool // no room reaches another
}

var modelGroups = []string{"all", "project:x", "builder", "scout"}

func newWorld(t *rapid.T) *world {
	w := &world{now: time.UnixMilli(1_000_000_000_000)}
	for _, name := range []mail.RoomName{"lab", "yard"} {
		n := &naive{world: w, name: name, turn: map[string]mail.Name{}, store: newStore(t)}
		for _, a := range []mail.Name{"a", "b", "c"} {
			n.agents = append(n.agents, &naiveAgent{names: []mail.Name{a}})
		}
		w.rooms = append(w.rooms, n)
		n.open(t)
		for _, a := range n.agents[:2] {
			_, err := n.user().Register(context.Background(),
				mail.Presence{Name: a.name(), Roles: []string{"builder"}})
			must(t, err)
			a.registered, a.roles, a.state = true, []string{"builder"}, mail.Idle
		}
	}
	return w
}

func (n *naive) open(t *rapid.T) {
	var err error
	n.room, err = Open(context.Background(), n.name, n.store.Open(), Options{
		Now:       func() time.Time { return n.world.now },
		Retention: policy.Retention{Age: 60 * time.Hour, Count: 12},
		Limits:    policy.Limits{RepeatWindow: -1, Exchanges: -1, PerMinute: -1, Depth: -1},
		Elsewhere: func(_ context.Context, name mail.RoomName, use func(*Room) error) error {
			if n.world.away {
				return mail.Errorf(mail.Unavailable, "room %s cannot be opened", name)
			}
			return use(n.world.room(name).room)
		},
	})
	must(t, err)
}

func (w *world) room(name mail.RoomName) *naive {
	return w.rooms[slices.IndexFunc(w.rooms, func(n *naive) bool { return n.name == name })]
}

// copies returns a message as it is in each room.
func (w *world) copies(id mail.ID) (out []*naiveMsg) {
	for _, n := range w.rooms {
		for _, m := range n.msgs {
			if m.id == id {
				out = append(out, m)
			}
		}
	}
	return out
}

// close settles a question in a room, and in the others if they can be told.
func (w *world) close(m *naiveMsg, as mail.Outcome) {
	if m.closed != "" {
		return
	}
	m.closed = as
	if m.tracked && !w.away {
		for _, o := range w.copies(m.id) {
			if o.closed == "" {
				o.closed = as
			}
		}
	}
}

// TestModel drives two rooms with random commands, closing and trimming them in between, and compares every mailbox
// with the naive one after each, and each room with itself when it is opened again.
func TestModel(t *testing.T) {
	defer atLeast(t, "rapid.checks", "500")()
	defer atLeast(t, "rapid.steps", "60")()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		defer func() {
			for _, n := range w.rooms {
				must(t, n.room.Close())
			}
		}()
		in := func(act func(*rapid.T, *naive)) func(*rapid.T) {
			return func(t *rapid.T) { act(t, rapid.SampledFrom(w.rooms).Draw(t, "room")) }
		}
		t.Repeat(map[string]func(*rapid.T){
			"register":        in(modelRegister),
			"retire":          in(modelRetire),
			"rename":          in(modelRename),
			"send":            in(modelSend),
			"send again":      in(modelSendAgain),
			"lose a race":     in(modelLoseRace),
			"read":            in(modelRead),
			"present":         in(modelPresent),
			"mark archived":   in(modelMarkArchived),
			"settle":          in(modelSettle),
			"answer across":   in(modelAnswerAcross),
			"erase an answer": in(modelEraseAnswer),
			"ask around":      in(modelAskAround),
			"archive":         in(modelArchive),
			"reopen":          in(modelReopen),
			"pass time": func(t *rapid.T) {
				w.now = w.now.Add(time.Duration(rapid.IntRange(1, 3000).Draw(t, "minutes")) * time.Minute)
			},
			"": func(t *rapid.T) {
				for _, n := range w.rooms {
					n.check(t)
				}
			},
		})
	})
}

// atLeast sets a flag that was not set, until done: rapid's defaults are for models of a few actions.
func atLeast(t *testing.T, name, value string) (done func()) {
	f := flag.Lookup(name)
	if f.Value.String() != f.DefValue || onServers {
		return func() {}
	}
	if err := flag.Set(name, value); err != nil {
		t.Fatal(err)
	}
	return func() { _ = flag.Set(name, f.DefValue) }
}

// check compares the room's answers with the expected ones.
func (n *naive) check(t *rapid.T) {
	list := func(page mail.Page, err error) []mail.ID {
		must(t, err)
		got := []mail.ID{}
		for _, it := range page.Messages {
			got = append(got, it.ID)
		}
		return got
	}
	want := []mail.ID{}
	for _, m := range n.msgs {
		if m.asks && m.closed == "" {
			want = append(want, m.id)
		}
	}
	got := list(n.user().History(t.Context(), mail.HistoryQuery{Open: true, Limit: mail.MaxLimit}))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("open in %s (-naive +room):\n%s", n.name, diff)
	}
	for _, m := range n.msgs {
		it, err := n.user().Message(t.Context(), m.id)
		must(t, err)
		if (it.Settled == nil) != (m.closed == "") || m.closed != "" && it.Settled.As != m.closed {
			t.Fatalf("%s is settled %+v in %s, want %q", m.id, it.Settled, n.name, m.closed)
		}
	}
	if wrong := foldtest.Miscounted(n.room.state, mail.TimeOf(n.world.now)); wrong != "" {
		t.Fatalf("%s: %s", n.name, wrong)
	}
	for _, a := range n.agents {
		if !a.registered {
			continue
		}
		got := list(n.user().Inbox(t.Context(), mail.InboxQuery{Agent: a.name(), Limit: mail.MaxLimit}))
		if diff := cmp.Diff(n.unread(a), got); diff != "" {
			t.Fatalf("unread of %s in %s (-naive +room):\n%s", a.name(), n.name, diff)
		}
	}
}

func must(t *rapid.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
