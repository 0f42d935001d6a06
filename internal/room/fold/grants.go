package fold

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"pennypost/internal/mail"
)

// cardKey begins the idempotency keys of such cards.
const cardKey = "grant "

// MaxCards limits how many of them wait for the person at once: a disk may hold any number of repositories.
const MaxCards = 20

// Bearer returns the agent that bears a name, or bore it before it was renamed or retired: an agent that comes under
// that name gets its mail and its roles.
func (s *State) Bearer(n mail.Name) *Member {
	if m := s.Members[n]; m != nil && (m.Listed() || m.Registered != 0) {
		return m
	}
	return nil
}

// Leads reports whether the bearer of a name is an orchestrator, or would be.
func (s *State) Leads(n mail.Name) bool {
	m := s.Bearer(n)
	return n == mail.Orchestrator || m != nil && m.HasRole(string(mail.Orchestrator)) || s.LeadGranted(n)
}

// LeadGranted reports whether an agent may have the role of the orchestrator under a name, anywhere.
func (s *State) LeadGranted(n mail.Name) bool {
	return slices.ContainsFunc(s.Grants, func(g mail.Grant) bool {
		return g.Agent == n && g.Role == string(mail.Orchestrator) && !g.Refused
	})
}

// Granted reports whether exactly that was granted.
func (s *State) Granted(g *mail.Grant) bool {
	i := s.grantOf(g)
	return i >= 0 && !s.Grants[i].Refused
}

// RuledOn reports whether the person has said yes or no to a grant.
func (s *State) RuledOn(g *mail.Grant) bool { return s.grantOf(g) >= 0 }

func (s *State) grantOf(g *mail.Grant) int {
	return slices.IndexFunc(s.Grants, func(o mail.Grant) bool { return o.Same(g) })
}

// MayAsk reports whether the person can be asked for a grant: not twice, and not for too many.
func (s *State) MayAsk(g *mail.Grant) bool {
	if s.SentBefore(s.KeyOf(mail.FromSystem, CardOf(g))) {
		return false
	}
	cards := 0
	for _, r := range s.Open {
		if r.IsCard() {
			cards++
		}
	}
	return cards < MaxCards
}

// IsCard reports whether r asks the person for a grant.
func (r *Record) IsCard() bool {
	return r.Msg.From == mail.FromSystem && r.Msg.Type == mail.Question && strings.HasPrefix(r.Msg.Key, cardKey)
}

// CardOf returns the idempotency key of the card that asks for a grant.
func CardOf(g *mail.Grant) string {
	sum := sha256.Sum256([]byte(strings.Join(
		[]string{string(g.Agent), g.Role, g.Dir, g.Client, string(g.Room)}, "\x00")))
	return cardKey + hex.EncodeToString(sum[:16])
}

// applyGrant records the person's decision. One that an answer gave counts only if that answer settled the question.
func (s *State) applyGrant(g *mail.Grant, at mail.Time) (counted bool) {
	if q := s.Records[g.Question]; q != nil && (q.Settled == nil || q.Settled.Answer != g.Answer) {
		return false
	}
	said := *g
	if said.At == 0 {
		said.At = at
	}
	if i := s.grantOf(g); i >= 0 {
		s.Grants[i] = said
	} else {
		s.Grants = append(s.Grants, said)
	}
	m := s.Agent(g.Agent)
	if g.Role != "" && !g.Refused && m != nil && !m.HasRole(g.Role) {
		s.setRoles(m, append(slices.Clone(m.Roles), g.Role))
		s.settle(m)
	}
	return true
}

// AgentGranted reports whether the person lets any session be an agent, wherever it was started.
func (s *State) AgentGranted(n mail.Name) bool {
	return slices.ContainsFunc(s.Grants, func(g mail.Grant) bool {
		return g.Agent == n && g.Room == "" && g.By == mail.User && !g.Refused
	})
}
