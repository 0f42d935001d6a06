package check

import (
	"slices"

	"pennypost/internal/mail"
	"pennypost/internal/room/fold"
)

// Whether an agent is live, for role mail and on the roster, is decided by its journalled state alone. A program that
// ended silently enters the journal as an event that names it. The room looks for such programs before it acts on a
// state that may be out of date, which costs a read of /proc for each agent concerned: before a name is claimed,
// before mail is sent to a role or an agent, and before a holder of a role looks for mail that another one holds. It
// looks at all other agents every few seconds.

// Deaths returns the events that end the sessions of some agents, or by which agents without a session have gone,
// because their program is known to have ended. A frozen agent stays as it is, to be resumed. An MCP server whose
// client was killed ends by itself; until then its session lives, unless someone else wants the name.
func (v *View) Deaths(members ...*fold.Member) (events []mail.Event) {
	for _, m := range members {
		if programs := m.Programs(); len(programs) > 0 {
			events = append(events, v.death(m, programs[:1])...)
		}
	}
	return events
}

// death returns the event that ends the session of an agent if one of its programs has ended, or by which the agent
// has gone; none if that is not known.
func (v *View) death(m *fold.Member, programs []string) []mail.Event {
	if !m.Listed() || !m.State.Live() || !v.Here(m) {
		return nil
	}
	i := slices.IndexFunc(programs, v.Rules.Ended)
	if i < 0 {
		return nil
	}
	// an agent of a protocol whose sessions name themselves continues without its connection
	parts := programs[i] != m.Process && v.protocolOf(m).Name != ""
	return []mail.Event{{At: v.Now, Agent: &mail.AgentChange{Name: m.Name, Session: m.Session, End: true, Join: parts,
		Ended: programs[i], By: mail.System}}}
}

// addressed returns the agents that some addresses name, and those that have a role which they name.
func (v *View) addressed(to []mail.Address) (members []*fold.Member) {
	for _, a := range to {
		switch a.Kind() {
		case mail.ToAgent:
			if m := v.Agent(mail.Name(a.Value())); m != nil {
				members = append(members, m)
			}
		case mail.ToRole:
			members = append(members, v.Roles[a.Value()]...)
		}
	}
	return members
}

// Rivals returns the agents that hold unread mail for a role of the caller.
func (v *View) Rivals() (members []*fold.Member) {
	me := v.Me()
	if me == nil {
		return nil
	}
	for _, role := range me.Roles {
		for _, m := range v.Roles[role] {
			if m != me && len(m.Given) > 0 {
				members = append(members, m)
			}
		}
	}
	return members
}

// bind keeps an agent without a session bound to its program while that runs, no matter who reports the change. It
// returns the events by which the agent has gone if the program has ended and another caller reports the change.
func (v *View) bind(c *mail.AgentChange) []mail.Event {
	m := v.Agent(c.Name)
	switch {
	case m == nil || !m.Parted() || !v.Here(m) || c.Session != "" || c.TakeOver:
		return nil
	case v.Alive(m.Process):
		c.Process, c.Join, c.Machine = m.Process, true, v.Machine
		return nil
	case c.By == "":
		return nil
	}
	return v.Deaths(m)
}
