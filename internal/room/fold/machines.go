package fold

import (
	"cmp"
	"maps"
	"slices"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// Shared reports whether the room is, or was, shared by several machines.
func (s *State) Shared() bool { return len(s.Machines) > 0 }

func (s *State) applyMachine(c *mail.MachineChange) (counted bool) {
	i, known := slices.BinarySearch(s.Machines, c.Name)
	switch {
	case c.Upkeep:
		if c.After != s.UpkeepAt || c.Name != "" && !known {
			return false
		}
		s.Upkeep, s.UpkeepAt = c.Name, s.Seq
	case c.Follows && !known:
		if !s.Shared() {
			s.adoptAll(c.Name)
		}
		s.Machines = slices.Insert(s.Machines, i, c.Name)
	case c.Left && known:
		s.Machines = slices.Delete(s.Machines, i, i+1)
		if s.Upkeep == c.Name {
			s.Upkeep, s.UpkeepAt = "", s.Seq
		}
		delete(s.Doors, c.Name)
		delete(s.Rules, c.Name)
		s.erasedSomewhere()
	case c.Rules > 0 && known:
		s.Rules[c.Name] = c.Rules
	case c.Doors != nil:
		s.setDoors(c)
	case c.Follows, c.Left:
		return false
	}
	return true
}

// allRules returns the content of s.Rules, by machine.
func (s *State) allRules() (out []mail.MachineRules) {
	for _, m := range slices.Sorted(maps.Keys(s.Rules)) {
		out = append(out, mail.MachineRules{Machine: m, Rules: s.Rules[m]})
	}
	return out
}

// adoptAll gives to the first machine everything that belonged to the room's only machine, when it was in a file.
func (s *State) adoptAll(first mail.Machine) {
	for i := range s.Bridges {
		s.Bridges[i].Machine = cmp.Or(s.Bridges[i].Machine, first)
	}
	for i := range s.Workspaces {
		s.Workspaces[i].Machine = cmp.Or(s.Workspaces[i].Machine, first)
	}
	for _, m := range s.Listed {
		if m.Session != "" || m.Left != "" {
			m.Machine, m.Heard = cmp.Or(m.Machine, first), s.Seq
		}
	}
}

// Erasure is one that is not done everywhere.
type Erasure struct {
	By   mail.Name
	At   mail.Seq       // where it was requested
	done []mail.Machine // those that have said so
}

// Pending returns the machines that still have to erase a message, all of them by name.
func (s *State) Pending(id mail.ID) []mail.Machine {
	e, asked := s.Erasing[id]
	if !asked {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(s.Machines), func(m mail.Machine) bool {
		return slices.Contains(e.done, m)
	})
}

// erasedEverywhere forgets an erasure that is done on all machines. Before the checkpoint of a compacted journal it
// is not known which these are.
func (s *State) erasedEverywhere(id mail.ID) {
	if s.Shared() && len(s.Pending(id)) == 0 {
		delete(s.Erasing, id)
	}
}

// erasedSomewhere checks again which erasures are done, now that other machines follow the room.
func (s *State) erasedSomewhere() {
	for id := range s.Erasing {
		s.erasedEverywhere(id)
	}
}

// refuses reports whether a change of the roster cannot count, because of events between its check and its sequence
// number. Its author checks once more, and is told what has become impossible. Changes in a room in a file are never
// refused: there nothing comes between.
func (s *State) refuses(c *mail.AgentChange, at mail.Time) bool {
	if c.Machine == "" {
		return false
	}
	m := s.Agent(c.Name)
	return c.Expects == mail.ExpectNew && m != nil || c.Expects == mail.ExpectKnown && m == nil ||
		s.secondOrchestrator(m, c, at) || m == nil && s.alike(c.Name, nil) != nil ||
		c.Most > 0 && s.livingBeside(m, c, at) >= c.Most
}

// IsVoid reports whether an event did not count.
func (s *State) IsVoid(seq mail.Seq) bool { return IsAmong(s.Void, seq) }

// IsAmong reports whether an ordered list has a sequence number.
func IsAmong(list []mail.Seq, seq mail.Seq) bool {
	_, found := slices.BinarySearch(list, seq)
	return found
}

// secondOrchestrator reports whether a session would become a second orchestrator.
func (s *State) secondOrchestrator(m *Member, c *mail.AgentChange, at mail.Time) bool {
	return c.Name == mail.Orchestrator && m != nil && c.Session != "" && !c.TakeOver && (!c.Join || c.Process != "") &&
		s.SameProcess(c, at) == nil && s.InSession(c.Name, c.Session) == nil && s.HeldByOther(m, c.Session, at)
}

// livingBeside counts the live agents that Most limits: those that share the name of m, if a session finds it held,
// else those below the parent of a new agent.
func (s *State) livingBeside(m *Member, c *mail.AgentChange, at mail.Time) int {
	if m != nil {
		if c.Session == "" || s.InSession(c.Name, c.Session) != nil || !s.HeldByOther(m, c.Session, at) {
			return 0
		}
		return s.LivingAs(m, at)
	}
	parent := c.By
	if c.Parent != nil {
		parent = *c.Parent
	}
	if parent == "" {
		return 0
	}
	_, live := s.LivingBelow(parent, at)
	return live
}

// Live reports whether m's session still holds its name. For a session with a machine, that machine, or the keeper,
// says when it lapsed; machines do not judge by each other's clocks.
func (m *Member) Live(at mail.Time) bool {
	if m.Machine != "" {
		return m.Session != "" && m.State != mail.Gone
	}
	return policy.SessionLive(m.State, m.Session, m.SessionAt, at)
}

// Owes reports whether a machine still has to erase a message: it has not said that it is done, or its journal had
// the text when it reached the erasure, which others had done before it followed the room.
func (s *State) Owes(id mail.ID, me mail.Machine) bool {
	e := s.Erasing[id]
	return e != nil && (me == "" || !slices.Contains(e.done, me)) || e == nil && s.Remains[id]
}
