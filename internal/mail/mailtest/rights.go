package mailtest

import (
	"fmt"

	"pennypost/internal/mail"
)

// onlyThePersonMakesAnOrchestrator: no agent gives itself or another the role, or the name that implies it.
func onlyThePersonMakesAnOrchestrator(s *suite) {
	for _, n := range []mail.Name{"ann", "bob", "lead"} {
		s.register(n)
	}
	none, ann := mail.Name(""), mail.Name("ann")
	for what, p := range map[string]mail.Presence{
		"itself":              {Roles: []string{"orchestrator"}},
		"itself, with others": {Roles: []string{"builder", "orchestrator"}, Update: true},
		"by a session":        {Session: "s1", Roles: []string{"orchestrator"}},
		"a role like it":      {Roles: []string{"Orchestratοr"}},
		"a child":             {Name: "kid", Parent: &ann, Roles: []string{"orchestrator"}},
		"a child by its name": {Name: "orchestrator", Parent: &ann},
		"somebody":            {Name: "orchestrator", Parent: &none},
	} {
		if a, err := s.as("ann").Register(s.ctx, p); mail.CodeOf(err) != mail.Denied {
			s.Errorf("ann makes an orchestrator, %s: %+v, %v", what, a, err)
		}
	}
	_, err := s.as("ann").Rename(s.ctx, "ann", "orchestrator")
	s.wantCode(err, mail.Denied, "pennypost agents update")
	if a, err := s.as("ann").Register(s.ctx, mail.Presence{Roles: []string{"builder", "architect"}}); err != nil ||
		len(a.Roles) != 2 {
		s.Errorf("ann says what else it is: %+v, %v", a, err)
	}
	_, err = s.as("ann").Send(s.ctx, mail.Draft{To: mail.Recipients{"bob"}, Type: "cancel", Body: "stop"})
	s.wantCode(err, mail.Denied)

	if a, err := s.as(mail.User).Register(s.ctx, mail.Presence{Name: "lead", Roles: []string{"orchestrator"},
		Update: true}); err != nil || a.Name != "lead" {
		s.Fatalf("the person makes lead the orchestrator: %+v, %v", a, err)
	}
	if _, err := s.as("lead").Register(s.ctx, mail.Presence{Roles: []string{"orchestrator", "planner"}}); err != nil {
		s.Errorf("lead keeps what it is: %v", err)
	}
	_, err = s.as("lead").Register(s.ctx, mail.Presence{Name: "bob", Roles: []string{"orchestrator"}})
	s.wantCode(err, mail.Denied)
	s.send("lead", mail.Draft{To: mail.Recipients{"bob"}, Type: "cancel", Body: "stop"})
	if _, err := s.as("lead").Register(s.ctx, mail.Presence{Roles: []string{}}); err != nil {
		s.Errorf("lead steps down: %v", err)
	}
	_, err = s.as("lead").Register(s.ctx, mail.Presence{Roles: []string{"orchestrator"}})
	s.wantCode(err, mail.Denied)
}

// onlyWhoIsInCharge: only the person, the orchestrator and its parent can freeze, rename, retire and take over
// another agent.
func onlyWhoIsInCharge(s *suite) {
	s.register("ann")
	s.register("lead", "orchestrator")
	ann := mail.Name("ann")
	doings := map[string]func(as, n mail.Name) error{
		"freeze": func(as, n mail.Name) error {
			_, err := s.as(as).Register(s.ctx, mail.Presence{Name: n, State: mail.Frozen, Update: true})
			return err
		},
		"take over": func(as, n mail.Name) error {
			_, err := s.as(as).Register(s.ctx, mail.Presence{Name: n, Session: "mine", TakeOver: true})
			return err
		},
		"rename": func(as, n mail.Name) error {
			_, err := s.as(as).Rename(s.ctx, n, n+" renamed")
			return err
		},
		"retire": func(as, n mail.Name) error { return s.as(as).Retire(s.ctx, n) },
	}
	n := 0
	for what, do := range doings {
		for as, want := range map[mail.Name]mail.Code{"stranger": mail.Denied, "kid": mail.Denied, "ann": "",
			"lead": "", mail.User: ""} {
			n++
			target := mail.Name(fmt.Sprint("worker ", n))
			for _, p := range []mail.Presence{{Name: "stranger"}, {Name: "kid", Parent: &ann},
				{Name: target, Parent: &ann}} {
				if _, err := s.as(mail.User).Register(s.ctx, p); err != nil {
					s.Fatal(err)
				}
			}
			if err := do(as, target); mail.CodeOf(err) != want {
				s.Errorf("%s would %s a child of ann: %v, want %q", as, what, err, want)
			}
		}
	}
	none := mail.Name("")
	_, err := s.as("kid").Register(s.ctx, mail.Presence{Parent: &none})
	s.wantCode(err, mail.Denied, "child of ann")
}

// childrenAreLimited: an agent registers at most policy.DefaultChildren live agents, descendants included, and the
// person is told.
func childrenAreLimited(s *suite) {
	const limit = 50
	s.register("ann")
	s.register("bob")
	child := func(of mail.Name, n int) error {
		_, err := s.as(of).Register(s.ctx, mail.Presence{Name: mail.Name(fmt.Sprint("kid ", n)), Parent: &of})
		return err
	}
	for n := range limit {
		if err := child("ann", n); err != nil {
			s.Fatal(err)
		}
	}
	for range 2 {
		s.wantCode(child("ann", limit), mail.Limited, "pennypost agents retire", "children")
	}
	s.wantCode(child("kid 7", limit), mail.Limited)
	if err := child("bob", limit+1); err != nil {
		s.Errorf("bob's first: %v", err)
	}
	if page := s.inbox(mail.User, mail.InboxQuery{}); len(page.Messages) != 1 ||
		page.Messages[0].From != mail.FromSystem {
		s.Errorf("the person is told %+v", page.Messages)
	}
	if err := s.as("ann").Retire(s.ctx, "kid 0"); err != nil {
		s.Fatal(err)
	}
	if err := child("ann", limit); err != nil {
		s.Errorf("after one has gone: %v", err)
	}
	for n := range limit + 1 { // nor does an agent duplicate itself without end
		_, err := s.as("bob").Register(s.ctx, mail.Presence{Session: fmt.Sprint("s", n)})
		if err != nil {
			s.Fatalf("session %d: %v", n, err)
		}
	}
	_, err := s.as("bob").Register(s.ctx, mail.Presence{Session: "one more"})
	s.wantCode(err, mail.Limited)
}
