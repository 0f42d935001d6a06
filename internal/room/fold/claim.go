package fold

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// Holds reports whether m still holds one of its claims.
func (m *Member) Holds(c *mail.Claim, at mail.Time) bool {
	switch {
	case c.Until != 0 && at >= c.Until:
		return false
	case m.IsUser():
		return true
	case !m.Listed() || !m.State.Live() || m.Session != "" && !m.Live(at):
		return false
	}
	return c.Quiet == 0 || m.State != mail.Idle || at.Sub(m.Since) < time.Duration(c.Quiet)*time.Second
}

// Clash returns the earliest claim of another that conflicts with taking a target; found is false if there is none.
func (s *State) Clash(m *Member, t mail.Target, shared bool, at mail.Time) (h mail.Holding, found bool) {
	for _, o := range s.claimants {
		if o == m {
			continue
		}
		for i := range o.Claims {
			c := &o.Claims[i]
			if c.Overlaps(t) && !(shared && c.Shared) && o.Holds(c, at) && (!found || c.Since < h.Since) {
				h, found = mail.Holding{Claim: *c, Agent: o.Name}, true
			}
		}
	}
	return h, found
}

// Holdings returns all claims that are held, by holder and then by target.
func (s *State) Holdings(at mail.Time) (list []mail.Holding) {
	for _, m := range s.claimants {
		list = append(list, m.held(at)...)
	}
	slices.SortFunc(list, func(a, b mail.Holding) int {
		return cmp.Or(cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Name, b.Name), cmp.Compare(a.At, b.At),
			cmp.Compare(a.Path, b.Path), cmp.Compare(a.Form, b.Form))
	})
	return list
}

func (m *Member) held(at mail.Time) (list []mail.Holding) {
	for i := range m.Claims {
		if c := &m.Claims[i]; m.Holds(c, at) {
			list = append(list, mail.Holding{Claim: *c, Agent: m.Name})
		}
	}
	return list
}

// Claim returns m's claim of exactly that target, even if m no longer holds it; nil: it has none.
func (m *Member) Claim(t mail.Target) *mail.Claim {
	i := slices.IndexFunc(m.Claims, func(c mail.Claim) bool { return c.Same(t) })
	if i < 0 {
		return nil
	}
	return &m.Claims[i]
}

// Claimants returns the members that hold something, or wait for it, or did.
func (s *State) Claimants() []*Member { return s.claimants }

// applyClaim takes and gives up. If a claim conflicts by now, the whole change does not count.
func (s *State) applyClaim(c *mail.ClaimChange, at mail.Time) (counted bool) {
	s.Garbage++
	m := s.Members[c.Agent]
	if m == nil || !m.Listed() && !m.IsUser() {
		return len(c.Take) == 0
	}
	for i := range c.Take {
		if _, found := s.Clash(m, c.Take[i].Target, c.Take[i].Shared, at); found {
			return false
		}
	}
	for i := range c.Take {
		s.overtake(m, c.Take[i].Target, at)
	}
	m.Claims = slices.DeleteFunc(m.Claims, func(o mail.Claim) bool {
		return isIn(c.Free, o.Target) || !m.Holds(&o, at)
	})
	m.Awaits = slices.DeleteFunc(m.Awaits, func(t mail.Target) bool { return isIn(c.Free, t) })
	for _, t := range c.Take {
		s.holdOn(m, t, at)
	}
	for _, t := range c.Wait {
		if !isIn(m.Awaits, t) && len(m.Awaits) < mail.MaxTargets {
			m.Awaits = append(m.Awaits, cloneTarget(t))
		}
	}
	s.claims(m)
	return true
}

// holdOn makes m hold a target that no other holds. An earlier holder keeps its starting time; a write does not
// shorten a claim that m took explicitly.
func (s *State) holdOn(m *Member, c mail.Claim, at mail.Time) {
	m.Awaits = slices.DeleteFunc(m.Awaits, c.Same)
	c.Since, c.Target, c.Why = at, cloneTarget(c.Target), strings.Clone(c.Why)
	if known := m.Claim(c.Target); known == nil && len(
		m.Claims) < 2*mail.MaxClaims { // machines may have taken at the same time
		m.Claims = append(m.Claims, c)
	} else if known != nil && (c.Quiet == 0 || known.Quiet != 0) {
		c.Since = known.Since
		*known = c
	}
}

// overtake ends for good the claims that others no longer hold and m takes now: their sessions may be heard of again.
func (s *State) overtake(m *Member, t mail.Target, at mail.Time) {
	for _, o := range s.claimants {
		if o != m {
			o.Claims = slices.DeleteFunc(o.Claims, func(c mail.Claim) bool {
				return c.Overlaps(t) && !o.Holds(&c,
					at)
			})
		}
	}
}

// over ends for good the claims that m no longer holds, before it changes the facts that decide that.
func (m *Member) over(at mail.Time) {
	if len(m.Claims) > 0 {
		m.Claims = slices.DeleteFunc(m.Claims, func(c mail.Claim) bool { return !m.Holds(&c, at) })
	}
}

// isIn reports whether a target is in a list.
func isIn(list []mail.Target, t mail.Target) bool { return slices.ContainsFunc(list, t.Same) }

// cloneTarget copies a target so that it does not keep in memory the line that it was read from.
func cloneTarget(t mail.Target) mail.Target {
	return mail.Target{Name: strings.Clone(t.Name), Machine: mail.Machine(strings.Clone(string(t.Machine))),
		Root: strings.Clone(t.Root), At: strings.Clone(t.At), Path: strings.Clone(t.Path), Form: t.Form}
}

// claims adds m to the members that hold something or wait for it, or removes it.
func (s *State) claims(m *Member) {
	s.claimants = slices.DeleteFunc(s.claimants, func(o *Member) bool { return o == m })
	if len(m.Claims)+len(m.Awaits) > 0 {
		s.claimants = append(s.claimants, m)
	}
}

// sit makes a session hold m from now on; "": none does. Dialogs, claims and waits of the previous client end, unless
// the same program continues.
func (s *State) sit(m *Member, session string, goesOn bool) {
	m.Session, m.Dialogs = session, nil
	if !goesOn && len(m.Claims)+len(m.Awaits) > 0 {
		m.Claims, m.Awaits = nil, nil
		s.claims(m)
	}
}

// stuckClaims returns a pile for each agent that waits for a claim of another.
func (s *State) stuckClaims(now mail.Time) (piles []Pile) {
	waits := make(map[mail.Name][]mail.Name)
	for _, m := range s.claimants {
		p := Pile{To: mail.AgentAddress(m.Name), claims: s.awaited(m, now),
			all: func(func(*Record, mail.Delivery) bool) {}}
		for i := range p.claims {
			h := &p.claims[i].Held
			waits[m.Name] = append(waits[m.Name], h.Agent)
			if i == 0 || h.Since < p.since {
				p.since = h.Since
			}
		}
		if len(p.claims) > 0 {
			piles = append(piles, p)
		}
	}
	next := func(n mail.Name) []mail.Name { return waits[n] }
	for i := range piles {
		p, n := &piles[i], piles[i].To.Signer()
		for _, holder := range waits[n] {
			if p.circle = policy.Circle(n, holder, next); p.circle != nil {
				break
			}
		}
	}
	sortPiles(piles)
	return piles
}

// WaitsFor returns the holders of the targets that an agent waits for.
func (s *State) WaitsFor(n mail.Name, now mail.Time) (holders []mail.Name) {
	if m := s.Members[n]; m != nil {
		for _, c := range s.awaited(m, now) {
			holders = append(holders, c.Held.Agent)
		}
	}
	return holders
}

// awaited returns the targets that an agent waits for and another still holds.
func (s *State) awaited(m *Member, now mail.Time) (out []mail.Clash) {
	if !m.Listed() || !m.State.Live() {
		return nil
	}
	for _, t := range m.Awaits {
		if h, found := s.Clash(m, t, false, now); found {
			out = append(out, mail.Clash{Wanted: t, Held: h})
		}
	}
	return out
}
