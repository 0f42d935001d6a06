package check

import (
	"fmt"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
	"pennypost/internal/policy"
	"pennypost/internal/room/fold"
)

// Begin checks whether a moment of a session changes anything. If that ends it, brief is the whole answer. Otherwise
// asks says whether it matters which messages the client still has in the conversation, where it can tell: when a
// turn has not reached its end, and when a session continues.
func (v *View) Begin(c *mail.AgentChange, t mail.Turn) (brief mail.Briefing, over, asks bool) {
	m := v.InSession(c.Name, t.Session)
	brief = mail.Briefing{Agent: c.Name, State: mail.Gone}
	switch {
	case t.Sub:
		return v.briefSubagent(m, c, t), true, false
	case m == nil:
		// A program that began before our tools were set up has none of them: by the time of a late hook, neither a
		// hook nor a connection of it has told the room of it.
		brief.Unequipped = t.Late && c.Process != "" && len(v.Programs[c.Process]) == 0
		return brief, brief.Unequipped, false
	case t.Ring && t.Moment == mail.TurnStart && !v.AwaitsTurn(m, v.Now):
		// a door began it for mail that was dealt with meanwhile
		return mail.Briefing{Agent: m.Name, State: m.State, Unread: v.CountUnread(m, v.Now), Stale: true}, true, false
	}
	asks = fold.BreaksOff(t, m.State) && len(m.Told) > 0 || t.Moment == mail.SessionStart && len(m.Unread.List) > 0
	return brief, false, asks
}

// briefSubagent returns the briefing of a subagent of m's session. It is not on the roster, and does not do its
// session's work.
func (v *View) briefSubagent(m *fold.Member, c *mail.AgentChange, t mail.Turn) mail.Briefing {
	if m == nil { // a client may name the subagent above, but not the session at the top
		m = v.inProgram(c.Name, t.Process)
	}
	if m == nil {
		return mail.Briefing{Agent: c.Name, State: mail.Gone}
	}
	brief := mail.Briefing{Agent: m.Name, State: m.State}
	if t.Moment == mail.BeforeTool {
		brief.Cancel = v.PendingCancel(m, v.Now)
	}
	return brief
}

// Turn checks whether a session may have a turn, and returns the resulting events.
func (v *View) Turn(c *mail.AgentChange, t mail.Turn, held map[mail.ID]bool) ([]mail.Event, error) {
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

// turnEvents returns the events of a moment.
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

// momentEvents returns the events of a moment that change the agent.
func (v *View) momentEvents(m *fold.Member, c *mail.AgentChange, t mail.Turn) []mail.Event {
	switch t.Moment {
	case mail.SessionEnd:
		return ending(m, t)
	case mail.SessionStart:
		c.Summed = t.Summed
	case mail.TurnEnd:
		c.Turn, c.Over = mail.TurnEnd, t.Over
		events := append([]mail.Event{{Agent: c}}, v.obeyed(m)...)
		if m != nil && (t.Over || m.Continues >= mail.MaxContinues) {
			events = append(events, v.GaveUp(m, t)...)
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

// ending returns the events that end a session of m.
func ending(m *fold.Member, t mail.Turn) []mail.Event {
	if m == nil {
		return nil
	}
	end := mail.Event{Agent: &mail.AgentChange{Name: m.Name, Session: t.Session, End: true}}
	if t.Frozen {
		return []mail.Event{{Agent: &mail.AgentChange{Name: m.Name, State: mail.Frozen}}, end}
	}
	return []mail.Event{end}
}

// obeyed returns the receipts of the cancels that were told in a turn that ends: an agent that stops has obeyed.
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
		if !m.Listed() || !v.Here(m) || m.Session == "" || m.Name != name && m.Base != name {
			continue
		}
		if found != nil {
			return nil
		}
		found = m
	}
	return found
}

// GaveUp returns the message that tells the user about mail over which m stopped. It is sent once for the same mail,
// however often m stops over it. If m has a door, that is rung now, and the ringer tells the user if that fails.
func (v *View) GaveUp(m *fold.Member, t mail.Turn) []mail.Event {
	waiting := v.Unseen(m, v.Now)
	if len(waiting) == 0 || v.HasDoor(m) {
		return nil
	}
	key := policy.VainKey(string(m.Name), waiting)
	if v.SentBefore(v.KeyOf(mail.FromSystem, key)) {
		return nil
	}
	why := fmt.Sprintf("It continued %d times in a row without reading them", mail.MaxContinues)
	if t.Over {
		why = "It was interrupted"
	}
	ids, _ := v.minting(nil)
	return []mail.Event{{Message: &mail.Message{
		ID: v.NewID(v.State, ids), Type: mail.Custom, From: mail.FromSystem, To: []mail.Address{mail.ToUser},
		Priority: mail.Urgent, Key: key,
		Subject: string(m.Name) + " has stopped with unread mail", Metadata: stoppedOver(m.Name, waiting),
		Body: fmt.Sprintf("%d unread messages should have kept %s working. %s; now its turn has ended.\n\nTo list "+
			"them: pennypost inbox --agent '%s'\n",
			len(waiting), m.Name, why, m.Name),
	}}}
}

// stoppedOver says in JSON which agent stopped over which messages.
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
		return nil // the body says it too
	}
	return raw
}

// maxGaveUp is how many ids such a message names.
const maxGaveUp = 20
