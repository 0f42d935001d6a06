package fold

import (
	"time"

	"pennypost/internal/mail"
)

// LivingBelow counts the live agents below parent, or below its highest ancestor, which is top.
func (s *State) LivingBelow(parent mail.Name, now mail.Time) (top mail.Name, live int) {
	top, leads := s.topOf(parent)
	for m := range s.Agents() {
		if m.counts(now) && (m.Parent == top || !leads && s.Below(m, top)) {
			live++
		}
	}
	return top, live
}

// topOf returns the agent whose descendants are counted with those of an agent: its highest ancestor that is below no
// orchestrator. leads says that the agent is an orchestrator itself.
func (s *State) topOf(n mail.Name) (top mail.Name, leads bool) {
	top = n
	for range maxGenerations {
		m := s.Agent(top)
		if m == nil || m.Parent == "" {
			break
		}
		if up := s.Agent(m.Parent); up != nil && up.HasRole(string(mail.Orchestrator)) {
			break
		}
		top = m.Parent
	}
	m := s.Agent(n)
	leads = m != nil && m.HasRole(string(mail.Orchestrator))
	if leads {
		top = n
	}
	return top, leads
}

// maxGenerations ends a walk up parents that lead in a circle.
const maxGenerations = 64

// Below reports whether m is a descendant of the agent called n.
func (s *State) Below(m *Member, n mail.Name) bool {
	for range maxGenerations {
		if m == nil || m.Parent == "" {
			return false
		}
		if m.Parent == n {
			return true
		}
		m = s.Agent(m.Parent)
	}
	return false
}

// counts reports whether m counts against the limit on children.
func (m *Member) counts(now mail.Time) bool {
	return m.State.Live() && now.Sub(max(m.Seen, m.SessionAt, m.Registered)) < heardOf
}

// heardOf is how long a silent agent counts as living: one that was registered by hand is idle until someone retires
// it.
const heardOf = 24 * time.Hour

// LivingAs counts the live agents that share the name of m.
func (s *State) LivingAs(m *Member, now mail.Time) (live int) {
	for _, o := range s.Bases[string(m.Name)] {
		if o.Listed() && o.counts(now) {
			live++
		}
	}
	return live
}
