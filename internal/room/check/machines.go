package check

import (
	"cmp"
	"slices"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/room/fold"
)

// RemoveMachine checks whether a machine can be removed, and returns the events.
func (v *View) RemoveMachine(name mail.Machine) ([]mail.Event, error) {
	switch _, known := slices.BinarySearch(v.Machines, name); {
	case !known:
		return nil, mail.Errorf(mail.NotFound, "no machine called %q follows room %s; nothing was changed", name,
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

// runs reports whether m's program runs. Of one on another machine that is as long as its session lives.
func (v *View) runs(m *fold.Member) bool {
	if !v.Here(m) {
		return m.Live(v.Now)
	}
	return v.Alive(m.Process)
}

// minting returns what the protocols ask of new mail to these addresses whose sender asks for nothing: how its id is
// spelled, and how long it waits for its agents. Ids are read in all files that the room keeps, so the first bridge
// that asks for a spelling decides, and the recipient's protocol only if none does. How long mail waits matters to its
// recipient first.
func (v *View) minting(to []mail.Address) (ids mail.IDForm, life time.Duration) {
	var of mail.Protocol
	if len(to) == 1 && to[0].Kind() == mail.ToAgent {
		if m := v.Agent(mail.Name(to[0].Value())); m != nil {
			of = v.protocolOf(m)
		}
	}
	life = of.AgentLife
	for _, b := range v.Bridges {
		i := slices.IndexFunc(v.Protocols, func(p mail.Protocol) bool { return p.Name == b.Dialect })
		if i < 0 || b.Mode == mail.BridgeFollow {
			continue
		}
		ids, life = cmp.Or(ids, v.Protocols[i].IDs), cmp.Or(life, v.Protocols[i].AgentLife)
	}
	if slices.ContainsFunc(to, func(a mail.Address) bool { return a.Kind() != mail.ToAgent }) {
		life = 0 // each address has a time of its own
	} else if life != 0 && v.TTL.Agent != 0 {
		life = max(0, v.TTL.Agent) // the person has set one, which files have to say
	}
	return cmp.Or(ids, of.IDs), life
}

// protocolOf returns the protocol that an agent is of.
func (v *View) protocolOf(m *fold.Member) mail.Protocol {
	for _, p := range v.Protocols {
		if p.NamesItself != nil && p.NamesItself(m.Client, m.Tags) {
			return p
		}
	}
	return mail.Protocol{}
}
