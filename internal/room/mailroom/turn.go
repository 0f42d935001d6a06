package mailroom

import (
	"context"
	"slices"

	"pennypost/internal/mail"
	"pennypost/internal/room/check"
	"pennypost/internal/room/fold"
)

// defaultBriefing is how many messages a moment tells of at most.
const defaultBriefing = 20

// Turn implements mail.Turner.
func (v *view) Turn(ctx context.Context, t mail.Turn) (mail.Briefing, error) {
	if err := t.Check(); err != nil {
		return mail.Briefing{}, err
	}
	if v.IsUser() || v.Who == mail.System {
		return mail.Briefing{}, mail.Errorf(mail.Denied,
			"only agents have sessions; give the agent with --as NAME or PENNYPOST_AGENT")
	}
	c, err := v.Change(mail.Presence{Session: t.Session, Client: t.Client, Process: t.Process})
	if err != nil {
		return mail.Briefing{}, err
	}
	var brief mail.Briefing
	over, asks := false, false
	v.check(func(v *check.View) { brief, over, asks = v.Begin(c, t) })
	if over {
		return v.withTexts(ctx, brief)
	}
	var held map[mail.ID]bool
	if asks && t.Held != nil {
		held = t.Held() // nothing is locked meanwhile
	}
	defer v.claiming(c)()
	asked := *c
	if err := v.attempt(ctx, func(v *check.View) ([]mail.Event, error) {
		c = new(asked)
		return v.Turn(c, t, held)
	}); err != nil {
		return mail.Briefing{}, err
	}
	var events []mail.Event
	v.read(func(s *fold.State, now mail.Time) {
		brief = v.briefing(s, c, t, now)
		events = events[:0]
		if brief.GaveUp {
			events = v.on(s, now).GaveUp(s.Agent(brief.Agent), t)
		}
	})
	// nothing, unless mail came between the look and the turn's end
	if _, err = v.commit(ctx, events...); err != nil {
		return brief, err
	}
	return v.withTexts(ctx, brief)
}

// withTexts adds the texts to a briefing.
func (v *view) withTexts(ctx context.Context, brief mail.Briefing) (_ mail.Briefing, err error) {
	if brief.Items, err = v.complete(ctx, brief.Items); err == nil {
		brief.Cancel, err = v.completeOne(ctx, brief.Cancel)
	}
	return brief, err
}

// Seat returns the agent in which a live session of an agent's name runs, which may be NAME-2 for NAME; "" if it runs
// in none.
func (r *Room) Seat(name mail.Name, session string) mail.Name {
	now := r.now()
	r.mu.RLock()
	defer r.mu.RUnlock()
	m := r.state.InSession(name, session)
	if m == nil || m.Session != session || !m.Live(now) {
		return ""
	}
	return m.Name
}

// briefing returns the briefing for the session.
func (v *view) briefing(s *fold.State, c *mail.AgentChange, t mail.Turn, now mail.Time) mail.Briefing {
	m := s.InSession(c.Name, t.Session)
	if m == nil {
		return mail.Briefing{Agent: c.Name, State: mail.Gone}
	}
	out := mail.Briefing{Agent: m.Name, State: m.State, Unread: s.CountUnread(m, now), Known: m.IsIntroduced()}
	if t.Moment == mail.BeforeTool {
		out.Cancel = v.sight(s).PendingCancel(m, now)
		return out
	}
	out.Continue = t.Moment == mail.TurnEnd && m.State == mail.Working
	out.GaveUp = t.Moment == mail.TurnEnd && m.GaveUp
	if t.Quiet || t.Moment == mail.SessionEnd || t.Moment == mail.TurnEnd && !out.Continue {
		return out
	}
	v.fill(s, m, t, now, &out)
	return out
}

// fill adds the messages that the session has not been told of.
func (v *view) fill(s *fold.State, m *fold.Member, t mail.Turn, now mail.Time, out *mail.Briefing) {
	news, counted := v.untold(s, m, t, now)
	limit := t.Limit
	if limit == 0 {
		limit = defaultBriefing
	}
	news, out.More = v.handover.take(m, news, limit, now)
	for _, r := range news {
		out.Items = append(out.Items, v.sight(s).Item(r, m, now))
	}
	counted, _ = v.handover.take(m, counted, len(counted), now)
	for _, r := range counted {
		out.Counted = append(out.Counted, r.Msg.ID)
	}
}

// untold returns the messages of which a session has not been told, the most urgent first, and those that are only
// counted.
func (v *view) untold(s *fold.State, m *fold.Member, t mail.Turn, now mail.Time) (news, counted []*fold.Record) {
	start, waiting := t.Moment == mail.SessionStart || t.Moment == mail.TurnStart, m.Callers(now)
	if start {
		waiting = m.Unread.Alive(false, now)
	}
	for r := range waiting {
		if !s.Visible(r, m, now) || r.ToldIn(m) || r.Withdrawn() || r.InInbox(m) {
			continue
		}
		switch wakes := s.WakesNow(r, m); {
		case start && !wakes && r.Msg.Type == mail.Status:
			counted = append(counted, r)
		case start || wakes:
			news = append(news, r)
		}
	}
	slices.SortStableFunc(news, func(a, b *fold.Record) int { return urgency(b) - urgency(a) })
	return news, counted
}

func urgency(r *fold.Record) int {
	switch {
	case r.Msg.Type.Rule().Stops:
		return 2
	case r.Msg.Priority == mail.Urgent:
		return 1
	}
	return 0
}
