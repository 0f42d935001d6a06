package fold

import (
	"cmp"
	"fmt"
	"slices"
	"unicode/utf8"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// applyAgent applies a change of the roster. One that was checked against another state does not count if others have
// made it impossible meanwhile.
func (s *State) applyAgent(c *mail.AgentChange, at mail.Time) (counted bool) {
	s.Garbage++
	if c.End {
		if m := s.Agent(c.Name); m != nil {
			s.endSession(m, c, at)
		}
		return true
	}
	if c.Merge {
		return s.merge(c, at)
	}
	if c.Renamed != "" {
		return s.rename(c)
	}
	if c.Retired {
		if m := s.Agent(c.Name); m != nil {
			s.retire(m, at)
		}
		return true
	}
	if s.refuses(c, at) {
		return false
	}
	if m := s.Members[c.Name]; m != nil && m.IsUser() {
		s.describe(m, c, at)
		return true
	}
	m := s.seat(c, at)
	s.update(m, c, at)
	if c.Summed {
		m.Summed = s.Seq
	}
	if c.Turn != "" {
		s.settle(m) // waiting mail may have become m's by this very event
		s.applyTurn(m, c, at)
	}
	s.settle(m)
	return true
}

// seat returns the member that a change is about: for a session that found its name taken, the member of the next
// free name.
func (s *State) seat(c *mail.AgentChange, at mail.Time) *Member {
	m := s.member(c.Name)
	if c.Session == "" {
		s.goOn(m, c, at)
		return m
	}
	if o := s.SameProcess(c, at); o != nil {
		if c.Join {
			s.hear(o, c, at)
		} else {
			s.enter(o, c, at)
		}
		return o
	}
	if c.TakeOver || !s.HeldByOther(m, c.Session, at) {
		s.enter(m, c, at)
		return m
	}
	base := m.Name
	for n := 2; ; n++ {
		m = s.member(Numbered(base, n))
		if (m.Listed() || m.Registered != 0) && m.Base != base || s.HeldByOther(m, c.Session, at) {
			continue
		}
		s.setBase(m, base)
		s.enter(m, c, at)
		return m
	}
}

// goOn applies a change without a session to m's session: it is taken from m, m needs none while a program runs, or m
// continues without the connection that has ended.
func (s *State) goOn(m *Member, c *mail.AgentChange, at mail.Time) {
	switch {
	case c.TakeOver:
		m.Evicted, m.Joined = m.Session, false
		s.sit(m, "", false)
	case c.Binds() && !m.Live(at):
		s.sit(m, "", false)
		m.Joined = true
		s.runIn(m, c.Process)
		s.hear(m, c, at)
	case m.Parted():
		m.Joined = false
	}
}

// SameProcess returns the agent of a program whose session, or connection, is in it already, while c is about the
// other of the two. A program that runs several sessions has several agents; its connection then shares the one with
// the first name.
func (s *State) SameProcess(c *mail.AgentChange, at mail.Time) *Member {
	if c.Process == "" || c.Session == "" {
		return nil
	}
	if m := s.Agent(c.Name); c.Join && m != nil && m.runsIn(c) && !m.Live(at) {
		return nil // a connection stays where it is when the session ends
	}
	var found *Member
	for _, m := range s.Programs[c.Process] {
		if m.pairs(c) && m.Live(at) && (found == nil || m.Name < found.Name) {
			found = m
		}
	}
	return found
}

// pairs reports whether m and a change belong to the same session: one of the two is of its hooks, the other of its
// connection.
func (m *Member) pairs(c *mail.AgentChange) bool {
	return m.Listed() && m.runsIn(c) && m.Joined != c.Join && (m.Name == c.Name || m.Base == c.Name)
}

// enter makes a session the holder of m. A new session means that the agent is alive and between turns. Mail told in
// a session that is resumed still counts as told; a connection is told nothing, so it leaves this unchanged.
func (s *State) enter(m *Member, c *mail.AgentChange, at mail.Time) {
	if m.Session != c.Session {
		goesOn := c.Process != "" && m.runsIn(c)
		if !goesOn {
			m.Evicted = m.Session
		}
		s.sit(m, c.Session, goesOn)
		m.Server = ""
		if !c.Join {
			if c.Session != m.Left {
				m.Began = s.Seq
			}
			m.Left = ""
		}
		m.Continues, m.GaveUp, m.Broken = 0, false, false
		if m.Listed() {
			s.setState(m, mail.Idle, at)
		}
	}
	if c.Process != "" {
		s.runIn(m, c.Process)
	}
	m.Joined, m.Server = c.Join, cmp.Or(c.Server, m.Server)
	s.hear(m, c, at)
}

func (s *State) runIn(m *Member, program string) {
	if program != m.Process {
		s.leaveProgram(m)
		m.Process = program
		s.Programs[program] = append(s.Programs[program], m)
	}
}

// hear records a sign of life of m's session.
func (s *State) hear(m *Member, c *mail.AgentChange, at mail.Time) {
	m.over(at)
	m.SessionAt = at
	if m.Machine = c.Machine; c.Machine != "" {
		m.Heard = s.Seq
	}
}

// runsIn reports whether the session of m, or the one before, is in the program of c: processes of two machines may
// have the same number.
func (m *Member) runsIn(c *mail.AgentChange) bool {
	return m.Process == c.Process && m.Machine == c.Machine
}

func (s *State) leaveProgram(m *Member) {
	rest := slices.DeleteFunc(s.Programs[m.Process], func(o *Member) bool { return o == m })
	if s.Programs[m.Process] = rest; len(rest) == 0 {
		delete(s.Programs, m.Process)
	}
}

// Parted reports whether m has no session, and counts as live because its program is: its last connection has ended
// and m was not heard of since, or it is bound to the program.
func (m *Member) Parted() bool { return m.Joined && m.Session == "" }

// Programs returns those of m's session, or of m if it is Parted, as far as they are known. The first lives as long
// as the session does: an MCP server, if that is known. The last is the client's.
func (m *Member) Programs() (programs []string) {
	if m.Joined && m.Session != "" && m.Server != "" {
		programs = append(programs, m.Server)
	}
	if m.Process != "" && (m.Joined || m.Session != "") {
		programs = append(programs, m.Process)
	}
	return programs
}

// HeldByOther reports whether a session must not enter m: another live one is in it, or it was itself evicted.
func (s *State) HeldByOther(m *Member, session string, at mail.Time) bool {
	return m.Session != session && (session == m.Evicted || m.Live(at))
}

// Numbered returns "base-n", with base cut so that the whole is a valid name.
func Numbered(base mail.Name, n int) mail.Name {
	suffix := fmt.Sprintf("-%d", n)
	for len(base)+len(suffix) > mail.MaxName {
		_, size := utf8.DecodeLastRuneInString(string(base))
		base = base[:len(base)-size]
	}
	return base + mail.Name(suffix)
}

// update copies a change into the record. A change by the agent itself is a sign of life: it brings back an agent
// that was gone.
func (s *State) update(m *Member, c *mail.AgentChange, at mail.Time) {
	if !m.Listed() {
		m.Registered = at
		s.list(m, at)
		s.setState(m, mail.Idle, at)
	}
	s.setRoles(m, c.Roles)
	if c.Tags != nil && !slices.Equal(c.Tags, m.Tags) {
		s.setTags(m, slices.Clone(c.Tags), at)
	}
	if c.Task != nil {
		m.Task = *c.Task
	}
	if c.Parent != nil {
		m.Parent = *c.Parent
	}
	if c.Client != "" {
		m.Client = c.Client
	}
	if c.Inbox != nil {
		m.Inbox = *c.Inbox
	}
	if c.TokenSum != "" {
		s.Ended = true
		delete(s.Tokens, m.TokenSum)
		m.TokenSum = c.TokenSum
		s.Tokens[c.TokenSum] = m
	}
	own := c.By == "" || c.By == c.Name
	if own {
		m.Seen = at
	}
	switch {
	case c.State != "":
		s.setState(m, c.State, at)
	case own && m.State == mail.Gone:
		s.setState(m, mail.Idle, at)
	}
}

func (s *State) setState(m *Member, to mail.State, at mail.Time) {
	if m.State == to {
		return
	}
	m.over(at)
	froze := m.State == mail.Frozen || to == mail.Frozen
	if m.State == mail.Frozen {
		last := &m.Freezes[len(m.Freezes)-1]
		last.To = max(at, last.From) // the clock of another machine may be behind
	}
	if to == mail.Frozen {
		m.Freezes = policy.Join(append(m.Freezes, mail.Freeze{From: at}))
	}
	m.State, m.Since = to, at
	if froze {
		s.refileUnread(m)
	}
}

// endSession ends the session that c names. A lapse, which the post office itself reports, counts only if the session
// was silent until then, or is of the program that was found to have ended. With Join the session was a connection,
// without which its agent may continue: the name is free, and the agent has gone if it is not heard of again.
func (s *State) endSession(m *Member, c *mail.AgentChange, at mail.Time) {
	if m.Session != c.Session || c.By == mail.System && !s.lapsed(m, c, at) || c.Session == "" && !m.Parted() {
		return
	}
	if c.Join && m.Joined {
		m.SessionAt = at
		s.sit(m, "", true)
		return
	}
	if !m.Joined {
		m.Left = c.Session
	}
	m.Joined = false
	s.sit(m, "", false)
	if m.State != mail.Frozen {
		s.setState(m, mail.Gone, at)
	}
	s.settle(m)
}

// lapsed reports whether m's session has, as the post office says, been silent for too long, or lost its program.
func (s *State) lapsed(m *Member, c *mail.AgentChange, at mail.Time) bool {
	if c.Ended != "" {
		return slices.Contains(m.Programs(), c.Ended)
	}
	if m.Machine != "" {
		return c.Silent >= m.Heard
	}
	return !m.Live(at)
}

func (s *State) retire(m *Member, at mail.Time) {
	delete(s.Tokens, m.TokenSum)
	m.TokenSum = ""
	s.sit(m, "", false)
	m.Parent = ""
	s.setState(m, mail.Gone, at)
	s.unlist(m, at)
	s.settle(m)
}

// rename gives an agent a new name, unless another bears it. The old one remains a way to reach it.
func (s *State) rename(c *mail.AgentChange) (counted bool) {
	m := s.Agent(c.Name)
	if m == nil || m.Name == c.Renamed {
		return true
	}
	if s.Taken(c.Renamed, m) {
		return c.Machine == ""
	}
	if c.Machine != "" && s.Members[c.Renamed] == nil && s.alike(c.Renamed, m) != nil {
		return false
	}
	old := m.Name
	for d := range s.Agents() {
		if d.Parent == old {
			d.Parent = c.Renamed
		}
	}
	m.Aliases = append(slices.DeleteFunc(m.Aliases, func(n mail.Name) bool { return n == c.Renamed }), old)
	s.delist(m)
	m.Name = c.Renamed
	s.Members[m.Name] = m
	s.enlist(m)
	return true
}

// Taken reports whether m cannot be renamed to a name: another bears it, or mail waits under it.
func (s *State) Taken(n mail.Name, m *Member) bool {
	o := s.Members[n]
	return o != nil && o != m
}

// settle puts role mail where it belongs after m's roles or state have changed: mail that m can no longer be expected
// to read goes to another holder, and held mail finds m.
func (s *State) settle(m *Member) {
	for _, r := range slices.Clone(m.Given) {
		for i := range r.Bound {
			b := &r.Bound[i]
			if !b.IsRole() || b.Holder() != m && !(r.isOffer() && slices.Contains(b.members, m)) {
				continue
			}
			keeps := policy.KeepsRoleMail(m.Listed(), m.State, m.Roles, b.address.Value())
			if !keeps || r.isOffer() && !m.State.Live() {
				s.assign(r, i)
				s.deliver(r)
			}
		}
	}
	if m.Listed() && m.State.Live() {
		for _, role := range m.Roles {
			s.offerTo(m, role) // first: mail that is held and offered now would hide that m is new
			s.release(role)
		}
	}
}

// release gives the mail held for a role to its live holders.
func (s *State) release(role string) {
	waiting := s.Held[role]
	if len(waiting) == 0 {
		return
	}
	s.Held[role] = nil
	for _, r := range waiting {
		for i := range r.Bound {
			if b := &r.Bound[i]; b.IsRole() && b.address.Value() == role && b.Holder() == nil {
				s.assign(r, i)
			}
		}
		s.deliver(r)
	}
}

// allPast reports whether every dynamic address of r has expired.
func (s *State) allPast(r *Record, at mail.Time) bool {
	return !slices.ContainsFunc(r.dynamic, func(a mail.Address) bool { return !policy.Past(s.expiry(r, a, nil), at) })
}
