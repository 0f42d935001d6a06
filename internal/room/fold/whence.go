package fold

import (
	"slices"

	"pennypost/internal/mail"
)

// AgentGranted reports whether the person lets any session be an agent, wherever it was started.
func (s *State) AgentGranted(n mail.Name) bool {
	return slices.ContainsFunc(s.Grants, func(g mail.Grant) bool {
		return g.Agent == n && g.Room == "" && g.By == mail.User && !g.Refused
	})
}
