package fold

import (
	"pennypost/internal/mail"
	"time"
)

// GoingOn returns the receipts that mark unread mail as told if it is in the conversation of a session that
// continues, after its program was killed for example.
func (s *State) GoingOn(m *Member, held map[mail.ID]bool, now mail.Time) (events []mail.Event) {
	if len(held) == 0 {
		return nil
	}
	for r := range m.Unread.Alive(false, now) {
		if held[r.Msg.ID] && !r.HandedIn(m) {
			events = append(events, mail.Event{Receipt: &mail.Receipt{Message: r.Msg.ID,
				Reader: mail.AgentAddress(m.Name), Mark: mail.MarkTold, Door: mail.HookDoor}})
		}
	}
	return events
}

// AfterTelling returns the receipts that mark mail told to m's session as presented, or as untold unless the client
// still has it in the conversation.
func (s *State) AfterTelling(m *Member, t mail.Turn, held map[mail.ID]bool, now mail.Time) (events []mail.Event) {
	broken := BreaksOff(t, m.State)
	if !t.Proof && !broken {
		return nil
	}
	for _, r := range m.Told {
		k := r.MarksOf(m)
		rc := &mail.Receipt{Message: r.Msg.ID, Reader: mail.AgentAddress(m.Name), Mark: mail.MarkUntold}
		switch {
		case !broken && k.pending():
			rc.Mark, rc.Door = mail.MarkPresented, mail.HookDoor
		case broken && held[r.Msg.ID]:
			continue // the next request contains it
		case now.Sub(k.Shown().Told) < HandoverTime && t.Moment != mail.SessionEnd && !t.Over:
			continue // by another hook of this moment
		}
		events = append(events, mail.Event{Receipt: rc})
	}
	return events
}

// BreaksOff reports whether a moment shows that the turn before it did not reach its end, or that there will be none.
// Mail told to an idle session waits for its first turn.
func BreaksOff(t mail.Turn, state mail.State) bool {
	switch t.Moment {
	case mail.SessionStart, mail.SessionEnd:
		return true
	case mail.TurnStart:
		return state == mail.Working && !t.Within
	}
	return t.Over && state == mail.Working
}

// InSession returns the member that a session entered, which may be NAME-2 for NAME; nil if it has entered none. A
// session that ended and is resumed finds the name that it had, if no other session has it.
func (s *State) InSession(name mail.Name, session string) *Member {
	if m := s.Agent(name); m != nil && m.Session == session {
		return m
	}
	var left *Member
	for _, m := range s.bearers(name) {
		if m.Session == session {
			return m
		}
		if m.Left == session && (m.Session == "" || m.Joined) && (left == nil || m.Name < left.Name) {
			left = m
		}
	}
	return left
}

// AwaitsTurn reports whether m needs a turn: mail that wakes was not shown to it, or was handed to its client for a
// turn that has not begun.
func (s *State) AwaitsTurn(m *Member, now mail.Time) bool {
	for r := range m.Callers(now) {
		if s.Wakes(r, m, now) || s.Awaits(r, m, now) {
			return true
		}
	}
	return false
}

// Unseen returns the mail that should wake m and that m has not been shown.
func (s *State) Unseen(m *Member, now mail.Time) (ids []mail.ID) {
	for r := range m.Callers(now) {
		if s.Wakes(r, m, now) {
			ids = append(ids, r.Msg.ID)
		}
	}
	return ids
}

// applyTurn applies the beginning and the end of a turn. At the end, mail that wakes and that the agent has not been
// shown keeps it working, unless that happened too often in a row.
func (s *State) applyTurn(m *Member, c *mail.AgentChange, at mail.Time) {
	m.GaveUp, m.Broken = false, c.Over && (m.Broken || m.State != mail.Idle) // an idle agent has no turn to break off
	switch c.Turn {
	case mail.TurnStart:
		m.Continues = 0
		s.setState(m, mail.Working, at)
	case mail.TurnEnd:
		waiting := len(s.Unseen(m, at)) > 0
		if waiting && !c.Over && m.Continues < mail.MaxContinues {
			m.Continues++
			s.setState(m, mail.Working, at)
			return
		}
		m.GaveUp, m.Continues = waiting, 0
		s.setState(m, mail.Idle, at)
	}
}

// ToldIn reports whether m's present session was shown r, or pointed to it.
func (r *Record) ToldIn(m *Member) bool {
	k := r.MarksOf(m)
	return k != nil && k.Shown().mentioned > m.Began
}

// IsIntroduced reports whether a hook has shown mail to the model of m's present session, and the model still has
// that.
func (m *Member) IsIntroduced() bool { return m.Introduced > max(m.Began, m.Summed) }

// has reports whether the model of m's present session was handed the text of r, and still has it. For a connection
// it is not known when its model forgets.
func (m *Member) has(r *Record) bool { return m.Session != "" && !m.Joined && r.keptBy(m) }

// keptBy is HandedIn since m's session was last summed up.
func (r *Record) keptBy(m *Member) bool {
	k := r.MarksOf(m)
	return k != nil && k.Shown().handedOver > max(m.Began, m.Summed)
}

// HandedIn reports whether m's present session was handed the text of r.
func (r *Record) HandedIn(m *Member) bool {
	k := r.MarksOf(m)
	return k != nil && k.Shown().handedOver > m.Began
}

// WakesNow reports whether r is of the kind that wakes m.
func (s *State) WakesNow(r *Record, m *Member) bool {
	for a := range r.addresses(m) {
		if r.wakes(a, m.HasRole(string(mail.Orchestrator))) {
			return true
		}
	}
	return false
}

// PendingCancel returns the first cancel that m has not marked read. It looks at cancels only, however much else
// waits. A cancel from before the session began was for another session, and is told as any mail.
func (s Sight) PendingCancel(m *Member, now mail.Time) *mail.Item {
	for _, r := range m.Cancels {
		if r.Seq > m.Began && s.Visible(r, m, now) {
			return new(s.Item(r, m, now))
		}
	}
	return nil
}

// HandoverTime is how long a message that a session is being told is not told again by another call. A hook has
// handed it over, and marked it, within one second, or gives up.
const HandoverTime = 2 * time.Second
