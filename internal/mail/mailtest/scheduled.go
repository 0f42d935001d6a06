package mailtest

import (
	"fmt"
	"strings"
	"time"

	"pennypost/internal/mail"
)

// later returns a draft to be sent in some hours.
func later(to string, hours float64, body string) mail.Draft {
	return mail.Draft{To: mail.Recipients{to}, Body: body, Later: mail.Later{In: int(hours * 3600)}}
}

// wantScheduled compares the scheduled mail that an agent sees.
func (s *suite) wantScheduled(n mail.Name, want ...string) {
	s.Helper()
	list, err := s.as(n).Scheduled(s.ctx)
	if err != nil {
		s.Fatal(err)
	}
	got := []string{}
	for _, c := range list.Scheduled {
		got = append(got, fmt.Sprint(c.From, ": ", c.Draft.Body))
	}
	if strings.Join(got, ", ") != strings.Join(want, ", ") {
		s.Errorf("%s sees of what waits to be sent %q, want %q", n, got, want)
	}
}

// A scheduled message is no message until it is sent. It is listed by time; its maker and the user can move and
// cancel it.
func scheduledMail(s *suite) {
	s.register("ann")
	s.register("bob")
	at := mail.TimeOf(time.Now().Add(3 * time.Hour))
	second := s.send(mail.User, later("ann", 2, "second"))
	first := s.send("bob", mail.Draft{To: mail.Recipients{"ann"}, Body: "first", Key: "k",
		Later: mail.Later{At: mail.TimeOf(time.Now().Add(time.Hour))}})
	if first.ID == "" || first.Due == 0 || len(first.Recipients) != 0 {
		s.Errorf("the answer is %+v", first)
	}
	if again := s.send("bob", mail.Draft{To: mail.Recipients{"ann"}, Body: "first", Key: "k",
		Later: mail.Later{In: 60}}); again.ID != first.ID || !again.Duplicate || again.Due != first.Due {
		s.Errorf("with the same key: %+v, want %+v", again, first)
	}
	s.wantScheduled(mail.User, "bob: first", "user: second")
	s.wantScheduled("bob", "bob: first")
	s.wantScheduled("ann")
	s.wantBodies("ann")
	_, err := s.as("ann").Message(s.ctx, first.ID)
	s.wantCode(err, mail.NotFound)
	if p, err := s.as(mail.User).History(s.ctx, mail.HistoryQuery{}); err != nil || len(p.Messages) != 0 {
		s.Errorf("history has %d messages, %v", len(p.Messages), err)
	}

	moved, err := s.as(mail.User).Reschedule(s.ctx, mail.Rescheduling{ID: first.ID, At: at})
	if err != nil || moved.At != at || moved.ID != first.ID || moved.Draft.Body != "first" {
		s.Errorf("moved: %+v, %v", moved, err)
	}
	s.wantScheduled(mail.User, "user: second", "bob: first")
	for _, id := range []mail.ID{second.ID, "none"} {
		_, err = s.as("bob").Reschedule(s.ctx, mail.Rescheduling{ID: id, In: 60})
		s.wantCode(err, mail.NotFound, "no scheduled message")
		s.wantCode(s.as("bob").Unschedule(s.ctx, id), mail.NotFound, "no scheduled message")
	}
	for _, r := range []mail.Rescheduling{{ID: first.ID}, {ID: first.ID, At: 1}, {ID: first.ID, At: at, In: 1}} {
		_, err = s.as(mail.User).Reschedule(s.ctx, r)
		s.wantCode(err, mail.Invalid)
	}
	for _, id := range []mail.ID{second.ID, first.ID} {
		if err := s.as(mail.User).Unschedule(s.ctx, id); err != nil {
			s.Error(err)
		}
	}
	s.wantScheduled(mail.User)
	s.wantCode(s.as(mail.User).Unschedule(s.ctx, first.ID), mail.NotFound)
	s.wantBodies("ann")
}

// An agent may schedule 20 messages, five minutes apart, within a week, and none that repeat. No one may schedule
// for the past.
func scheduledLimits(s *suite) {
	s.register("ann")
	refused := func(n mail.Name, d mail.Draft, code mail.Code, words ...string) {
		s.Helper()
		_, err := s.as(n).Send(s.ctx, d)
		s.wantCode(err, code, words...)
	}
	for i := range mail.MaxScheduledMine {
		s.send("ann", later("user", float64(1+i)/4, "x"))
	}
	refused("ann", later("user", 40, "x"), mail.Limited, "20 scheduled messages", "pennypost scheduled cancel")
	list, err := s.as("ann").Scheduled(s.ctx)
	if err != nil {
		s.Fatal(err)
	}
	if err := s.as("ann").Unschedule(s.ctx, list.Scheduled[0].ID); err != nil {
		s.Fatal(err)
	}
	refused("ann", later("user", 2.05, "x"), mail.Limited, "5 minutes")
	_, err = s.as("ann").Reschedule(s.ctx, mail.Rescheduling{ID: list.Scheduled[1].ID, In: 2 * 3600})
	s.wantCode(err, mail.Limited, "5 minutes")
	refused("ann", later("user", 8*24, "x"), mail.Invalid, "at most 7 days")
	refused("ann", mail.Draft{To: mail.Recipients{"user"}, Body: "x", Later: mail.Later{Every: "0 9 * * *"}},
		mail.Denied, "only the user")
	past := mail.Draft{To: mail.Recipients{"ann"}, Body: "x", Later: mail.Later{At: 1}}
	refused(mail.User, past, mail.Invalid, "past")
	past.At, past.In = 0, -1
	refused(mail.User, past, mail.Invalid, "past")
	refused(mail.User, later("ann", 24*400, "x"), mail.Invalid, "a year")
	refused(mail.User, later("nobody", 1, "x"), mail.NotFound)
	for _, l := range []mail.Later{{Every: "x"}, {Every: "0 9 * * *", Zone: "Mars"}, {Every: "0 9 * * *", In: 1},
		{Every: "0 9 * * *", Until: 1}, {Zone: "UTC"}, {Until: 1}} {
		refused(mail.User, mail.Draft{To: mail.Recipients{"ann"}, Body: "x", Later: l}, mail.Invalid)
	}
	s.send("ann", later("user", 41, "the twentieth"))
}
