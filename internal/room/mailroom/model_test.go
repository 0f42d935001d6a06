package mailroom

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"slices"
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
	world  *world
	name   mail.RoomName
	agents []*naiveAgent
	msgs   []*naiveMsg
	turn   map[string]mail.Name

	store *journaltest.Store
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
	tracked  bool // how it is settled in one room, it is in all
	closed   mail.Outcome
	archived bool
}

// agent returns who bears or bore a name, nil if nobody did.
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

// back notes that an agent has acted: it is back if it was gone.
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

// held reports whether m is role mail that still waits for somebody to read it.
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

// message draws a message that want takes.
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
		n := &naive{world: w, name: name, turn: map[string]mail.Name{}, store: &journaltest.Store{}}
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

// copies yields a message as it is in each room.
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

// atLeast sets a flag that nobody has set, until done: rapid's defaults are for models of a few actions.
func atLeast(t *testing.T, name, value string) (done func()) {
	f := flag.Lookup(name)
	if f.Value.String() != f.DefValue {
		return func() {}
	}
	if err := flag.Set(name, value); err != nil {
		t.Fatal(err)
	}
	return func() { _ = flag.Set(name, f.DefValue) }
}

func modelRegister(t *rapid.T, n *naive) {
	a := rapid.SampledFrom(n.agents).Draw(t, "agent")
	roles := rapid.SliceOfDistinct(rapid.SampledFrom([]string{"builder", "scout"}), rapid.ID).Draw(t, "roles")
	p := mail.Presence{Name: a.name(), Roles: roles,
		Tags:  rapid.SliceOfDistinct(rapid.Just("project:x"), rapid.ID).Draw(t, "tags"),
		State: rapid.SampledFrom([]mail.State{mail.Working, mail.Idle, mail.Gone}).Draw(t, "state")}
	a.registered, a.roles, a.tags, a.state = true, p.Roles, p.Tags, p.State
	_, err := n.user().Register(t.Context(), p)
	must(t, err)
	n.settle(a)
}

func modelRetire(t *rapid.T, n *naive) {
	a := n.registered(t)
	must(t, n.user().Retire(t.Context(), a.name()))
	a.registered, a.state = false, mail.Gone
	n.settle(a)
}

func modelRename(t *rapid.T, n *naive) {
	a := n.registered(t)
	to := mail.Name(rapid.StringMatching("[a-z]{6}").Draw(t, "name"))
	if n.agent(to) != nil {
		t.Skip("the name is taken")
	}
	_, err := n.user().Rename(t.Context(), a.name(), to)
	must(t, err)
	a.names = append(a.names, to)
}

// targets are what mail can be sent to in a room.
func (n *naive) targets() []string {
	out := slices.Clone(modelGroups)
	for _, a := range n.agents {
		for _, name := range a.names {
			if a.registered {
				out = append(out, string(name))
			}
		}
	}
	return out
}

func modelSend(t *rapid.T, n *naive) {
	var targets []string
	for _, o := range n.world.rooms {
		for _, to := range o.targets() {
			targets = append(targets, to+"@"+string(o.name))
		}
	}
	var from *naiveAgent
	as := mail.User
	if rapid.Bool().Draw(t, "from an agent") {
		from = n.registered(t)
		as = rapid.SampledFrom(from.names).Draw(t, "under the name")
	}
	d := mail.Draft{Body: "x", Key: rapid.StringMatching("k[0-9]{8}").Draw(t, "key")}
	asks := rapid.Bool().Draw(t, "asks")
	if asks {
		d.Type = string(mail.Question)
	}
	to := make(map[*naive][]string)
	for _, target := range rapid.SliceOfNDistinct(rapid.SampledFrom(targets), 1, 4, rapid.ID).Draw(t, "to") {
		name, room := splitTarget(target)
		o := n.world.room(room)
		to[o] = append(to[o], name)
		if name == "builder" || name == "scout" {
			target = "role:" + target
		}
		d.To = append(d.To, target)
	}
	tracked := asks && from != nil
	if len(to[n]) > 0 || tracked {
		n.back(from) // it is back by this act
	}
	sent, err := n.room.As(as).Send(t.Context(), d)
	must(t, err)
	for _, o := range n.world.rooms {
		if len(to[o]) == 0 && !(o == n && tracked) {
			continue
		}
		m := &naiveMsg{id: sent.ID, draft: d, from: from, to: to[o], sent: n.world.now, asks: asks, tracked: tracked,
			holder: map[string]*naiveAgent{}, read: map[*naiveAgent]bool{}}
		if o != n {
			m.came = n
		}
		for _, name := range m.to {
			if name == "builder" || name == "scout" {
				o.give(m, name)
			}
		}
		o.msgs = append(o.msgs, m)
	}
}

func splitTarget(target string) (name string, room mail.RoomName) {
	i := len(target) - len("@yard")
	if target[i] != '@' {
		i++
	}
	return target[:i], mail.RoomName(target[i+1:])
}

// mayForget reports whether a key of so old a message may be known no more.
func (n *naive) mayForget(m *naiveMsg) bool {
	return slices.ContainsFunc(n.world.copies(m.id), func(o *naiveMsg) bool {
		return o.archived && n.world.now.Sub(o.sent) > keyLife
	})
}

func modelSendAgain(t *rapid.T, n *naive) {
	m := n.message(t, func(m *naiveMsg) bool { return m.came == nil && m.draft.Key != "" && !n.mayForget(m) })
	from := mail.User
	if m.from != nil {
		from = rapid.SampledFrom(m.from.names).Draw(t, "under the name")
	}
	if !n.reachable(m) {
		t.Skip("somebody that it was for is not on the roster")
	}
	sent, err := n.room.As(from).Send(t.Context(), m.draft)
	must(t, err)
	if !sent.Duplicate || sent.ID != m.id {
		t.Fatalf("%s sent again is %s", m.id, sent.ID)
	}
}

// reachable reports whether all addresses of a draft in other rooms resolve: they are sent to again.
func (n *naive) reachable(m *naiveMsg) bool {
	return !slices.ContainsFunc(m.draft.To, func(target string) bool {
		name, room := splitTarget(target)
		o := n.world.room(room)
		a := o.agent(mail.Name(name))
		return a != nil && !a.registered
	})
}

func modelLoseRace(t *rapid.T, n *naive) { // as another post office on the same journal can
	m := n.message(t, func(m *naiveMsg) bool { return m.came == nil && m.draft.Key != "" && !n.mayForget(m) })
	from := mail.ToUser
	if m.from != nil {
		from = mail.AgentAddress(rapid.SampledFrom(m.from.names).Draw(t, "under the name"))
	}
	_, err := n.room.commit(t.Context(), mail.Event{At: mail.TimeOf(n.world.now), Message: &mail.Message{ID: newID(),
		From: from, To: []mail.Address{mail.ToAll}, Type: mail.Custom, Body: "x", Key: m.draft.Key}})
	must(t, err)
}

func modelRead(t *rapid.T, n *naive) {
	a := n.registered(t)
	ids := n.unread(a)
	if len(ids) == 0 || a.state == mail.Gone {
		t.Skip("nothing to read")
	}
	id := rapid.SampledFrom(ids).Draw(t, "message")
	for _, m := range n.msgs {
		m.read[a] = m.read[a] || m.id == id
	}
	_, err := n.room.As(a.name()).Mark(t.Context(), mail.Marking{IDs: []mail.ID{id}, Mark: mail.MarkRead})
	must(t, err)
}

func modelPresent(t *rapid.T, n *naive) {
	a := n.registered(t)
	if len(n.unread(a)) == 0 || a.state == mail.Gone {
		t.Skip("nothing to present")
	}
	_, err := n.room.As(a.name()).Mark(t.Context(), mail.Marking{All: true, Mark: mail.MarkPresented, Door: "mcp"})
	must(t, err)
}

// modelMarkArchived marks mail that is in the archive, which changes no mailbox.
func modelMarkArchived(t *rapid.T, n *naive) {
	a := n.registered(t)
	m := n.message(t, func(m *naiveMsg) bool {
		return m.archived && slices.ContainsFunc(m.to, func(to string) bool {
			return slices.Contains(a.names, mail.Name(to))
		})
	})
	if a.state == mail.Gone {
		t.Skip("nobody to mark it")
	}
	_, err := n.room.As(a.name()).Mark(t.Context(), mail.Marking{IDs: []mail.ID{m.id}, Mark: mail.MarkRead})
	must(t, err)
}

func modelSettle(t *rapid.T, n *naive) {
	m := n.message(t, func(m *naiveMsg) bool { return m.asks && !m.archived })
	as := rapid.SampledFrom([]mail.Outcome{mail.Answered, mail.Declined, mail.Withdrawn}).Draw(t, "as")
	n.world.away = rapid.Bool().Draw(t, "while no room reaches another")
	defer func() { n.world.away = false }()
	if as == mail.Withdrawn {
		err := n.user().Withdraw(t.Context(), m.id)
		if late := m.closed != "" && m.closed != as; late != (mail.CodeOf(err) == mail.Conflict) {
			t.Fatalf("Withdraw of what was %q: %v", m.closed, err)
		}
		n.world.close(m, as)
		if m.closed == as { // what is withdrawn again is told again
			n.world.retell(m)
		}
		return
	}
	d := mail.Draft{To: mail.Recipients{"user"}, Type: "answer", Body: "y", ReplyTo: m.id}
	if as == mail.Declined {
		d.Metadata = mail.Metadata(`{"declined":true}`)
	}
	_, err := n.user().Send(t.Context(), d)
	must(t, err)
	n.world.close(m, as)
}

// retell settles in the other rooms what is settled in one.
func (w *world) retell(m *naiveMsg) {
	if !m.tracked || w.away {
		return
	}
	for _, o := range w.copies(m.id) {
		if o.closed == "" {
			o.closed = m.closed
		}
	}
}

// modelAnswerAcross answers a question where it went, by mail to whoever asked in another room.
func modelAnswerAcross(t *rapid.T, n *naive) {
	m := n.message(t, func(m *naiveMsg) bool {
		return m.asks && !m.archived && m.came != nil && m.from != nil && m.from.registered
	})
	a := n.registered(t)
	home := m.came
	to := string(m.from.name())
	sent, err := n.room.As(a.name()).Send(t.Context(), mail.Draft{To: mail.Recipients{to + "@" + string(home.name)},
		Body: "z", Type: "answer", ReplyTo: m.id})
	must(t, err)
	home.msgs = append(home.msgs, &naiveMsg{id: sent.ID, from: a, came: n, to: []string{to}, sent: n.world.now,
		holder: map[string]*naiveAgent{}, read: map[*naiveAgent]bool{}})
	for _, o := range home.msgs {
		if o.id == m.id {
			n.world.close(o, mail.Answered)
		}
	}
	n.world.close(m, mail.Answered)
}

func modelEraseAnswer(t *rapid.T, n *naive) {
	for _, m := range n.msgs {
		it, err := n.user().Message(t.Context(), m.id)
		must(t, err)
		if it.Settled == nil || it.Settled.Answer == "" {
			continue
		}
		if err := n.user().Erase(t.Context(), it.Settled.Answer); mail.CodeOf(err) != mail.NotFound {
			must(t, err)
		}
		n.msgs = slices.DeleteFunc(n.msgs, func(o *naiveMsg) bool { return o.id == it.Settled.Answer })
		n.forgetTurns()
		return
	}
	t.Skip("nothing was answered")
}

func modelAskAround(t *rapid.T, n *naive) {
	n.room.askAround(t.Context())
	for _, m := range n.msgs {
		for _, o := range n.world.copies(m.id) {
			if m.asks && m.tracked && m.closed == "" && o.closed != "" {
				m.closed = o.closed
			}
		}
	}
}

// modelArchive runs retention. What goes is asked of the room, and must be what may go.
func modelArchive(t *rapid.T, n *naive) {
	_, err := n.user().Archive(t.Context())
	must(t, err)
	for _, m := range n.msgs {
		gone := n.room.state.records[m.id] == nil
		if m.archived && !gone || gone && !m.archived && (m.asks && m.closed == "" || m.held()) {
			t.Fatalf("%s, closed %q, is hot: %v", m.id, m.closed, !gone)
		}
		m.archived = gone
	}
	n.forgetTurns()
}

// forgetTurns forgets whose turn it was in roles that nobody has.
func (n *naive) forgetTurns() {
	maps.DeleteFunc(n.turn, func(role string, _ mail.Name) bool {
		return !slices.ContainsFunc(n.agents, func(a *naiveAgent) bool {
			return a.registered && slices.Contains(a.roles, role)
		})
	})
}

func modelReopen(t *rapid.T, n *naive) {
	now := mail.TimeOf(n.world.now)
	live := dump(n.room.state, now)
	must(t, n.room.Close())
	n.open(t)
	if diff := cmp.Diff(live, dump(n.room.state, now)); diff != "" {
		t.Fatalf("room %s opened again differs (-live +opened again):\n%s", n.name, diff)
	}
}

// check compares what a room says with what it should.
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
