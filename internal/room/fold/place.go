package fold

import (
	"maps"
	"slices"

	"pennypost/internal/mail"
)

// place is the machine on which an agent is woken. The zero place is here.
type place struct {
	elsewhere mail.Machine // not here, but there
	away      mail.Machine // where it should have been, and is not heard of
	nowhere   bool         // no door is known anywhere: the machine that keeps the room tells the person
}

// placeOf returns where m is woken; if m is nil, the holder of roles under a name. local says that a door is known
// here.
func (s Sight) placeOf(m *Member, name mail.Name, roles []string, local bool) (p place) {
	if s.ways.Here == "" {
		return p
	}
	home, session := mail.Machine(""), false
	if m != nil {
		home, session = m.Machine, m.Session != ""
	}
	if home != "" && s.IsAway(home) {
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
	return s.at(p, s.Upkeep)
}

func (s Sight) at(p place, there mail.Machine) place {
	if there != s.ways.Here {
		p.elsewhere = there
	}
	return p
}

// IsAway reports whether a machine is not heard of. This one is never away, whatever others find.
func (s Sight) IsAway(m mail.Machine) bool { return m != "" && m != s.ways.Here && s.ways.Away(m) }

// withDoor returns the machine that rings the configured door of an agent, or of the holder of the roles. Of the
// machines that have one and are not away, it is the agent's own, or else the one that keeps the room, or else the
// first by name. If all are away, known is the first of them.
func (s Sight) withDoor(home mail.Machine, name mail.Name, roles []string) (there, known mail.Machine) {
	rank := func(m mail.Machine) int {
		switch m {
		case home:
			return 2
		case s.Upkeep:
			return 1
		}
		return 0
	}
	for _, m := range slices.Sorted(maps.Keys(s.Doors)) {
		if !hasDoorFor(s.Doors[m], name, roles) {
			continue
		}
		if known == "" {
			known = m
		}
		if !s.IsAway(m) && (there == "" || rank(m) > rank(there)) {
			there = m
		}
	}
	return there, known
}

func hasDoorFor(doors []mail.Address, name mail.Name, roles []string) bool {
	return name != "" && slices.Contains(doors, mail.AgentAddress(name)) ||
		slices.ContainsFunc(roles, func(r string) bool { return slices.Contains(doors, mail.RoleAddress(r)) })
}

// DoorElsewhere reports whether another machine has a configured door for an agent, or for the holder of the roles.
func (s Sight) DoorElsewhere(name mail.Name, roles []string) bool {
	for m, doors := range s.Doors {
		if m != s.ways.Here && hasDoorFor(doors, name, roles) {
			return true
		}
	}
	return false
}

// doorOn says in Delivery.Wake how m is woken on another machine: through the door that last brought it to look, if
// that was a door.
func (m *Member) doorOn(at mail.Machine) string {
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

// allDoors lists the addresses for which machines have doors, in order.
func (s *State) allDoors() (all []mail.MachineDoors) {
	for _, m := range slices.Sorted(maps.Keys(s.Doors)) {
		all = append(all, mail.MachineDoors{Machine: m, For: s.Doors[m]})
	}
	return all
}

func (s *State) setAllDoors(all []mail.MachineDoors) {
	clear(s.Doors)
	for _, d := range all {
		s.Doors[d.Machine] = d.For
	}
}

// setDoors records the addresses for which a machine has doors.
func (s *State) setDoors(c *mail.MachineChange) {
	if len(c.Doors) == 0 {
		delete(s.Doors, c.Name)
		return
	}
	s.Doors[c.Name] = c.Doors
}
