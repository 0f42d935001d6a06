package mailroom

import (
	"context"
	"fmt"
	"slices"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
	"pennypost/internal/policy"
	"pennypost/internal/room/fold"
)

// defaultBriefing is how many messages a moment tells of at most.
const defaultBriefing = 20

// Turn implements mail.Turner.
func (v *view) Turn(ctx context.Context, t mail.Turn) (mail.Briefing, error) {
	if err := t.Check(); err != nil {
		return mail.Briefing{}, err
	}
	if v.isUser() || v.Who == mail.System {
		return mail.Briefing{}, mail.Errorf(mail.Denied,
			"only agents have sessions; say which with --as NAME or PENNYPOST_AGENT")
	}
	c, err := v.change(mail.Presence{Session: t.Session, Client: t.Client, Process: t.Process})
	if err != nil {
		return mail.Briefing{}, err
	}
	if t.Sub {
		return v.withTexts(ctx, v.subagentTurn(c, t))
	}
	if v.unequipped(c, t) {
		return mail.Briefing{Agent: c.Name, State: mail.Gone, Unequipped: true}, nil
	}
	if brief, stale := v.staleRing(c, t); stale {
		return brief, nil
	}
	defer v.claiming(c)()
	asked, held := *c, v.held(c, t)
	if err := v.attempt(ctx, func(v *View) ([]mail.Event, error) {
		c = new(asked)
		return v.turning(c, t, held)
	}); err != nil {
		return mail.Briefing{}, err
	}
	var events []mail.Event
	var brief mail.Briefing
	v.read(func(s *fold.State, now mail.Time) {
		brief = v.briefing(s, c, t, now)
		events = events[:0]
		if brief.GaveUp {
			events = v.on(s, now).gaveUp(s.Agent(brief.Agent), t)
		}
	})
	// nothing, unless mail came between the look and the turn's end
	if _, err = v.commit(ctx, events...); err != nil {
		return brief, err
	}
	return v.withTexts(ctx, brief)
}

// turning checks whether a session may have a turn, and returns what that changes.
func (v *View) turning(c *mail.AgentChange, t mail.Turn, held map[mail.ID]bool) ([]mail.Event, error) {
	if err := v.mayJoin(c.Name, v.Parent); err != nil {
		return nil, err
	}
	if v.Parent != "" && v.Agent(c.Name) == nil && v.InSession(c.Name, t.Session) == nil {
		c.Parent = &v.Parent
	}
	events, err := v.enter(c)
	if err != nil {
		return nil, err
	}
	v.checked(c, false)
	return append(events, v.turnEvents(c, t, held)...), nil
}

// withTexts completes what a session is to be told.
func (v *view) withTexts(ctx context.Context, brief mail.Briefing) (_ mail.Briefing, err error) {
	if brief.Items, err = v.complete(ctx, brief.Items); err == nil {
		brief.Cancel, err = v.completeOne(ctx, brief.Cancel)
	}
	return brief, err
}

// subagentTurn says what a subagent is to be told. It is nobody on the roster, and does not do its session's work.
func (v *view) subagentTurn(c *mail.AgentChange, t mail.Turn) (brief mail.Briefing) {
	v.read(func(s *fold.State, now mail.Time) {
		brief = mail.Briefing{Agent: c.Name, State: mail.Gone}
		m := s.InSession(c.Name, t.Session)
		if m == nil { // a client may name the subagent above, and not the session above all
			m = v.on(s, now).inProgram(c.Name, t.Process)
		}
		if m != nil {
			brief.Agent, brief.State = m.Name, m.State
			if t.Moment == mail.BeforeTool {
				brief.Cancel = v.sight(s).PendingCancel(m, now)
			}
		}
	})
	return brief
}

// unequipped reports whether a session's program has none of our tools, because it began before they were set up: by
// then neither a hook nor a connection of it has told the room of it.
func (v *view) unequipped(c *mail.AgentChange, t mail.Turn) (lacks bool) {
	if !t.Late || c.Process == "" {
		return false
	}
	v.read(func(s *fold.State, _ mail.Time) {
		lacks = s.InSession(c.Name, t.Session) == nil && len(s.Programs[c.Process]) == 0
	})
	return lacks
}

// staleRing reports whether a turn was begun by a door for mail that was dealt with meanwhile.
func (v *view) staleRing(c *mail.AgentChange, t mail.Turn) (brief mail.Briefing, stale bool) {
	if !t.Ring || t.Moment != mail.TurnStart {
		return brief, false
	}
	v.read(func(s *fold.State, now mail.Time) {
		if m := s.InSession(c.Name, t.Session); m != nil && !s.AwaitsTurn(m, now) {
			brief, stale = mail.Briefing{Agent: m.Name, State: m.State, Unread: s.CountUnread(m, now),
				Stale: true}, true
		}
	})
	return brief, stale
}

// held returns which messages the client still has in the conversation, where it can tell and where it matters: when
// a turn has not come to its end, and when a session goes on. Nothing is locked meanwhile.
func (v *view) held(c *mail.AgentChange, t mail.Turn) map[mail.ID]bool {
	matters := false
	v.read(func(s *fold.State, _ mail.Time) {
		m := s.InSession(c.Name, t.Session)
		matters = m != nil && (fold.BreaksOff(t, m.State) && len(m.Told) > 0 ||
			t.Moment == mail.SessionStart && len(m.Unread.List) > 0)
	})
	if !matters || t.Held == nil {
		return nil
	}
	return t.Held()
}

// turnEvents returns what a moment changes.
func (v *View) turnEvents(c *mail.AgentChange, t mail.Turn, held map[mail.ID]bool) []mail.Event {
	m := v.InSession(c.Name, t.Session)
	if m == nil {
		return v.momentEvents(nil, c, t)
	}
	c.Name = m.Name
	if t.Moment == mail.SessionEnd && goesOnElsewhere(m, t) {
		return nil
	}
	events := append(v.AfterTelling(m, t, held, v.Now), v.momentEvents(m, c, t)...)
	if t.Moment == mail.SessionStart {
		events = append(events, v.GoingOn(m, held, v.Now)...)
	}
	return events
}

// goesOnElsewhere reports whether m's session was resumed by another program than the one in which it ended.
func goesOnElsewhere(m *fold.Member, t mail.Turn) bool {
	return t.Process != "" && m.Process != "" && m.Process != t.Process
}

// momentEvents returns what a moment changes about the agent.
func (v *View) momentEvents(m *fold.Member, c *mail.AgentChange, t mail.Turn) []mail.Event {
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
		c.Summed = t.Summed
	case mail.TurnEnd:
		c.Turn, c.Over = mail.TurnEnd, t.Over
		events := append([]mail.Event{{Agent: c}}, v.obeyed(m)...)
		if m != nil && (t.Over || m.Continues >= mail.MaxContinues) {
			events = append(events, v.gaveUp(m, t)...)
		}
		return events
	case mail.TurnStart:
		c.Turn = mail.TurnStart
		if m != nil && m.State == mail.Working && m.Continues == 0 && !v.Changes(c, v.Now) {
			return nil
		}
	default: // a tool runs: the agent is at work, whatever was said before
		if m == nil || m.State != mail.Working {
			c.State = mail.Working
		} else if !v.Changes(c, v.Now) {
			return nil
		}
	}
	return []mail.Event{{Agent: c}}
}

// obeyed returns the receipts of the cancels that were told in a turn that ends: whoever stops has obeyed.
func (v *View) obeyed(m *fold.Member) (events []mail.Event) {
	if m == nil {
		return nil
	}
	for _, r := range m.Cancels {
		if k := r.MarksOf(m); k != nil && (k.Shown().Presented != 0 || k.Shown().Told != 0) {
			events = append(events, mail.Event{Receipt: &mail.Receipt{Message: r.Msg.ID,
				Reader: mail.AgentAddress(m.Name), Mark: mail.MarkRead}})
		}
	}
	return events
}

// inProgram returns the one member that a program's session entered, which may be NAME-2 for NAME; nil if there is
// none, or several.
func (v *View) inProgram(name mail.Name, program string) (found *fold.Member) {
	for _, m := range v.Programs[program] {
		if !m.Listed() || !v.here(m) || m.Session == "" || m.Name != name && m.Base != name {
			continue
		}
		if found != nil {
			return nil
		}
		found = m
	}
	return found
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

// gaveUp returns the message that tells the user of mail over which m stopped. It is sent once for the same mail,
// however often m stops over it. If m has a door, that is rung now, and whoever rings tells the user if it is in vain.
func (v *View) gaveUp(m *fold.Member, t mail.Turn) []mail.Event {
	waiting := v.Unseen(m, v.Now)
	if len(waiting) == 0 || v.HasDoor(m) {
		return nil
	}
	key := policy.VainKey(string(m.Name), waiting)
	if v.SentBefore(v.KeyOf(mail.FromSystem, key)) {
		return nil
	}
	why := fmt.Sprintf("They did so %d times in a row, and it has not looked at them", mail.MaxContinues)
	if t.Over {
		why = "It was broken off"
	}
	ids, _ := v.minting(nil)
	return []mail.Event{{Message: &mail.Message{
		ID: v.NewID(v.State, ids), Type: mail.Custom, From: mail.FromSystem, To: []mail.Address{mail.ToUser},
		Priority: mail.Urgent, Key: key,
		Subject: string(m.Name) + " has stopped over unread mail", Metadata: stoppedOver(m.Name, waiting),
		Body: fmt.Sprintf("%d unread of %s should have kept its turn going. %s; now its turn has ended.\n\nThey are "+
			"listed by: pennypost inbox --agent '%s'\n",
			len(waiting), m.Name, why, m.Name),
	}}}
}

// stoppedOver says in JSON which agent stopped over what.
func stoppedOver(n mail.Name, waiting []mail.ID) mail.Metadata {
	var out struct {
		Turn struct {
			Agent    mail.Name `json:"agent"`
			Messages []mail.ID `json:"messages"`
		} `json:"turn"`
	}
	out.Turn.Agent, out.Turn.Messages = n, waiting[max(0, len(waiting)-maxGaveUp):]
	raw, err := jsonx.Marshal(&out)
	if err != nil {
		return nil // the body tells it as well as it goes
	}
	return raw
}

// maxGaveUp is how many ids such a message names.
const maxGaveUp = 20

// briefing says what the session is to be told.
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
	var news, counted []*fold.Record
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

func urgency(r *fold.Record) int {
	switch {
	case r.Msg.Type.Rule().Stops:
		return 2
	case r.Msg.Priority == mail.Urgent:
		return 1
	}
	return 0
}
