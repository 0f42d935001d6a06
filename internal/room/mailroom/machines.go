package mailroom

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// A room may be open in the post offices of several machines. Each checks what it is asked against the state that it
// has, and appends; what another wrote in between, apply finds, for all of them alike. So everything that a check
// keeps apart, apply keeps apart as well. It asks for no clock: whose session lives, and who looks after the room, is
// said by places of the journal.

// shared reports whether the room is, or was, shared by several machines.
func (s *state) shared() bool { return len(s.machines) > 0 }

func (s *state) applyMachine(c *mail.MachineChange) (counted bool) {
	i, known := slices.BinarySearch(s.machines, c.Name)
	switch {
	case c.Upkeep:
		if c.After != s.upkeepAt || c.Name != "" && !known {
			return false
		}
		s.upkeep, s.upkeepAt = c.Name, s.seq
	case c.Follows && !known:
		if !s.shared() {
			s.adoptAll(c.Name)
		}
		s.machines = slices.Insert(s.machines, i, c.Name)
	case c.Left && known:
		s.machines = slices.Delete(s.machines, i, i+1)
		if s.upkeep == c.Name {
			s.upkeep, s.upkeepAt = "", s.seq
		}
		delete(s.doors, c.Name)
		delete(s.rules, c.Name)
		s.erasedSomewhere()
	case c.Rules > 0 && known:
		s.rules[c.Name] = c.Rules
	case c.Doors != nil:
		s.setDoors(c)
	case c.Follows, c.Left:
		return false
	}
	return true
}

// allRules returns what is in s.rules, by machine.
func (s *state) allRules() (out []mail.MachineRules) {
	for _, m := range slices.Sorted(maps.Keys(s.rules)) {
		out = append(out, mail.MachineRules{Machine: m, Rules: s.rules[m]})
	}
	return out
}

// adoptAll gives to the first machine what belonged to the room's only one, when it was in a file.
func (s *state) adoptAll(first mail.Machine) {
	for i := range s.bridges {
		s.bridges[i].Machine = cmp.Or(s.bridges[i].Machine, first)
	}
	for i := range s.workspaces {
		s.workspaces[i].Machine = cmp.Or(s.workspaces[i].Machine, first)
	}
	for _, m := range s.listed {
		if m.Session != "" || m.Left != "" {
			m.Machine, m.Heard = cmp.Or(m.Machine, first), s.seq
		}
	}
}

// erasure is one that is not done everywhere.
type erasure struct {
	by   mail.Name
	at   mail.Seq       // where it was asked for
	done []mail.Machine // those that have said so
}

// pending returns the machines that still have to erase a message, all of them by name.
func (s *state) pending(id mail.ID) []mail.Machine {
	e, asked := s.erasing[id]
	if !asked {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(s.machines), func(m mail.Machine) bool {
		return slices.Contains(e.done, m)
	})
}

// erasedEverywhere forgets an erasure that is done on all machines. Before the checkpoint of a compacted journal it is
// not known which these are.
func (s *state) erasedEverywhere(id mail.ID) {
	if s.shared() && len(s.pending(id)) == 0 {
		delete(s.erasing, id)
	}
}

// erasedSomewhere looks again which erasures are done, now that other machines follow the room.
func (s *state) erasedSomewhere() {
	for id := range s.erasing {
		s.erasedEverywhere(id)
	}
}

// Machines returns the machines that follow the room, by name, and the one that looks after it, "" if none does. Where
// the room is in a file there are none.
func (r *Room) Machines() (all []mail.Machine, keeper mail.Machine) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Clone(r.state.machines), r.state.upkeep
}

// Keeps reports whether this machine looks after the room: its retention, its lapsed sessions, and what the person is
// told of it. Where the room is in a file, it always does.
func (r *Room) Keeps() bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.opts.Machine == "" || r.state.upkeep == r.opts.Machine
}

// RemoveMachine says that a machine will not come back, as the person decides: it is waited for no more when something
// is erased, its sessions have ended, and another machine looks after the room. Should it come back, it follows the
// room again.
func (r *Room) RemoveMachine(ctx context.Context, name mail.Machine) error {
	events := []mail.Event{{Machine: &mail.MachineChange{Name: name, Left: true, By: mail.User}}}
	r.mu.RLock()
	_, known := slices.BinarySearch(r.state.machines, name)
	for _, m := range r.state.listed {
		if m.Machine == name && m.Session != "" {
			events = append(events, mail.Event{Agent: &mail.AgentChange{Name: m.Name, Session: m.Session,
				End: true, By: mail.User}})
		}
	}
	r.mu.RUnlock()
	switch {
	case !known:
		return mail.Errorf(mail.NotFound, "no machine called %q follows room %s; nothing was changed", name, r.name)
	case name == r.opts.Machine:
		return mail.Errorf(mail.Invalid, "%s is this machine, which has room %s open; nothing was changed", name,
			r.name)
	}
	_, err := r.commit(ctx, events...)
	return err
}

// refuses reports whether a change of the roster cannot count, because of what came between its check and its place.
// Whoever wanted it checks once more, and is told what has become impossible. What an event of a room in a file says
// is never refused: there nobody came between.
func (s *state) refuses(c *mail.AgentChange, at mail.Time) bool {
	if c.Machine == "" {
		return false
	}
	m := s.agent(c.Name)
	return c.Expects == mail.ExpectNew && m != nil || c.Expects == mail.ExpectKnown && m == nil ||
		s.secondOrchestrator(m, c, at) || m == nil && s.alike(c.Name, nil) != nil ||
		c.Most > 0 && s.livingBeside(m, c, at) >= c.Most
}

// checked notes in a change what it was checked against.
func (v *view) checked(s *state, c *mail.AgentChange, update bool) {
	if v.opts.Machine == "" || v.files || c.End {
		return
	}
	m := s.agent(c.Name)
	switch {
	case update:
		c.Expects = mail.ExpectKnown
	case m == nil && c.By != "":
		c.Expects = mail.ExpectNew
	}
	if limit := v.breaker.limits.Children; limit > 0 && !v.isUser() && (m == nil || c.Session != "") {
		c.Most = limit
	}
	if c.Session != "" || c.Expects != "" || m == nil {
		c.Machine = v.opts.Machine
	}
}

// raceTries is how often a change is checked once more because another machine's came between.
const raceTries = 10

// lost returns which of some events, the last of which has a place, did not count.
func (r *Room) lost(last mail.Seq, events []mail.Event) (out []*mail.Event) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	first := last + 1 - mail.Seq(len(events))
	for i := range events {
		if r.state.isVoid(first + mail.Seq(i)) {
			out = append(out, &events[i])
		}
	}
	return out
}

// attempt checks, with what is on the roster, a change of it and commits what comes of that, until it counts. check
// returns nothing if there is nothing to do.
func (v *view) attempt(ctx context.Context, check func() ([]mail.Event, error)) error {
	for range raceTries {
		events, err := check()
		if err != nil {
			return err
		}
		last, err := v.commit(ctx, events...)
		if err != nil {
			return err
		}
		lost := func(e *mail.Event) bool { return e.Agent != nil || e.Bridge != nil }
		if !slices.ContainsFunc(v.lost(last, events), lost) {
			return nil
		}
	}
	return mail.Errorf(mail.Unavailable, "others changed room %s each time at the same moment; nothing was changed. "+
		"Try again", v.name)
}

// isVoid reports whether an event did not count.
func (s *state) isVoid(seq mail.Seq) bool { return isAmong(s.void, seq) }

// isAmong reports whether a list in order has a place.
func isAmong(list []mail.Seq, seq mail.Seq) bool {
	_, found := slices.BinarySearch(list, seq)
	return found
}

// here reports whether m's session, or its last, is on this machine.
func (r *Room) here(m *member) bool {
	return r.opts.Machine == "" || m.Machine == "" || m.Machine == r.opts.Machine
}

// runs reports whether m's program runs. Of one on another machine that is as long as its session lives.
func (r *Room) runs(m *member, now mail.Time) bool {
	if !r.here(m) {
		return m.live(now)
	}
	return r.opts.Alive(m.Process)
}

// secondOrchestrator reports whether a session would become the orchestrator beside another.
func (s *state) secondOrchestrator(m *member, c *mail.AgentChange, at mail.Time) bool {
	return c.Name == mail.Orchestrator && m != nil && c.Session != "" && !c.TakeOver && (!c.Join || c.Process != "") &&
		s.sameProcess(c, at) == nil && s.inSession(c.Name, c.Session) == nil && s.heldByOther(m, c.Session, at)
}

// livingBeside counts the live agents that Most limits: those that share the name of m, if a session finds it held,
// else those below the parent of a new agent.
func (s *state) livingBeside(m *member, c *mail.AgentChange, at mail.Time) int {
	if m != nil {
		if c.Session == "" || s.inSession(c.Name, c.Session) != nil || !s.heldByOther(m, c.Session, at) {
			return 0
		}
		return s.livingAs(m, at)
	}
	parent := c.By
	if c.Parent != nil {
		parent = *c.Parent
	}
	if parent == "" {
		return 0
	}
	_, live := s.livingBelow(parent, at)
	return live
}

// live reports whether m's session still holds its name. Of one that has a machine it is that machine, or the keeper,
// that says when it lapsed; machines do not judge by each other's clocks.
func (m *member) live(at mail.Time) bool {
	if m.Machine != "" {
		return m.Session != "" && m.State != mail.Gone
	}
	return policy.SessionLive(m.State, m.Session, m.SessionAt, at)
}
