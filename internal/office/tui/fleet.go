package tui

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
	"pennypost/internal/mail/triage"
)

// entry is a row of Agents, Stuck or Waiting: one of agent, stuck and wait is set.
type entry struct {
	room mail.RoomName
	asOf mail.Time // when a closed room's state was recorded; 0: now

	agent *mail.Agent
	holds []mail.Holding // the agent's claims
	asks  string         // the question of the agent's client, on one line; "": none
	stuck *mail.StuckGroup
	wait  *mail.Waiting
}

// who is the agent of the row, to which a message from here goes; "": none.
func (e *entry) who() mail.Name {
	switch {
	case e.agent != nil:
		return e.agent.Name
	case e.stuck != nil:
		return mail.Name(e.stuck.For.Signer())
	}
	return e.wait.Asked
}

// since is when the row's state began.
func (e *entry) since() mail.Time {
	switch {
	case e.wait != nil:
		return e.wait.Since
	case e.stuck != nil:
		return e.stuck.Since
	case len(e.agent.Dialogs) > 0:
		return e.agent.Dialogs[0].Since
	}
	return e.agent.Since
}

// about describes the row on one line.
func (e *entry) about() string {
	switch {
	case e.wait != nil:
		return cmp.Or(e.wait.Subject, string(e.wait.Type))
	case e.agent != nil:
		return cmp.Or(e.asks, e.agent.Task, strings.Join(e.agent.Roles, ", "))
	case len(e.stuck.Claims) > 0:
		h := &e.stuck.Claims[0].Held
		text := h.Target.String() + ", held by " + string(h.Agent)
		if n := len(e.stuck.Claims) - 1; n > 0 {
			text += " (+" + itoa(n) + ")"
		}
		return text
	case len(e.stuck.Mail) > 0:
		first := headline(&e.stuck.Mail[0].Message, "")
		if e.stuck.Count > 1 {
			first += " (" + itoa(e.stuck.Count) + ")"
		}
		return first
	}
	return wording.Plural(e.stuck.Count, "message")
}

// thread is a message of the conversation that Enter opens; "": none.
func (e *entry) thread() mail.ID {
	switch {
	case e.wait != nil:
		return e.wait.Question
	case e.stuck != nil && len(e.stuck.Mail) > 0:
		return e.stuck.Mail[0].ThreadRoot()
	}
	return ""
}

func (e *entry) key() string {
	switch {
	case e.wait != nil:
		return strings.Join([]string{string(e.room), string(e.wait.Question), string(e.wait.Asked)}, "/")
	case e.stuck != nil:
		return strings.Join([]string{string(e.room), string(e.stuck.Kind), string(e.stuck.For)}, "/")
	}
	return string(e.room) + "/" + string(e.agent.Name)
}

func (e *entry) texts() []string {
	out := []string{string(e.who()), e.about(), string(e.room)}
	switch {
	case e.wait != nil:
		return append(out, string(e.wait.Asker))
	case e.stuck != nil:
		return append(out, string(e.stuck.Kind))
	}
	return append(out, string(e.agent.State), strings.Join(e.agent.Roles, " "), strings.Join(e.agent.Tags, " "))
}

func newFleet() (out [tabs - agents]pane[entry]) {
	for i := range out {
		out[i] = pane[entry]{key: (*entry).key, texts: (*entry).texts}
	}
	return out
}

// entries returns the rows of the tab, nil on a tab of mail.
func (m *model) entries() *pane[entry] {
	if m.tab < agents {
		return nil
	}
	return &m.fleet[m.tab-agents]
}

// pointed returns the row under the cursor, nil on a tab of mail.
func (m *model) pointed() *entry {
	if p := m.entries(); p != nil {
		return p.current()
	}
	return nil
}

// fleetLoaded is the result of loadFleet: agents, stuck mail and waits.
type fleetLoaded struct {
	parts         [tabs - agents][]entry
	notRead, away []mail.RoomName
	err           error
}

// loadFleet loads all rooms shown. Closed rooms stay closed, and report their last state.
func loadFleet(rooms []mail.RoomName) effect {
	return call(func(ctx context.Context, p mail.Office) message {
		fleet, err := p.Fleet(ctx, mail.FleetQuery{Rooms: rooms, Part: mail.FleetAll, Limit: mail.MaxLimit})
		if err != nil {
			return fleetLoaded{err: err}
		}
		msg := fleetLoaded{notRead: fleet.NotRead, away: fleet.Away}
		for i := range fleet.Rooms {
			for k, part := range entriesOf(&fleet.Rooms[i]) {
				msg.parts[k] = append(msg.parts[k], part...)
			}
		}
		msg.err = sayWhatIsAsked(ctx, p, msg.parts[0])
		return msg
	})
}

// entriesOf makes the rows of each tab for one room.
func entriesOf(r *mail.FleetRoom) (out [tabs - agents][]entry) {
	add := func(to tab, e entry) {
		e.room, e.asOf = r.Room, r.AsOf
		out[to-agents] = append(out[to-agents], e)
	}
	if r.Agents != nil {
		for i := range r.Agents.Agents {
			e := entry{agent: &r.Agents.Agents[i]}
			if r.Claims != nil {
				for _, h := range r.Claims.Claims {
					if h.Agent == e.agent.Name {
						e.holds = append(e.holds, h)
					}
				}
			}
			add(agents, e)
		}
	}
	if r.Stuck != nil {
		for i := range r.Stuck.Groups {
			add(stuck, entry{stuck: &r.Stuck.Groups[i]})
		}
	}
	if r.Waiting != nil {
		for i := range r.Waiting.Waiting {
			add(waits, entry{wait: &r.Waiting.Waiting[i]})
		}
	}
	return out
}

// sayWhatIsAsked adds to each asking agent the question of its oldest dialog.
func sayWhatIsAsked(ctx context.Context, p mail.Office, all []entry) error {
	if !slices.ContainsFunc(all, func(e entry) bool { return e.agent.State == mail.Asking }) {
		return nil
	}
	asked, err := p.Dialogs(ctx, mail.DialogQuery{})
	for i := range all {
		for k := range asked.Cards {
			if c := &asked.Cards[k]; all[i].asks == "" && c.Room == all[i].room && c.Agent == all[i].agent.Name {
				all[i].asks = "asks: " + triage.DialogGist(c)
			}
		}
	}
	return err
}

// states in list order: agents that wait for the person first, then working ones.
var states = []mail.State{mail.Asking, mail.Working, mail.Idle, mail.Frozen, mail.Gone}

// soon is the delay before unread rooms are loaded again.
const soon = 2 * time.Second

// readOn says that rooms not yet read may be loaded again.
type readOn struct{}

func (readOn) change(m *model) []effect {
	m.readsOn = false
	return m.lookAround()
}

// lookAround refreshes agents, stuck mail and waits.
func (m *model) lookAround() []effect {
	if m.people.begin() {
		return []effect{loadFleet(m.rooms())}
	}
	return nil
}

func (msg fleetLoaded) change(m *model) []effect {
	if m.people.end() {
		m.people = loading{running: true}
		return []effect{loadFleet(m.rooms())}
	}
	if msg.err != nil {
		if m.tab < agents {
			return nil // loading the desk reports it
		}
		return m.unseen(msg.err)
	}
	slices.SortStableFunc(msg.parts[0], func(a, b entry) int {
		return slices.Index(states, a.agent.State) - slices.Index(states, b.agent.State)
	})
	for _, part := range msg.parts[1:] {
		slices.SortStableFunc(part, func(a, b entry) int { return cmp.Compare(a.since(), b.since()) })
	}
	for i := range m.fleet {
		m.fleet[i].refresh(msg.parts[i], m.bodyRows())
	}
	m.notRead, m.closed = msg.notRead, msg.away
	if len(msg.notRead) == 0 || m.readsOn {
		return nil
	}
	m.readsOn = true
	return []effect{later{soon, readOn{}}}
}

// openEntry opens the subject of the row under the cursor; for an agent, its mail.
func (m *model) openEntry() []effect {
	e := m.pointed()
	switch {
	case e == nil:
		return nil
	case e.stuck != nil && len(e.stuck.Dialogs) > 0:
		return m.openDialog(&mail.Card{Dialog: e.stuck.Dialogs[0], Room: e.room, Agent: e.who()})
	case e.stuck != nil && len(e.stuck.Claims) > 0:
		return m.askFree(e)
	case e.agent == nil && e.thread() == "":
		return m.say("Its text is not available: c writes to " + cleanLine(string(e.who())) + ".")
	case e.agent == nil:
		m.talk = &talk{room: e.room, root: e.thread(), subject: cleanLine(e.about())}
		m.notice = ""
		return []effect{loadTalk(e.room, e.thread())}
	}
	m.filter = filter{from: e.agent.Name}
	m.tab = updates
	m.lists[updates] = newList()
	return m.reload()
}

// waitersFor returns the agents that wait for an agent in a room, directly or through others, with their distances.
func waitersFor(waits []entry, room mail.RoomName, asker mail.Name) []waiter {
	seen := map[mail.Name]bool{asker: true}
	var out []waiter
	var follow func(of mail.Name, depth int)
	follow = func(of mail.Name, depth int) {
		for i := range waits {
			if w := waits[i].wait; waits[i].room == room && w.Asked == of && !seen[w.Asker] {
				seen[w.Asker] = true
				out = append(out, waiter{w, depth})
				follow(w.Asker, depth+1)
			}
		}
	}
	follow(asker, 0)
	return out
}

// waiter is an agent that waits, with its distance from the question.
type waiter struct {
	*mail.Waiting
	depth int
}
