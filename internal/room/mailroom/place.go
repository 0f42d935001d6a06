package mailroom

import (
	"context"
	"maps"
	"slices"

	"pennypost/internal/mail"
)

// Where several machines look after a room, one of them wakes an agent: the one on which its session runs; if there is
// no session, or that machine is away, one whose configuration has a door for it. All know from the journal who has
// such doors, so all that find the same machines away choose the same one.

// place is where somebody is woken. The zero place is here.
type place struct {
	elsewhere mail.Machine // not here, but there
	away      mail.Machine // where it should have been, and is not heard of
	nowhere   bool         // no door is known anywhere: the one that keeps the room tells the person
}

// placeOf returns where m is woken; of nobody, whoever has roles under a name. local says that a door is known here.
func (s sight) placeOf(m *member, name mail.Name, roles []string, local bool) (p place) {
	if s.ways.Here == "" {
		return p
	}
	home, session := mail.Machine(""), false
	if m != nil {
		home, session = m.Machine, m.Session != ""
	}
	if home != "" && s.isAway(home) {
		p.away = home
	} else if session && home != "" {
		return s.at(p, home)
	}
	there, known := s.withDoor(home, name, roles)
	switch {
	case there != "":
		return s.at(p, there)
	case local:
		return p
	case p.away == "":
		p.away = known
	}
	p.nowhere = true
	return s.at(p, s.upkeep)
}

func (s sight) at(p place, there mail.Machine) place {
	if there != s.ways.Here {
		p.elsewhere = there
	}
	return p
}

// isAway reports whether a machine is not heard of. This one is heard of here, whatever others find.
func (s sight) isAway(m mail.Machine) bool { return m != "" && m != s.ways.Here && s.ways.Away(m) }

// withDoor returns the machine that rings the configured door of an agent, or of whoever has the roles: of those that
// have one and are not away its own, or else the one that keeps the room, or else the first by name. If all are away,
// known is the first of them.
func (s sight) withDoor(home mail.Machine, name mail.Name, roles []string) (there, known mail.Machine) {
	rank := func(m mail.Machine) int {
		switch m {
		case home:
			return 2
		case s.upkeep:
			return 1
		}
		return 0
	}
	for _, m := range slices.Sorted(maps.Keys(s.doors)) {
		if !hasDoorFor(s.doors[m], name, roles) {
			continue
		}
		if known == "" {
			known = m
		}
		if !s.isAway(m) && (there == "" || rank(m) > rank(there)) {
			there = m
		}
	}
	return there, known
}

// Tells reports whether this machine is the one that tells the person of mail: of those that can and are not away the
// one that keeps the room, or else the first by name. Where none has said that it can, each does what it can.
func (r *Room) Tells() bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	s := r.sight(r.state)
	there, able := mail.Machine(""), false
	for _, m := range slices.Sorted(maps.Keys(s.doors)) {
		if !slices.Contains(s.doors[m], mail.ToUser) {
			continue
		}
		able = true
		if !s.isAway(m) && (there == "" || m == s.upkeep) {
			there = m
		}
	}
	return s.ways.Here == "" || !able || there == s.ways.Here
}

func hasDoorFor(doors []mail.Address, name mail.Name, roles []string) bool {
	return name != "" && slices.Contains(doors, mail.AgentAddress(name)) ||
		slices.ContainsFunc(roles, func(r string) bool { return slices.Contains(doors, mail.RoleAddress(r)) })
}

// doorElsewhere reports whether another machine has a configured door for an agent, or for whoever has the roles.
func (s sight) doorElsewhere(name mail.Name, roles []string) bool {
	for m, doors := range s.doors {
		if m != s.ways.Here && hasDoorFor(doors, name, roles) {
			return true
		}
	}
	return false
}

// doorOn says in Delivery.Wake how m is woken on another machine: through the door that has last brought it to look,
// if that was a door.
func (m *member) doorOn(at mail.Machine) string {
	door := m.Door
	switch door {
	case mail.HookDoor, mail.InboxDoor, mail.WaitDoor, "mcp", "cli":
		door = ""
	}
	if m.Machine != at {
		door = ""
	}
	return mail.WakeOn(at, door)
}

// Announce has other machines know for whom this one has doors that need no session. It writes only what is new, and
// does nothing where a room is in a file.
func (r *Room) Announce(ctx context.Context, doors []mail.Address) error {
	if r.opts.Machine == "" {
		return nil
	}
	doors = append([]mail.Address{}, slices.Compact(slices.Sorted(slices.Values(doors)))...)
	r.mu.RLock()
	known := slices.Equal(r.state.doors[r.opts.Machine], doors)
	r.mu.RUnlock()
	if known {
		return nil
	}
	_, err := r.commit(ctx, mail.Event{Machine: &mail.MachineChange{Name: r.opts.Machine, Doors: doors}})
	return err
}

// Meet returns when everything is known that other machines have written until now: what this one writes has its place
// behind that.
func (r *Room) Meet(ctx context.Context) error {
	if r.opts.Machine == "" {
		return nil
	}
	_, err := r.commit(ctx, mail.Event{Machine: &mail.MachineChange{Name: r.opts.Machine}})
	return err
}

// allDoors lists for whom machines have doors, in order.
func (s *state) allDoors() (all []mail.MachineDoors) {
	for _, m := range slices.Sorted(maps.Keys(s.doors)) {
		all = append(all, mail.MachineDoors{Machine: m, For: s.doors[m]})
	}
	return all
}

func (s *state) setAllDoors(all []mail.MachineDoors) {
	clear(s.doors)
	for _, d := range all {
		s.doors[d.Machine] = d.For
	}
}

// setDoors takes in for whom a machine has doors.
func (s *state) setDoors(c *mail.MachineChange) {
	if len(c.Doors) == 0 {
		delete(s.doors, c.Name)
		return
	}
	s.doors[c.Name] = c.Doors
}
