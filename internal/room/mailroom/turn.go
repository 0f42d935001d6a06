package mailroom

import (
	"context"
	"fmt"
	"slices"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// defaultBriefing is how many messages a moment tells of at most.
const defaultBriefing = 20

// Turn implements mail.Turner.
func (v *view) Turn(ctx context.Context, t mail.Turn) (mail.Briefing, error) {
	if err := t.Check(); err != nil {
		return mail.Briefing{}, err
	}
	if v.isUser() || v.caller == mail.System {
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
	if err := v.attempt(ctx, func() ([]mail.Event, error) {
		c = new(asked)
		return v.turning(ctx, c, t, held)
	}); err != nil {
		return mail.Briefing{}, err
	}
	var events []mail.Event
	var brief mail.Briefing
	v.read(func(s *state, now mail.Time) {
		brief = v.briefing(s, c, t, now)
		events = events[:0]
		if brief.GaveUp {
			events = v.gaveUp(s, s.agent(brief.Agent), t, now)
		}
	})
	// nothing, unless mail came between the look and the turn's end
	if _, err = v.commit(ctx, events...); err != nil {
		return brief, err
	}
	return v.withTexts(ctx, brief)
}

// turning checks whether a session may have a turn, and returns what that changes.
func (v *view) turning(ctx context.Context, c *mail.AgentChange, t mail.Turn, held map[mail.ID]bool) (
	events []mail.Event, err error) {
	var full *trip
	v.read(func(s *state, now mail.Time) {
		if full, err = v.mayJoin(s, c.Name, v.parent); full != nil || err != nil {
			return
		}
		if v.parent != "" && s.agent(c.Name) == nil && s.inSession(c.Name, t.Session) == nil {
			c.Parent = &v.parent
		}
		v.grant(s, c)
		var frees bool
		if events, frees = v.ended(s, c, now); !frees {
			if full, err = v.doubled(s, c, now), v.onlyOne(s, c, now); full != nil || err != nil {
				return
			}
		}
		v.checked(s, c, false)
		events = append(events, v.turnEvents(s, c, t, held, now)...)
	})
	if full != nil {
		return nil, v.tripped(ctx, full)
	}
	return events, err
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
	v.read(func(s *state, now mail.Time) {
		brief = mail.Briefing{Agent: c.Name, State: mail.Gone}
		m := s.inSession(c.Name, t.Session)
		if m == nil { // a client may name the subagent above, and not the session above all
			m = v.inProgram(s, c.Name, t.Process)
		}
		if m != nil {
			brief.Agent, brief.State = m.Name, m.State
			if t.Moment == mail.BeforeTool {
				brief.Cancel = v.sight(s).pendingCancel(m, now)
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
	v.read(func(s *state, _ mail.Time) {
		lacks = s.inSession(c.Name, t.Session) == nil && len(s.programs[c.Process]) == 0
	})
	return lacks
}

// staleRing reports whether a turn was begun by a door for mail that was dealt with meanwhile.
func (v *view) staleRing(c *mail.AgentChange, t mail.Turn) (brief mail.Briefing, stale bool) {
	if !t.Ring || t.Moment != mail.TurnStart {
		return brief, false
	}
	v.read(func(s *state, now mail.Time) {
		if m := s.inSession(c.Name, t.Session); m != nil && !s.awaitsTurn(m, now) {
			brief, stale = mail.Briefing{Agent: m.Name, State: m.State, Unread: s.countUnread(m, now),
				Stale: true}, true
		}
	})
	return brief, stale
}

// held returns which messages the client still has in the conversation, where it can tell and where it matters: when
// a turn has not come to its end, and when a session goes on. Nothing is locked meanwhile.
func (v *view) held(c *mail.AgentChange, t mail.Turn) map[mail.ID]bool {
	matters := false
	v.read(func(s *state, _ mail.Time) {
		m := s.inSession(c.Name, t.Session)
		matters = m != nil && (breaksOff(t, m.State) && len(m.told) > 0 ||
			t.Moment == mail.SessionStart && len(m.unread.list) > 0)
	})
	if !matters || t.Held == nil {
		return nil
	}
	return t.Held()
}

// turnEvents returns what a moment changes.
func (v *view) turnEvents(s *state, c *mail.AgentChange, t mail.Turn, held map[mail.ID]bool,
	now mail.Time) []mail.Event {
	m := s.inSession(c.Name, t.Session)
	if m == nil {
		return v.momentEvents(s, nil, c, t, now)
	}
	c.Name = m.Name
	if t.Moment == mail.SessionEnd && goesOnElsewhere(m, t) {
		return nil
	}
	events := append(s.afterTelling(m, t, held, now), v.momentEvents(s, m, c, t, now)...)
	if t.Moment == mail.SessionStart {
		events = append(events, s.goingOn(m, held, now)...)
	}
	return events
}

// goesOnElsewhere reports whether m's session was resumed by another program than the one in which it ended.
func goesOnElsewhere(m *member, t mail.Turn) bool {
	return t.Process != "" && m.Process != "" && m.Process != t.Process
}

// goingOn returns the receipts by which unread mail counts as told that the conversation of a session has which goes
// on, after its program was killed for example.
func (s *state) goingOn(m *member, held map[mail.ID]bool, now mail.Time) (events []mail.Event) {
	if len(held) == 0 {
		return nil
	}
	for r := range m.unread.alive(false, now) {
		if held[r.msg.ID] && !r.handedIn(m) {
			events = append(events, mail.Event{Receipt: &mail.Receipt{Message: r.msg.ID,
				Reader: mail.AgentAddress(m.Name), Mark: mail.MarkTold, Door: mail.HookDoor}})
		}
	}
	return events
}

// afterTelling returns the receipts by which what m's session was told counts as presented, or is told again, unless
// the client still has it in the conversation.
func (s *state) afterTelling(m *member, t mail.Turn, held map[mail.ID]bool, now mail.Time) (events []mail.Event) {
	broken := breaksOff(t, m.State)
	if !t.Proof && !broken {
		return nil
	}
	for _, r := range m.told {
		k := r.marksOf(m)
		rc := &mail.Receipt{Message: r.msg.ID, Reader: mail.AgentAddress(m.Name), Mark: mail.MarkUntold}
		switch {
		case !broken && k.pending():
			rc.Mark, rc.Door = mail.MarkPresented, mail.HookDoor
		case broken && held[r.msg.ID]:
			continue // the next request holds it
		case now.Sub(k.shown().told) < handoverTime && t.Moment != mail.SessionEnd && !t.Over:
			continue // by another hook of this moment
		}
		events = append(events, mail.Event{Receipt: rc})
	}
	return events
}

// breaksOff reports whether a moment shows that the turn before it did not come to its end, or that there will be
// none. What was told to a session that is idle waits for its first turn.
func breaksOff(t mail.Turn, state mail.State) bool {
	switch t.Moment {
	case mail.SessionStart, mail.SessionEnd:
		return true
	case mail.TurnStart:
		return state == mail.Working && !t.Within
	}
	return t.Over && state == mail.Working
}

// momentEvents returns what a moment changes about the agent.
func (v *view) momentEvents(s *state, m *member, c *mail.AgentChange, t mail.Turn, now mail.Time) []mail.Event {
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
		events := append([]mail.Event{{Agent: c}}, v.obeyed(s, m)...)
		if m != nil && (t.Over || m.Continues >= mail.MaxContinues) {
			events = append(events, v.gaveUp(s, m, t, now)...)
		}
		return events
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
	return []mail.Event{{Agent: c}}
}

// obeyed returns the receipts of the cancels that were told in a turn that ends: whoever stops has obeyed.
func (v *view) obeyed(s *state, m *member) (events []mail.Event) {
	if m == nil {
		return nil
	}
	for _, r := range m.cancels {
		if k := r.marksOf(m); k != nil && (k.shown().presented != 0 || k.shown().told != 0) {
			events = append(events, mail.Event{Receipt: &mail.Receipt{Message: r.msg.ID,
				Reader: mail.AgentAddress(m.Name), Mark: mail.MarkRead}})
		}
	}
	return events
}

// inSession returns the member that a session entered, which may be NAME-2 for NAME; nil if it has entered none. A
// session that ended and is resumed finds the name that it had, if nobody else's session is there.
func (s *state) inSession(name mail.Name, session string) *member {
	if m := s.agent(name); m != nil && m.Session == session {
		return m
	}
	var left *member
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

// inProgram returns the one member that a program's session entered, which may be NAME-2 for NAME; nil if there is
// none, or several.
func (r *Room) inProgram(s *state, name mail.Name, program string) (found *member) {
	for _, m := range s.programs[program] {
		if !m.listed() || !r.here(m) || m.Session == "" || m.Name != name && m.Base != name {
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
	m := r.state.inSession(name, session)
	if m == nil || m.Session != session || !m.live(now) {
		return ""
	}
	return m.Name
}

// gaveUp returns the message that tells the user of mail over which m stopped. It is sent once for the same mail,
// however often m stops over it. If m has a door, that is rung now, and whoever rings tells the user if it is in vain.
func (v *view) gaveUp(s *state, m *member, t mail.Turn, now mail.Time) []mail.Event {
	waiting := s.unseen(m, now)
	if len(waiting) == 0 || v.sight(s).hasDoor(m) {
		return nil
	}
	key := policy.VainKey(string(m.Name), waiting)
	if s.sentBefore(s.keyOf(mail.FromSystem, key)) {
		return nil
	}
	why := fmt.Sprintf("They did so %d times in a row, and it has not looked at them", mail.MaxContinues)
	if t.Over {
		why = "It was broken off"
	}
	ids, _ := v.minting(s, nil)
	return []mail.Event{{Message: &mail.Message{
		ID: v.newID(s, ids), Type: mail.Custom, From: mail.FromSystem, To: []mail.Address{mail.ToUser},
		Priority: mail.Urgent, Key: key,
		Subject: string(m.Name) + " has stopped over unread mail", Metadata: stoppedOver(m.Name, waiting),
		Body: fmt.Sprintf("%d unread of %s should have kept its turn going. %s; now its turn has ended.\n\nThey are "+
			"listed by: pennypost inbox --agent '%s'\n",
			len(waiting), m.Name, why, m.Name),
	}}}
}

// awaitsTurn reports whether a turn of m's is worth while: mail that wakes was not shown to it, or was handed to its
// client for a turn that has not begun.
func (s *state) awaitsTurn(m *member, now mail.Time) bool {
	for r := range m.callers(now) {
		if s.wakes(r, m, now) || s.awaits(r, m, now) {
			return true
		}
	}
	return false
}

// unseen returns the mail that should wake m and that nobody has shown it.
func (s *state) unseen(m *member, now mail.Time) (ids []mail.ID) {
	for r := range m.callers(now) {
		if s.wakes(r, m, now) {
			ids = append(ids, r.msg.ID)
		}
	}
	return ids
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

// applyTurn settles the beginning and the end of a turn. At the end, mail that wakes and that the agent has not been
// shown keeps it working, unless that happened too often in a row.
func (s *state) applyTurn(m *member, c *mail.AgentChange, at mail.Time) {
	m.GaveUp, m.Broken = false, c.Over
	switch c.Turn {
	case mail.TurnStart:
		m.Continues = 0
		s.setState(m, mail.Working, at)
	case mail.TurnEnd:
		waiting := len(s.unseen(m, at)) > 0
		if waiting && !c.Over && m.Continues < mail.MaxContinues {
			m.Continues++
			s.setState(m, mail.Working, at)
			return
		}
		m.GaveUp, m.Continues = waiting, 0
		s.setState(m, mail.Idle, at)
	}
}

// briefing says what the session is to be told.
func (v *view) briefing(s *state, c *mail.AgentChange, t mail.Turn, now mail.Time) mail.Briefing {
	m := s.inSession(c.Name, t.Session)
	if m == nil {
		return mail.Briefing{Agent: c.Name, State: mail.Gone}
	}
	out := mail.Briefing{Agent: m.Name, State: m.State, Unread: s.countUnread(m, now), Known: m.introduced()}
	if t.Moment == mail.BeforeTool {
		out.Cancel = v.sight(s).pendingCancel(m, now)
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
func (v *view) fill(s *state, m *member, t mail.Turn, now mail.Time, out *mail.Briefing) {
	var news, counted []*record
	start, waiting := t.Moment == mail.SessionStart || t.Moment == mail.TurnStart, m.callers(now)
	if start {
		waiting = m.unread.alive(false, now)
	}
	for r := range waiting {
		if !s.visible(r, m, now) || r.toldIn(m) || r.withdrawn() || r.inInbox(m) {
			continue
		}
		switch wakes := s.wakesNow(r, m); {
		case start && !wakes && r.msg.Type == mail.Status:
			counted = append(counted, r)
		case start || wakes:
			news = append(news, r)
		}
	}
	slices.SortStableFunc(news, func(a, b *record) int { return urgency(b) - urgency(a) })
	limit := t.Limit
	if limit == 0 {
		limit = defaultBriefing
	}
	news, out.More = v.handover.take(m, news, limit, now)
	for _, r := range news {
		out.Items = append(out.Items, v.sight(s).item(r, m, now))
	}
	counted, _ = v.handover.take(m, counted, len(counted), now)
	for _, r := range counted {
		out.Counted = append(out.Counted, r.msg.ID)
	}
}

func urgency(r *record) int {
	switch {
	case r.msg.Type.Rule().Stops:
		return 2
	case r.msg.Priority == mail.Urgent:
		return 1
	}
	return 0
}

// toldIn reports whether m's present session was shown r, or pointed to it.
func (r *record) toldIn(m *member) bool {
	k := r.marksOf(m)
	return k != nil && k.shown().mentioned > m.Began
}

// introduced reports whether the model of m's present session was shown mail by a hook, and has that still.
func (m *member) introduced() bool { return m.Introduced > max(m.Began, m.Summed) }

// has reports whether the model of m's present session was handed the text of r, and has it still. Of a connection
// nobody knows when its model forgets.
func (m *member) has(r *record) bool { return m.Session != "" && !m.Joined && r.keptBy(m) }

// keptBy is handedIn for what was handed over since m's session was summed up.
func (r *record) keptBy(m *member) bool {
	k := r.marksOf(m)
	return k != nil && k.shown().handedOver > max(m.Began, m.Summed)
}

// handedIn reports whether m's present session was handed the text of r.
func (r *record) handedIn(m *member) bool {
	k := r.marksOf(m)
	return k != nil && k.shown().handedOver > m.Began
}

// wakesNow reports whether r is of the kind that wakes m.
func (s *state) wakesNow(r *record, m *member) bool {
	for a := range r.addresses(m) {
		if r.wakes(a, m.hasRole(string(mail.Orchestrator))) {
			return true
		}
	}
	return false
}

// pendingCancel returns the first cancel that m has not marked read. It looks at cancels only, however much else
// waits. One from before the session began was for another, and is told of as any mail.
func (s sight) pendingCancel(m *member, now mail.Time) *mail.Item {
	for _, r := range m.cancels {
		if r.seq > m.Began && s.visible(r, m, now) {
			return new(s.item(r, m, now))
		}
	}
	return nil
}
