package mailtest

import (
	"fmt"
	"strings"

	"pennypost/internal/mail"
)

// stuck checks that stuck mail is found, by kind and reader, and other mail is not.
func stuck(s *suite) {
	s.register("ann")
	s.register("bea", "builder")
	s.register("cid")
	s.send("ann", mail.Draft{To: mail.Recipients{"bea"}, Type: "status", Body: "it may wait"})
	for i := range 3 {
		s.send("ann", mail.Draft{To: mail.Recipients{"role:designer"}, Body: fmt.Sprint("held ", i)})
		s.send("ann", mail.Draft{To: mail.Recipients{"cid"}, Type: "question", Body: fmt.Sprint("asked ", i)})
	}
	read := s.send("ann", mail.Draft{To: mail.Recipients{"bea"}, Type: "question", Body: "seen"})
	s.mark("bea", mail.MarkRead, read.ID)
	withdrawn := s.send("ann", mail.Draft{To: mail.Recipients{"bea"}, Type: "question", Body: "withdrawn"})
	if err := s.as("ann").Withdraw(s.ctx, withdrawn.ID); err != nil {
		s.Fatal(err)
	}
	s.wantStuck(mail.StuckQuery{}, "held for role:designer 3: held 0, held 1, held 2",
		"waiting for agent:cid 3: asked 0, asked 1, asked 2")
	s.wantStuck(mail.StuckQuery{Kind: mail.StuckWaiting, Mail: 1}, "waiting for agent:cid 3: asked 0")
	for _, n := range []mail.Name{"cid", "bea"} {
		if _, err := s.as(mail.User).Register(s.ctx,
			mail.Presence{Name: n, Update: true, State: mail.Gone}); err != nil {
			s.Fatal(err)
		}
	}
	s.wantStuck(mail.StuckQuery{Kind: mail.StuckDead, Limit: 1}, "dead for agent:bea 1: it may wait")
	list, err := s.as("ann").Stuck(s.ctx, mail.StuckQuery{Limit: 1})
	if err != nil || list.Kinds[mail.StuckDead] != 2 || list.Kinds[mail.StuckHeld] != 1 || len(list.Groups) != 2 {
		s.Errorf("Stuck = %+v, %v; want one group of each kind, of 2 dead and 1 held", list, err)
	}
	if err := s.as(mail.User).Retire(s.ctx, "cid"); err != nil {
		s.Fatal(err)
	}
	page := s.inbox("bea", mail.InboxQuery{})
	s.send(mail.User, mail.Draft{To: mail.Recipients{"ann"}, ReplyTo: page.Messages[0].ID, Body: "I saw to it"})
	s.wantStuck(mail.StuckQuery{Kind: mail.StuckDead, Mail: 1}, "dead for agent:cid 3: asked 0")
	for _, q := range []mail.StuckQuery{{Kind: "lost"}, {Limit: -1}, {Mail: mail.MaxLimit + 1}} {
		_, err := s.as(mail.User).Stuck(s.ctx, q)
		s.wantCode(err, mail.Invalid)
	}
}

func (s *suite) wantStuck(q mail.StuckQuery, want ...string) {
	s.Helper()
	list, err := s.as(mail.User).Stuck(s.ctx, q)
	if err != nil {
		s.Fatal(err)
	}
	got := []string{}
	for _, g := range list.Groups {
		var bodies []string
		for _, it := range g.Mail {
			bodies = append(bodies, it.Body)
			if len(it.Deliveries) != 1 || g.Since > it.Sent {
				s.Errorf("%s for %s since %v has %+v", g.Kind, g.For, g.Since, it)
			}
		}
		got = append(got, fmt.Sprintf("%s for %s %d: %s", g.Kind, g.For, g.Count, strings.Join(bodies, ", ")))
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		s.Errorf("Stuck(%+v) =\n%s\nwant\n%s", q, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
