package fold

import (
	"slices"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// Show returns m as the roster shows it.
func (s Sight) Show(m *Member, now mail.Time) mail.Agent {
	a := mail.Agent{
		Name: m.Name, Roles: append([]string{}, m.Roles...), Tags: append([]string{}, m.Tags...),
		State: m.Standing(), Since: m.StateSince(), Task: m.Task, Parent: m.Parent, Client: m.Client,
		Aliases:    slices.Clone(m.Aliases),
		Registered: m.Registered, Seen: m.Seen, Left: m.Left, Door: m.Door, DoorAt: m.DoorAt,
		Unread: s.CountUnread(m, now),
	}
	if s.ways.Here != "" && len(s.Machines) > 1 {
		a.Machine, a.MachineAway = m.Machine, s.IsAway(m.Machine)
	}
	if m.Live(now) {
		a.Session = m.Session
	}
	if a.State == mail.Asking {
		a.Dialogs = slices.Clone(m.Dialogs)
	}
	return a
}

// Adopt decides what registering a known name from outside means: the name of a live session is never shared
// silently, and an agent that was away is back.
func (s *State) Adopt(p mail.Presence, c *mail.AgentChange, now mail.Time) {
	m := s.Agent(c.Name)
	if m == nil || p.Update || p.End || c.Session != "" {
		return
	}
	if c.By != "" && !c.TakeOver && m.Live(now) {
		c.Name = s.FreeName(m.Name)
	} else if c.State == "" && !m.State.Live() {
		c.State = mail.Idle
	}
}

// Changes reports whether a change would change more than the time of the last sign of life, or that by a minute.
func (s *State) Changes(c *mail.AgentChange, now mail.Time) bool {
	m := s.Agent(c.Name)
	if m == nil || c.End || c.TakeOver || c.Summed || c.Roles != nil || c.Tags != nil || c.Task != nil ||
		c.Parent != nil {
		return true
	}
	return Beats(max(m.Seen, m.SessionAt), now) || m.State == mail.Gone || m.differs(c) ||
		m.Parted() != c.Binds() || c.Binds() && !m.runsIn(c)
}

// differs reports whether a change says something new of m's session.
func (m *Member) differs(c *mail.AgentChange) bool {
	return c.State != "" && c.State != m.State || c.Client != "" && c.Client != m.Client || c.Session != m.Session ||
		c.Inbox != nil && *c.Inbox != m.Inbox
}

// Beats reports whether a sign of life is due. The last one may be from another machine, whose clock is ahead.
func Beats(last, now mail.Time) bool {
	since := now.Sub(last)
	return since >= policy.Heartbeat || since <= -policy.Heartbeat
}

// FreeName returns the first "base-n" that no one bears.
func (s *State) FreeName(base mail.Name) mail.Name {
	for n := 2; ; n++ {
		if name := Numbered(base, n); s.Members[name] == nil {
			return name
		}
	}
}
