package check

import (
	"slices"

	"pennypost/internal/mail"
	"pennypost/internal/room/fold"
)

// RemoveMachine checks whether a machine can be removed, and returns the events.
func (v *View) RemoveMachine(name mail.Machine) ([]mail.Event, error) {
	switch _, known := slices.BinarySearch(v.Machines, name); {
	case !known:
		return nil, mail.Errorf(mail.NotFound, "no machine %q follows room %s; nothing was changed", name,
			v.Room)
	case name == v.Machine:
		return nil, mail.Errorf(mail.Invalid, "%s is this machine, which has room %s open; nothing was changed", name,
			v.Room)
	}
	events := []mail.Event{{Machine: &mail.MachineChange{Name: name, Left: true, By: mail.User}}}
	for _, m := range v.Listed {
		if m.Machine == name && m.Session != "" {
			events = append(events, mail.Event{Agent: &mail.AgentChange{Name: m.Name, Session: m.Session, End: true,
				By: mail.User}})
		}
	}
	return events, nil
}

// Here reports whether m's session, or its last, is on this machine.
func (r *Rules) Here(m *fold.Member) bool {
	return r.Machine == "" || m.Machine == "" || m.Machine == r.Machine
}

// runs reports whether m's program runs. A program on another machine counts as running while its session lives.
func (v *View) runs(m *fold.Member) bool {
	if !v.Here(m) {
		return m.Live(v.Now)
	}
	return v.Alive(m.Process)
}
