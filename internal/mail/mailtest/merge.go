package mailtest

import (
	"pennypost/internal/mail"
)

// merge merges one agent into another.
func (s *suite) merge(from, into mail.Name) mail.Agent {
	s.Helper()
	a, err := s.as(mail.User).Merge(s.ctx, from, into)
	if err != nil {
		s.Fatal(err)
	}
	return a
}

// mergeAgents: everything of one agent becomes the other's, and its name leads there.
func mergeAgents(s *suite) {
	s.register("stub", "builder", "project:x")
	s.register("ann")
	s.register("bea")
	first := s.send("bea", mail.Draft{To: mail.Recipients{"stub"}, Body: "one"})
	s.send("bea", mail.Draft{To: mail.Recipients{"stub", "ann"}, Body: "both", Key: "k"})
	s.send("stub", mail.Draft{To: mail.Recipients{"bea"}, Body: "mine", Key: "k"})
	s.send("bea", mail.Draft{To: mail.Recipients{"role:builder"}, Body: "to a builder"})
	asked := s.ask("stub", "bea", "why?")
	toStub := s.ask("bea", "stub", "when?")
	s.mark("stub", mail.MarkRead, first.ID)

	for _, as := range []mail.Name{"stub", "ann", "bea"} {
		_, err := s.as(as).Merge(s.ctx, "stub", "ann")
		s.wantCode(err, mail.Denied)
	}
	_, err := s.as(mail.User).Merge(s.ctx, "stub", "nobody")
	s.wantCode(err, mail.NotFound)
	_, err = s.as(mail.User).Merge(s.ctx, mail.User, "ann")
	s.wantCode(err, mail.Denied)
	if _, err := s.as("stub").Register(s.ctx, mail.Presence{Session: "s1"}); err != nil {
		s.Fatal(err)
	}
	_, err = s.as(mail.User).Merge(s.ctx, "stub", "ann")
	s.wantCode(err, mail.Conflict, "session")
	if _, err := s.as("stub").Register(s.ctx, mail.Presence{Session: "s1", End: true}); err != nil {
		s.Fatal(err)
	}

	if a := s.merge("stub", "ann"); a.Name != "ann" || len(a.Roles) != 1 || len(a.Tags) != 1 || a.Unread != 3 {
		s.Errorf("after the merge: %+v", a)
	}
	s.merge("stub", "ann") // a second time changes nothing
	s.wantBodies("ann", "both", "to a builder", "when?")
	s.send("bea", mail.Draft{To: mail.Recipients{"stub"}, Body: "later"})
	s.wantBodies("ann", "both", "to a builder", "when?", "later")
	if d := s.delivery(first.ID, "ann"); d.State != mail.Read {
		s.Errorf("what stub had read is %s for ann", d.State)
	}
	answer := s.answer("ann", "bea", toStub, "now")
	s.wantSettled(toStub, mail.Answered, "agent:ann", answer.ID)
	s.answer("bea", "ann", asked, "because")
	page := s.inbox("ann", mail.InboxQuery{})
	if page.Own != 0 || page.Open != 0 {
		s.Errorf("open for ann: %+v", page)
	}
	found, err := s.as(mail.User).History(s.ctx, mail.HistoryQuery{From: "ann"})
	if err != nil || len(found.Messages) != 3 {
		s.Errorf("what ann and stub sent: %+v, %v", found.Messages, err)
	}
	if a, ok, err := mail.OneAgent(s.ctx, s.as(mail.User), "stub"); err != nil || !ok || a.Name != "ann" {
		s.Errorf("stub is %+v, %t, %v; want ann", a, ok, err)
	}
}

// mergeWithUser: the name of an agent merged into the user leads to the user, and no one speaks under it.
func mergeWithUser(s *suite) {
	s.register("captain", "captain", "domain:ship:x")
	s.register("bea")
	s.send("bea", mail.Draft{To: mail.Recipients{"captain"}, Body: "before", Subject: "before", Priority: "urgent"})
	s.merge("captain", mail.User)
	s.send("bea", mail.Draft{To: mail.Recipients{"captain"}, Body: "after"})
	s.send("bea", mail.Draft{To: mail.Recipients{"role:captain"}, Body: "to the role"})
	s.wantBodies(mail.User, "before", "after", "to the role")
	s.wantDesk("urgent mail to the captain", mail.DeskQuery{},
		"needs before asks=0 messages=1 unread=1 urgent", "update  asks=0 messages=1 unread=1",
		"update  asks=0 messages=1 unread=1")

	_, err := s.as("captain").Send(s.ctx, mail.Draft{To: mail.Recipients{"bea"}, Body: "I am the captain"})
	s.wantCode(err, mail.Denied, "person")
	_, err = s.as("captain").Register(s.ctx, mail.Presence{Session: "s1"})
	s.wantCode(err, mail.Denied)
	_, err = s.as("bea").Register(s.ctx, mail.Presence{Name: "captain", Roles: []string{"x"}})
	s.wantCode(err, mail.Denied)
	if a, ok, err := mail.OneAgent(s.ctx, s.as("bea"), "captain"); err != nil || !ok || a.Name != mail.User ||
		len(a.Roles) != 1 {
		s.Errorf("the captain is %+v, %t, %v; want the user", a, ok, err)
	}
	roster, err := mail.Roster(s.ctx, s.as(mail.User))
	if err != nil || len(roster) != 1 {
		s.Errorf("the roster has %+v, %v; want bea alone", roster, err)
	}
	s.register("captain", "admiral")
	s.send("bea", mail.Draft{To: mail.Recipients{"role:admiral"}, Body: "promoted"})
	s.wantBodies(mail.User, "before", "after", "to the role", "promoted")
}
