package mailroom

import (
	"pennypost/internal/mail"
	"pennypost/internal/room/fold"
)

// newcomer keeps others from naming an agent until done, if nobody of that name is on the roster: what was checked of
// a new name holds when it is written. This is a lock over a write; there is one for each agent that a room ever has.
func (v *view) newcomer(n mail.Name) (done func()) {
	known := v.IsUser() && n == v.Who || n == mail.System || v.Foreign
	v.read(func(s *fold.State, _ mail.Time) { known = known || s.Agent(n) != nil })
	if known {
		return func() {}
	}
	v.naming.Lock()
	return v.naming.Unlock
}

// claiming is newcomer for a change that may be of a session. Two sessions do not become the orchestrator at once
// either.
func (v *view) claiming(c *mail.AgentChange) (done func()) {
	if c.Name != mail.Orchestrator || c.Session == "" {
		return v.newcomer(c.Name)
	}
	v.naming.Lock()
	return v.naming.Unlock
}
