package mailtest

import (
	"fmt"

	"pennypost/internal/mail"
)

func roleRotation(s *suite) {
	for i := range 3 {
		s.register(mail.Name(fmt.Sprintf("b%d", i)), "builder")
	}
	count := map[mail.Name]int{}
	for range 9 {
		sent := s.send(mail.User, mail.Draft{To: mail.Recipients{"role:builder"}, Body: "job"})
		if len(sent.Recipients) != 1 {
			s.Fatalf("a role message has %d recipients", len(sent.Recipients))
		}
		count[sent.Recipients[0].Agent]++
	}
	for i := range 3 {
		n := mail.Name(fmt.Sprintf("b%d", i))
		if count[n] != 3 || len(s.bodies(n)) != 3 {
			s.Errorf("%s was given %d of 9 jobs and sees %d, want 3", n, count[n], len(s.bodies(n)))
		}
	}
	if got := s.send("b0", mail.Draft{To: mail.Recipients{"role:builder"},
		Body: "not for me"}).Recipients[0].Agent; got == "b0" {
		s.Error("a sender was given its own role mail")
	}
}

func heldRoleMail(s *suite) {
	sent := s.send(mail.User, mail.Draft{To: mail.Recipients{"role:architect"}, Body: "design it"})
	if d := sent.Recipients[0]; d.State != mail.Held || d.Agent != "" {
		s.Errorf("with no holder: %+v, want held", d)
	}
	s.register("ann", "architect")
	s.wantBodies("ann", "design it")
	s.register("bea", "architect")
	s.wantBodies("bea")
	if err := s.as(mail.User).Retire(s.ctx, "ann"); err != nil {
		s.Fatal(err)
	}
	s.wantBodies("bea", "design it")
	s.mark("bea", mail.MarkRead, sent.ID)
	if err := s.as(mail.User).Retire(s.ctx, "bea"); err != nil {
		s.Fatal(err)
	}
	s.register("cy", "architect")
	s.wantBodies("cy") // bea had read it

	second := s.send(mail.User, mail.Draft{To: mail.Recipients{"role:architect"}, Body: "again"})
	_, err := s.as("someone").Mark(s.ctx, mail.Marking{IDs: []mail.ID{second.ID}, Mark: mail.MarkRead})
	s.wantCode(err, mail.NotFound)
	s.register("dee", "architect")
	_, err = s.as("dee").Mark(s.ctx, mail.Marking{IDs: []mail.ID{second.ID}, Mark: mail.MarkRead})
	s.wantCode(err, mail.Denied)
	if _, err := s.as("cy").Register(s.ctx, mail.Presence{Roles: []string{}}); err != nil { // steps down
		s.Fatal(err)
	}
	s.wantBodies("dee", "again")
	s.wantBodies("cy")
}

func tagsAndLateJoiners(s *suite) {
	s.register("ann", "project:x")
	s.register("bea", "concern:y")
	s.register("cy")
	s.send("ann", mail.Draft{To: mail.Recipients{"project:x", "concern:y"}, Body: "for x or y"})
	s.wantBodies("ann") // its own
	s.wantBodies("bea", "for x or y")
	s.wantBodies("cy")
	s.register("cy", "project:x") // has the tag when it looks
	s.wantBodies("cy", "for x or y")
	s.register("dee", "project:x")
	s.wantBodies("dee", "for x or y")
	if _, err := s.as("bea").Register(s.ctx, mail.Presence{Tags: []string{}}); err != nil {
		s.Fatal(err)
	}
	s.wantBodies("bea") // it lost the tag
	if sent := s.send(mail.User, mail.Draft{To: mail.Recipients{"domain:nobody"}, Body: "hello?"}); len(
		sent.Recipients) != 1 || sent.Recipients[0].Agent != "" {
		s.Errorf("to a tag that nobody carries: %+v", sent.Recipients)
	}
	sent := s.send(mail.User, mail.Draft{To: mail.Recipients{"project:x"}, Body: "now only",
		Audience: mail.AudiencePresent})
	if len(sent.Recipients) != 3 {
		s.Errorf("present audience: %+v, want ann, cy and dee", sent.Recipients)
	}
	s.register("eve", "project:x")
	s.wantBodies("eve", "for x or y")
}

// Mail to the team is not for the orchestrator, in every count and list; mail to all is.
func audienceTeam(s *suite) {
	s.register("ann")
	s.register("bea")
	if _, err := s.as(mail.User).Register(s.ctx, mail.Presence{Name: "lead",
		Roles: []string{string(mail.Orchestrator)}}); err != nil {
		s.Fatal(err)
	}
	all := mail.Recipients{"all"}
	sent := s.send("ann", mail.Draft{To: all, Body: "team", Priority: "urgent", Audience: mail.AudienceTeam})
	if len(sent.Recipients) != 1 || sent.Recipients[0].Agent != "bea" {
		s.Errorf("for the team: %+v, want bea", sent.Recipients)
	}
	s.wantBodies("bea", "team")
	s.wantBodies("lead")
	if b := s.turn("lead", mail.SessionStart, "s"); b.Unread != 0 || len(b.Items) != 0 {
		s.Errorf("the orchestrator is told %+v", b)
	}
	roster, err := mail.Roster(s.ctx, s.as(mail.User))
	if err != nil {
		s.Fatal(err)
	}
	for _, a := range roster {
		if want := map[mail.Name]int{"bea": 1}[a.Name]; a.Unread != want {
			s.Errorf("%s has %d unread, want %d", a.Name, a.Unread, want)
		}
	}
	s.send("ann", mail.Draft{To: all, Body: "everybody", Audience: mail.AudiencePresent})
	s.wantBodies("lead", "everybody")
}

func broadcast(s *suite) {
	s.register("ann")
	s.register("bea")
	id := s.send("ann", mail.Draft{To: mail.Recipients{"all"}, Type: "status", Body: "building"}).ID
	s.wantBodies("ann")
	s.wantBodies("bea", "building")
	s.register("late")
	s.wantBodies("late", "building")
	s.mark("bea", mail.MarkRead, id)
	s.wantBodies("bea")
	s.wantBodies("late", "building")
	if d := s.delivery(id, "bea"); d.State != mail.Read || d.Wake != mail.WakeNone {
		s.Errorf("bea's delivery = %+v, want read", d)
	}
}

func cancelCascade(s *suite) {
	for _, c := range []struct{ name, parent mail.Name }{{"root", ""}, {"kid", "root"}, {"leaf", "kid"},
		{"stranger", ""}} {
		p := mail.Presence{Name: c.name, Parent: &c.parent}
		if _, err := s.as(mail.User).Register(s.ctx, p); err != nil {
			s.Fatal(err)
		}
	}
	d := mail.Draft{To: mail.Recipients{"kid"}, Type: "cancel", Body: "stop"}
	_, err := s.as("stranger").Send(s.ctx, d)
	s.wantCode(err, mail.Denied, "stranger")
	_, err = s.as("leaf").Send(s.ctx, d)
	s.wantCode(err, mail.Denied)
	s.wantBodies("kid")
	sent := s.send("root", d)
	if len(sent.Recipients) != 2 || sent.Recipients[0].Agent != "leaf" || sent.Recipients[1].Agent != "kid" {
		s.Errorf("cancel reached %+v, want leaf, then kid", sent.Recipients)
	}
	s.wantBodies("leaf", "stop")
	s.wantBodies("kid", "stop")
	s.wantBodies("stranger")
	s.send(mail.Orchestrator, mail.Draft{To: mail.Recipients{"root"}, Type: "cancel", Body: "all of you"})
	s.wantBodies("leaf", "stop", "all of you")
}

func userSeesEverything(s *suite) {
	s.register("ann")
	s.register("bea")
	s.send("ann", mail.Draft{To: mail.Recipients{"bea"}, Body: "between us"})
	page := s.inbox(mail.User, mail.InboxQuery{Agent: "bea"})
	if len(page.Messages) != 1 {
		s.Errorf("the user sees %d messages in bea's mailbox, want 1", len(page.Messages))
	}
	all, err := s.as(mail.User).History(s.ctx, mail.HistoryQuery{})
	if err != nil || len(all.Messages) != 1 {
		s.Errorf("the user's history: %d messages, %v; want 1", len(all.Messages), err)
	}
}
