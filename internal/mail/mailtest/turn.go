package mailtest

import (
	"slices"

	"pennypost/internal/mail"
)

func (s *suite) turn(n mail.Name, moment mail.Moment, session string) mail.Briefing {
	s.Helper()
	brief, err := s.as(n).Turn(s.ctx, mail.Turn{Moment: moment, Session: session, Client: "test"})
	if err != nil {
		s.Fatalf("%s: %s: %v", n, moment, err)
	}
	return brief
}

func (s *suite) wantBriefing(brief mail.Briefing, bodies ...string) {
	s.Helper()
	if got := bodiesOf(brief.Items); !slices.Equal(got, bodies) && len(got)+len(bodies) > 0 {
		s.Errorf("told %q, want %q", got, bodies)
	}
}

// present marks told messages as a hook does that has handed them over.
func (s *suite) present(n mail.Name, brief mail.Briefing) {
	s.Helper()
	m := mail.Marking{Mark: mail.MarkPresented, Door: mail.HookDoor}
	for _, it := range brief.Items {
		m.IDs = append(m.IDs, it.ID)
	}
	if brief.Cancel != nil {
		m.IDs = append(m.IDs, brief.Cancel.ID)
	}
	if _, err := s.as(n).Mark(s.ctx, m); err != nil {
		s.Fatal(err)
	}
}

func (s *suite) question(to string, body string) mail.ID {
	s.Helper()
	return s.send(mail.User, mail.Draft{To: mail.Recipients{to}, Type: string(mail.Question), Body: body}).ID
}

// Mail that arrives before a turn's end keeps it going; mail that arrives after finds the agent idle.
func turnEnd(s *suite) {
	s.turn("ann", mail.SessionStart, "s1")
	s.turn("ann", mail.TurnStart, "s1")
	s.question("ann", "one")
	brief := s.turn("ann", mail.TurnEnd, "s1")
	if !brief.Continue || brief.State != mail.Working {
		s.Errorf("the turn ended over unread mail: %+v", brief)
	}
	s.wantBriefing(brief, "one")
	s.present("ann", brief)
	if brief = s.turn("ann", mail.TurnEnd, "s1"); brief.Continue || brief.State != mail.Idle || len(brief.Items) > 0 {
		s.Errorf("the turn went on over mail that was shown: %+v", brief)
	}
	if d := s.send(mail.User, mail.Draft{To: mail.Recipients{"ann"}, Type: string(mail.Question),
		Body: "two"}).Recipients[0]; d.Wake == mail.WakeTurnEnd {
		s.Errorf("an idle agent is said to look at its turn's end: %+v", d)
	}
	s.turn("ann", mail.TurnStart, "s1")
	for range mail.MaxContinues {
		if brief = s.turn("ann", mail.TurnEnd, "s1"); !brief.Continue {
			s.Fatalf("the turn ended: %+v", brief)
		}
	}
	if brief = s.turn("ann", mail.TurnEnd, "s1"); brief.Continue || !brief.GaveUp || brief.State != mail.Idle {
		s.Errorf("mail that nobody shows kept the turn going for ever: %+v", brief)
	}
	s.turn("ann", mail.TurnStart, "s1")
	if brief = s.turn("ann", mail.TurnEnd, "s1"); !brief.Continue {
		s.Errorf("a new turn ended at once: %+v", brief)
	}
}

func turns(s *suite) {
	s.register("ann")
	s.send(mail.User, mail.Draft{To: mail.Recipients{"ann"}, Type: string(mail.Status), Body: "progress"})
	s.question("ann", "question")
	s.send(mail.User, mail.Draft{To: mail.Recipients{"ann"}, Type: string(mail.Status), Priority: string(mail.Urgent),
		Body: "fire"})
	brief := s.turn("ann", mail.SessionStart, "s1")
	s.wantBriefing(brief, "fire", "question")
	if brief.Agent != "ann" || brief.State != mail.Idle || brief.Unread != 3 || len(brief.Counted) != 1 {
		s.Errorf("told %+v", brief)
	}
	s.present("ann", brief)
	s.wantBriefing(s.turn("ann", mail.SessionStart, "s1")) // resumed: it knows
	s.send(mail.User, mail.Draft{To: mail.Recipients{"ann"}, Type: string(mail.Status), Body: "more progress"})
	s.question("ann", "another")
	brief = s.turn("ann", mail.TurnStart, "s1")
	s.wantBriefing(brief, "another")
	if brief.State != mail.Working || len(brief.Counted) != 1 {
		s.Errorf("a turn began, and ann is told %+v", brief)
	}
	if _, err := s.as("ann").Mark(s.ctx, mail.Marking{IDs: append(brief.Counted, brief.Items[0].ID),
		Mark: mail.MarkNotified, Door: mail.HookDoor}); err != nil {
		s.Fatal(err)
	}
	s.wantBriefing(s.turn("ann", mail.AfterTool, "s1")) // only a pointer was given
	if brief = s.turn("ann", mail.TurnEnd, "s1"); !brief.Continue {
		s.Errorf("a pointer counts as the text: %+v", brief)
	}
	if brief = s.turn("ann-2", mail.SessionEnd, "s9"); brief.State != mail.Gone {
		s.Errorf("the end of an unknown session: %+v", brief)
	}
	s.turn("ann", mail.SessionEnd, "s1")
	// resumed: the transcript has the messages that it was told
	if brief = s.turn("ann", mail.SessionStart, "s1"); len(brief.Items)+len(brief.Counted) != 0 {
		s.Errorf("a session that is resumed is told %+v", brief)
	}
	if brief = s.turn("ann", mail.SessionStart, "s2"); brief.Agent != "ann-2" {
		s.Errorf("two live sessions are %+v", brief)
	}
	if brief = s.turn("ann", mail.TurnStart, "s2"); brief.Agent != "ann-2" || brief.State != mail.Working {
		s.Errorf("the second session's turn: %+v", brief)
	}
	s.turn("ann", mail.SessionEnd, "s1")
	brief = s.turn("ann", mail.SessionStart, "s3") // a new session knows nothing
	s.wantBriefing(brief, "fire", "question", "another")
	if len(brief.Counted) != 2 {
		s.Errorf("%d messages are counted, want 2", len(brief.Counted))
	}
	s.present("ann", brief)
	s.wantBriefing(s.turn("ann", mail.TurnStart, "s3"))
	for _, bad := range []mail.Turn{{Moment: "lunch", Session: "s1"}, {Moment: mail.TurnEnd},
		{Moment: mail.TurnEnd, Session: "a\nb"}, {Moment: mail.TurnEnd, Session: "s", Limit: -1}} {
		if _, err := s.as("ann").Turn(s.ctx, bad); mail.CodeOf(err) != mail.Invalid {
			s.Errorf("Turn(%+v) = %v, want invalid", bad, err)
		}
	}
	if _, err := s.as(mail.User).Turn(s.ctx, mail.Turn{Moment: mail.TurnEnd, Session: "s1"}); mail.CodeOf(
		err) != mail.Denied {
		s.Errorf("the user has a session: %v", err)
	}
}

// A cancel is told before each tool call until the turn has ended; other mail is not affected.
func turnCancel(s *suite) {
	s.turn("ann", mail.SessionStart, "s1")
	s.turn("ann", mail.TurnStart, "s1")
	s.question("ann", "later")
	if brief := s.turn("ann", mail.BeforeTool, "s1"); brief.Cancel != nil || len(brief.Items) > 0 {
		s.Errorf("before a tool: %+v", brief)
	}
	s.send(mail.User, mail.Draft{To: mail.Recipients{"ann"}, Type: string(mail.Cancel), Body: "stop"})
	for range 2 {
		brief := s.turn("ann", mail.BeforeTool, "s1")
		if brief.Cancel == nil || brief.Cancel.Body != "stop" || len(brief.Items) > 0 {
			s.Fatalf("before a tool: %+v", brief)
		}
		s.present("ann", brief)
	}
	if brief := s.turn("ann", mail.TurnEnd, "s1"); !brief.Continue {
		s.Errorf("the question is forgotten: %+v", brief)
	}
	if brief := s.turn("ann", mail.BeforeTool, "s1"); brief.Cancel != nil {
		s.Errorf("a cancel outlives the turn: %+v", brief)
	}
	s.wantBodies("ann", "later")
}

func (s *suite) turnWith(n mail.Name, t mail.Turn) mail.Briefing {
	s.Helper()
	brief, err := s.as(n).Turn(s.ctx, t)
	if err != nil {
		s.Fatalf("%s: %+v: %v", n, t, err)
	}
	return brief
}

// A program's session and its connection, that is its hooks and its MCP server, are one agent, whichever comes
// first.
func turnProcess(s *suite) {
	join := func(n mail.Name, session, process string) mail.Name {
		s.Helper()
		a, err := s.as(n).Register(s.ctx, mail.Presence{Session: session, Process: process, Join: true})
		if err != nil {
			s.Fatal(err)
		}
		return a.Name
	}
	start := func(n mail.Name, session, process string) mail.Name {
		s.Helper()
		return s.turnWith(n, mail.Turn{Moment: mail.SessionStart, Session: session, Process: process}).Agent
	}
	want := func(what string, got, name mail.Name) {
		s.Helper()
		if got != name {
			s.Errorf("%s is %s, want %s", what, got, name)
		}
	}
	want("the first connection", join("ann", "m1", "p1"), "ann")
	want("its program's session", start("ann", "s1", "p1"), "ann")
	want("the first connection, again", join("ann", "m1", "p1"), "ann")
	want("another program's session", start("ann", "s2", "p2"), "ann-2")
	want("its connection", join("ann", "m2", "p2"), "ann-2")
	want("the second session's turn",
		s.turnWith("ann", mail.Turn{Moment: mail.TurnStart, Session: "s2", Process: "p2"}).Agent, "ann-2")
	want("a second session of the first program", start("ann", "s3", "p1"), "ann-3")
	want("a connection without a program", join("ann", "m4", ""), "ann-4")
	s.turn("ann", mail.SessionEnd, "s1")
	want("the first connection, alone again", join("ann", "m1", "p1"), "ann")
	want("the next session of the first program", start("ann", "s4", "p1"), "ann")
	brief := s.turnWith("ann", mail.Turn{Moment: mail.TurnStart, Session: "s1", Process: "p9"})
	if brief.Agent == "ann" {
		s.Errorf("a session that has ended took the agent of one that lives")
	}
	a, err := s.as("ann").Register(s.ctx, mail.Presence{Session: "m1", Process: "p1", Join: true, End: true})
	if err != nil || a.Name != "ann" || a.State != mail.Idle {
		s.Errorf("the end of a connection ended the session: %+v, %v", a, err)
	}
}

// A session whose program began before its hooks were set up has no tools, and is no agent until a connection of
// that program brings them. If the program is unknown, so is that.
func turnLate(s *suite) {
	late := mail.Turn{Moment: mail.TurnStart, Session: "s1", Process: "p1", Late: true}
	if brief := s.turnWith("ann", late); !brief.Unequipped {
		s.Errorf("a session without tools is told %+v", brief)
	}
	if list, err := mail.Roster(s.ctx, s.as(mail.User)); err != nil || len(list) > 0 {
		s.Errorf("the roster has %+v, %v", list, err)
	}
	if _, err := s.as("ann").Register(s.ctx, mail.Presence{Session: "m1", Process: "p1", Join: true}); err != nil {
		s.Fatal(err)
	}
	if brief := s.turnWith("ann", late); brief.Unequipped || brief.Agent != "ann" || brief.State != mail.Working {
		s.Errorf("a session with tools is told %+v", brief)
	}
	cleared := mail.Turn{Moment: mail.SessionStart, Session: "s2", Process: "p1", Late: true}
	if brief := s.turnWith("ann", cleared); brief.Unequipped {
		s.Errorf("the next session of a program with tools is told %+v", brief)
	}
	hidden := mail.Turn{Moment: mail.TurnStart, Session: "s3", Late: true}
	if brief := s.turnWith("bob", hidden); brief.Unequipped {
		s.Errorf("a session of a program that cannot be seen is told %+v", brief)
	}
}

// A session that another program has resumed does not end with its first program.
func turnMoved(s *suite) {
	s.turnWith("ann", mail.Turn{Moment: mail.SessionStart, Session: "s1", Process: "p1"})
	s.turnWith("ann", mail.Turn{Moment: mail.SessionStart, Session: "s1", Process: "p2"})
	end := mail.Turn{Moment: mail.SessionEnd, Session: "s1", Process: "p1", Over: true, Quiet: true}
	if brief := s.turnWith("ann", end); brief.State != mail.Idle {
		s.Errorf("with its old program the session is %s", brief.State)
	}
	end.Process = "p2"
	s.turnWith("ann", end)
	list, err := mail.Roster(s.ctx, s.as(mail.User))
	if err != nil || len(list) != 1 || list[0].State != mail.Gone {
		s.Errorf("with its program the session ends as %+v, %v", list, err)
	}
}

// An interrupted turn ends, whatever waits, and the user is told. Mail that cannot be told now is told later.
func turnOver(s *suite) {
	s.turn("ann", mail.SessionStart, "s1")
	s.question("ann", "one")
	brief := s.turnWith("ann", mail.Turn{Moment: mail.TurnStart, Session: "s1", Quiet: true})
	if len(brief.Items) > 0 || brief.State != mail.Working {
		s.Errorf("told %+v", brief)
	}
	brief = s.turnWith("ann", mail.Turn{Moment: mail.TurnEnd, Session: "s1", Over: true, Quiet: true})
	if brief.Continue || brief.State != mail.Idle || len(brief.Items) > 0 || !brief.GaveUp {
		s.Errorf("the end of a turn that is over: %+v", brief)
	}
	s.turnWith("ann", mail.Turn{Moment: mail.TurnEnd, Session: "s1", Over: true})
	page, err := s.as(mail.User).Inbox(s.ctx, mail.InboxQuery{})
	if err != nil || len(page.Messages) != 1 || page.Messages[0].From != mail.FromSystem {
		s.Errorf("the user was told %+v, %v; want one message of the system", page.Messages, err)
	}
	brief = s.turn("ann", mail.TurnStart, "s1")
	s.wantBriefing(brief, "one")
	s.wantBriefing(s.turn("ann", mail.AfterTool, "s1")) // it is on its way
	s.present("ann", brief)
	if brief = s.turn("ann", mail.TurnEnd, "s1"); brief.Continue || brief.GaveUp {
		s.Errorf("told %+v", brief)
	}
}

// A resumed session finds the name that it had. A cancel is for the session that was there.
func turnResumed(s *suite) {
	s.turn("ann", mail.SessionStart, "s1")
	s.turn("ann", mail.SessionStart, "s2")
	s.turn("ann", mail.SessionEnd, "s2")
	s.turn("ann", mail.SessionEnd, "s1")
	s.question("ann-2", "for the second")
	if brief := s.turn("ann", mail.SessionStart, "s2"); brief.Agent != "ann-2" || len(brief.Items) != 1 {
		s.Errorf("the second session is resumed as %+v", brief)
	}
	s.send(mail.User, mail.Draft{To: mail.Recipients{"ann"}, Type: string(mail.Cancel), Body: "stop"})
	s.turn("ann", mail.SessionStart, "s1")
	if brief := s.turn("ann", mail.BeforeTool, "s1"); brief.Cancel == nil {
		s.Errorf("a cancel was forgotten when its session was resumed")
	}
	s.turn("ann", mail.SessionEnd, "s1")
	s.wantBriefing(s.turn("ann", mail.SessionStart, "s3"), "stop")
	if brief := s.turn("ann", mail.BeforeTool, "s3"); brief.Cancel != nil {
		s.Errorf("a cancel for a session of the past stops a new one")
	}
}

// Told mail is presented when a moment proves it, and queued again when the turn is interrupted.
func turnProves(s *suite) {
	told := func(brief mail.Briefing, bodies ...string) {
		s.Helper()
		s.wantBriefing(brief, bodies...)
		m := mail.Marking{Mark: mail.MarkTold, Door: mail.HookDoor}
		for _, it := range brief.Items {
			m.IDs = append(m.IDs, it.ID)
		}
		if _, err := s.as("ann").Mark(s.ctx, m); err != nil {
			s.Fatal(err)
		}
	}
	s.turn("ann", mail.SessionStart, "s1")
	one := s.question("ann", "one")
	told(s.turn("ann", mail.TurnStart, "s1"), "one")
	s.wantState(one, mail.Notified, mail.HookDoor)
	sub := mail.Turn{Moment: mail.BeforeTool, Session: "s1", Proof: true, Sub: true}
	s.turnWith("ann", sub)
	s.wantState(one, mail.Notified, mail.HookDoor)
	s.turnWith("ann", mail.Turn{Moment: mail.BeforeTool, Session: "s1", Proof: true})
	s.wantState(one, mail.Presented, mail.HookDoor)
	two := s.question("ann", "two")
	told(s.turn("ann", mail.AfterTool, "s1"), "two")
	s.turnWith("ann", mail.Turn{Moment: mail.TurnEnd, Session: "s1", Over: true, Quiet: true})
	s.wantState(one, mail.Presented, mail.HookDoor)
	s.wantState(two, mail.Queued, "")
	if brief := s.turnWith("ann", sub); brief.State != mail.Idle {
		s.Errorf("a subagent has its session's agent %s", brief.State)
	}
	if brief := s.turnWith("ann", mail.Turn{Moment: mail.BeforeTool, Session: "s9",
		Sub: true}); brief.State != mail.Gone {
		s.Errorf("a subagent of nobody: %+v", brief)
	}
	if _, err := s.as("ann").Mark(s.ctx, mail.Marking{IDs: []mail.ID{two}, Mark: mail.MarkUntold}); mail.CodeOf(
		err) != mail.Invalid {
		s.Errorf("a reader takes back what it was told: %v", err)
	}
}

// wantState checks the state of a message with its only recipient, and the door it came through.
func (s *suite) wantState(id mail.ID, state mail.DeliveryState, door string) {
	s.Helper()
	it, err := s.as(mail.User).Message(s.ctx, id)
	if err != nil {
		s.Fatal(err)
	}
	if d := it.Deliveries[0]; d.State != state || d.Door != door {
		s.Errorf("%q is %s through %q, want %s through %q", it.Body, d.State, d.Door, state, door)
	}
}
