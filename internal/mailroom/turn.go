package mailroom

import (
	"context"
	"slices"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// defaultTold is how many messages a moment tells of at most.
const defaultTold = 20

// Turn implements mail.Turner.
func (v *view) Turn(ctx context.Context, t mail.Turn) (mail.Told, error) {
	if err := t.Check(); err != nil {
		return mail.Told{}, err
	}
	if v.isUser() || v.caller == mail.System {
		return mail.Told{}, mail.Errorf(mail.Denied, "only agents have sessions; say which with --as NAME or PENNYPOST_AGENT")
	}
	c, err := v.change(mail.Presence{Session: t.Session, Client: t.Client})
	if err != nil {
		return mail.Told{}, err
	}
	now := v.now()
	var events []mail.Event
	v.read(func(s *state, now mail.Time) { events = v.turnEvents(s, c, t, now) })
	for i := range events {
		events[i].At = now
	}
	if _, err := v.commit(ctx, events...); err != nil {
		return mail.Told{}, err
	}
	var told mail.Told
	v.read(func(s *state, now mail.Time) { told = v.told(s, c, t, now) })
	return told, nil
}

// turnEvents returns what a moment changes.
func (v *view) turnEvents(s *state, c *mail.AgentChange, t mail.Turn, now mail.Time) []mail.Event {
	m := s.inSession(c.Name, t.Session)
	switch t.Moment {
	case mail.SessionEnd:
		if m == nil {
			return nil
		}
		end := &mail.AgentChange{Name: m.Name, Session: t.Session, End: true}
		if t.Frozen {
			return []mail.Event{{Agent: &mail.AgentChange{Name: m.Name, State: mail.Frozen}}, {Agent: end}}
		}
		return []mail.Event{{Agent: end}}
	case mail.SessionStart:
	case mail.TurnEnd:
		c.Turn = mail.TurnEnd
	case mail.TurnStart:
		c.Turn = mail.TurnStart
		if m != nil && m.State == mail.Working && m.Continues == 0 && !s.changes(c, now) {
			return nil
		}
	default: // a tool runs: the agent is at work, whatever was said before
		if m == nil || m.State != mail.Working {
			c.State = mail.Working
		} else if !s.changes(c, now) {
			return nil
		}
	}
	return append([]mail.Event{{Agent: c}}, v.obeyed(s, m, t)...)
}

// obeyed returns the receipts of the cancels that were told in a turn that ends: whoever stops has obeyed.
func (v *view) obeyed(s *state, m *member, t mail.Turn) (events []mail.Event) {
	if m == nil || t.Moment != mail.TurnEnd {
		return nil
	}
	for _, r := range m.cancels {
		if k := r.marksOf(m); k != nil && k.presented != 0 {
			events = append(events, mail.Event{Receipt: &mail.Receipt{Message: r.msg.ID, Reader: mail.AgentAddress(m.Name), Mark: mail.MarkRead}})
		}
	}
	return events
}

// inSession returns the member that a session entered, which may be NAME-2 for NAME; nil if it has entered none.
func (s *state) inSession(name mail.Name, session string) *member {
	if m := s.agent(name); m != nil && m.Session == session {
		return m
	}
	for m := range s.agents() {
		if m.Session == session && (m.Name == name || m.Base == name) {
			return m
		}
	}
	return nil
}

// applyTurn settles the beginning and the end of a turn. At the end, mail that wakes and that the agent has not been shown keeps it working, unless
// that happened too often in a row.
func (s *state) applyTurn(m *member, c *mail.AgentChange, at mail.Time) {
	m.GaveUp = false
	switch c.Turn {
	case mail.TurnStart:
		m.Continues = 0
		s.setState(m, mail.Working, at)
	case mail.TurnEnd:
		waiting := s.unseenWaking(m, at)
		if waiting && m.Continues < mail.MaxContinues {
			m.Continues++
			s.setState(m, mail.Working, at)
			return
		}
		m.GaveUp, m.Continues = waiting, 0
		s.setState(m, mail.Idle, at)
	}
}

func (s *state) unseenWaking(m *member, at mail.Time) bool {
	return slices.ContainsFunc(m.unread, func(r *record) bool { return s.wakes(r, m, at) })
}

// told says what the session is to be told.
func (v *view) told(s *state, c *mail.AgentChange, t mail.Turn, now mail.Time) mail.Told {
	m := s.inSession(c.Name, t.Session)
	if m == nil {
		return mail.Told{Agent: c.Name, State: mail.Gone}
	}
	out := mail.Told{Agent: m.Name, State: m.State, Unread: s.countUnread(m, now)}
	if t.Moment == mail.BeforeTool {
		out.Cancel = s.pendingCancel(m, now)
		return out
	}
	out.Continue = t.Moment == mail.TurnEnd && m.State == mail.Working
	out.GaveUp = m.GaveUp
	if t.Moment == mail.SessionEnd || t.Moment == mail.TurnEnd && !out.Continue {
		return out
	}
	v.fill(s, m, t, now, &out)
	return out
}

// fill adds the messages that the session has not been told of.
func (v *view) fill(s *state, m *member, t mail.Turn, now mail.Time, out *mail.Told) {
	var news []*record
	for _, r := range m.unread {
		if !s.visible(r, m, now) || r.toldIn(m) {
			continue
		}
		if t.Moment == mail.SessionStart || s.wakesNow(r, m) {
			news = append(news, r)
		}
	}
	slices.SortStableFunc(news, func(a, b *record) int { return urgency(b) - urgency(a) })
	limit := t.Limit
	if limit == 0 {
		limit = defaultTold
	}
	if len(news) > limit {
		out.More = len(news) - limit
		news = news[:limit]
	}
	for _, r := range news {
		out.Items = append(out.Items, s.item(r, m, now))
	}
}

func urgency(r *record) int {
	switch {
	case r.msg.Type == mail.Cancel:
		return 2
	case r.msg.Priority == mail.Urgent:
		return 1
	}
	return 0
}

// toldIn reports whether m's present session was shown r, or pointed to it.
func (r *record) toldIn(m *member) bool {
	k := r.marksOf(m)
	return k != nil && k.told > m.Began
}

// wakesNow reports whether r is of the kind that wakes m.
func (s *state) wakesNow(r *record, m *member) bool {
	for a := range r.addresses(m) {
		if policy.Wakes(&r.msg, a, m.hasRole(string(mail.Orchestrator))) {
			return true
		}
	}
	return false
}

// pendingCancel returns the first cancel that m has not marked read. It looks at cancels only, however much else waits.
func (s *state) pendingCancel(m *member, now mail.Time) *mail.Item {
	for _, r := range m.cancels {
		if s.visible(r, m, now) {
			return new(s.item(r, m, now))
		}
	}
	return nil
}
