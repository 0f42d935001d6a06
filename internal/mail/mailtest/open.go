package mailtest

import (
	"crypto/rand"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
)

// ask sends a question and returns its id.
func (s *suite) ask(from mail.Name, to, body string) mail.ID {
	s.Helper()
	return s.send(from, mail.Draft{To: mail.Recipients{to}, Type: "question", Body: body}).ID
}

// wantOpen checks that exactly these questions are open, to the room and to the agent asked.
func (s *suite) wantOpen(asked mail.Name, want ...string) {
	s.Helper()
	page, err := s.as(mail.User).History(s.ctx, mail.HistoryQuery{Open: true})
	if err != nil {
		s.Fatal(err)
	}
	for who, items := range map[string][]mail.Item{"the room": page.Messages,
		string(asked): s.inbox(asked, mail.InboxQuery{Open: true}).Messages} {
		if diff := cmp.Diff(append([]string{}, want...), bodiesOf(items)); diff != "" {
			s.Errorf("open to %s (-want +got):\n%s", who, diff)
		}
		for _, it := range items {
			if !it.Open || it.Settled != nil {
				s.Errorf("%s shows %q as open %v, settled %+v", who, it.Body, it.Open, it.Settled)
			}
		}
	}
}

func (s *suite) wantSettled(id mail.ID, as mail.Outcome, by mail.Address, answer mail.ID) {
	s.Helper()
	it, err := s.as(mail.User).Message(s.ctx, id)
	if err != nil {
		s.Fatal(err)
	}
	if st := it.Settled; it.Open || st == nil || st.As != as || st.By != by || st.Answer != answer || st.At == 0 {
		s.Errorf("%s is open %v, settled %+v; want %s by %s with %q", id, it.Open, st, as, by, answer)
	}
}

func nothingButAnAnswerCloses(s *suite) {
	s.register("ann")
	s.register("bea", "builder")
	q := s.ask("ann", "bea", "why?")
	review := s.send("ann", mail.Draft{To: mail.Recipients{"bea"}, Type: "review-request", Body: "good?"}).ID
	s.send("ann", mail.Draft{To: mail.Recipients{"bea"}, Type: "task-assigned", Body: "no question"})
	s.mark("bea", mail.MarkRead, q)
	for _, m := range []struct {
		mail.Marking
		open []mail.ID
	}{
		{mail.Marking{IDs: []mail.ID{q}, Mark: mail.MarkRead}, []mail.ID{q}}, // unchanged
		{mail.Marking{IDs: []mail.ID{q}, Mark: mail.MarkUnread}, nil},
		{mail.Marking{IDs: []mail.ID{q}, Mark: mail.MarkArchived}, []mail.ID{q}},
		{mail.Marking{All: true, Mark: mail.MarkRead}, []mail.ID{review}},
	} {
		got, err := s.as("bea").Mark(s.ctx, m.Marking)
		if diff := cmp.Diff(m.open, got.Open); err != nil || diff != "" {
			s.Errorf("%+v says is still open, %v (-want +got):\n%s", m.Marking, err, diff)
		}
	}
	if _, err := s.as(mail.User).Archive(s.ctx); err != nil {
		s.Fatal(err)
	}
	s.send("bea", mail.Draft{To: mail.Recipients{"ann"}, Type: "status", Body: "I look", ReplyTo: q})
	s.send("ann", mail.Draft{To: mail.Recipients{"bea"}, Body: "and?", ReplyTo: q})
	s.wantBodies("bea", "and?")
	s.wantOpen("bea", "why?", "good?")
	mine, err := s.as("ann").History(s.ctx, mail.HistoryQuery{Open: true, From: "ann"})
	if diff := cmp.Diff([]string{"why?", "good?"}, bodiesOf(mine.Messages)); err != nil || diff != "" {
		s.Errorf("open to ann, who asked, %v (-want +got):\n%s", err, diff)
	}

	// a reply without a type is the answer
	a := s.send("bea", mail.Draft{To: mail.Recipients{"ann"}, Body: "because", ReplyTo: q, Key: "k"})
	again := s.send("bea", mail.Draft{To: mail.Recipients{"ann"}, Body: "because", ReplyTo: q, Key: "k"})
	if !again.Duplicate || again.ID != a.ID {
		s.Errorf("sent again: %+v", again)
	}
	if it, err := s.as("ann").Message(s.ctx, a.ID); err != nil || it.Type != mail.Answer {
		s.Errorf("a reply to a question is of type %q, %v; want answer", it.Type, err)
	}
	s.send("bea", mail.Draft{To: mail.Recipients{"ann"}, Type: "answer", Body: "or not", ReplyTo: q})
	s.wantSettled(q, mail.Answered, "agent:bea", a.ID)
	s.wantOpen("bea", "good?")
	r := s.send("bea", mail.Draft{To: mail.Recipients{"ann"}, Type: "review-result", Body: "yes", ReplyTo: review,
		Metadata: mail.Metadata(`{"verdict":"approved"}`)})
	s.wantSettled(review, mail.Answered, "agent:bea", r.ID)
	s.wantOpen("bea")
}

// pageNamesWhatIsOpen checks that a mailbox lists the questions open to its reader, and the reader's own open ones.
func pageNamesWhatIsOpen(s *suite) {
	s.register("ann")
	s.register("bea")
	var want []mail.ID
	for range mail.MaxOpenIDs + 1 {
		want = append(want, s.ask("ann", "bea", rand.Text()))
	}
	want = want[:mail.MaxOpenIDs]
	for who, page := range map[mail.Name]mail.Page{"ann": {Own: mail.MaxOpenIDs + 1, OwnIDs: want},
		"bea": {Open: mail.MaxOpenIDs + 1, OpenIDs: want}} {
		got := s.inbox(who, mail.InboxQuery{Limit: 1})
		got = mail.Page{Open: got.Open, OpenIDs: got.OpenIDs, Own: got.Own, OwnIDs: got.OwnIDs}
		if diff := cmp.Diff(page, got); diff != "" {
			s.Errorf("open to and of %s (-want +got):\n%s", who, diff)
		}
	}
}

// askingAgain checks that a settled question can be asked again in the same words.
func askingAgain(s *suite) {
	s.register("ann")
	s.register("bea")
	q := s.ask("ann", "bea", "done?")
	if again := s.ask("ann", "bea", "done?"); again != q {
		s.Errorf("asked again while it is open, it is %s, want %s", again, q)
	}
	s.send("bea", mail.Draft{To: mail.Recipients{"ann"}, Body: "no", ReplyTo: q})
	second := s.ask("ann", "bea", "done?")
	if err := s.as("ann").Withdraw(s.ctx, second); err != nil {
		s.Fatal(err)
	}
	if third := s.ask("ann", "bea", "done?"); second == q || third == second {
		s.Errorf("asked once it was answered, and once withdrawn, it is %s and %s; the first was %s", second, third, q)
	}
}

func declining(s *suite) {
	s.register("ann")
	s.register("bea")
	q := s.ask("ann", "bea", "why?")
	go func() {
		_, _ = s.as("bea").Send(s.ctx, mail.Draft{To: mail.Recipients{"ann"}, Type: "answer", Body: "decide yourself",
			ReplyTo: q, Metadata: mail.Metadata(`{"declined":"not now"}`)})
	}()
	got, err := s.as("ann").Wait(s.ctx, mail.WaitQuery{ReplyTo: q})
	if err != nil || got.Body != "decide yourself" {
		s.Fatalf("Wait = %+v, %v", got, err)
	}
	s.wantSettled(q, mail.Declined, "agent:bea", got.ID)
	s.wantOpen("bea")
	for _, metadata := range []string{`{"declined":false}`, `{"declined":""}`, `{}`} {
		q := s.ask("ann", "bea", metadata)
		a := s.send("bea", mail.Draft{To: mail.Recipients{"ann"}, Type: "answer", Body: metadata, ReplyTo: q,
			Metadata: mail.Metadata(metadata)})
		s.wantSettled(q, mail.Answered, "agent:bea", a.ID)
	}
}

func withdrawing(s *suite) {
	s.register("ann")
	s.register("bea")
	q := s.ask("ann", "bea", "why?")
	s.wantCode(s.as("bea").Withdraw(s.ctx, q), mail.Denied, "only its sender")
	s.wantCode(s.as("ann").Withdraw(s.ctx, "msg_none"), mail.NotFound, "history --open")
	status := s.send("ann", mail.Draft{To: mail.Recipients{"bea"}, Type: "status", Body: "s"}).ID
	s.wantCode(s.as("ann").Withdraw(s.ctx, status), mail.Invalid, "needs no answer")
	s.wantOpen("bea", "why?")
	for range 2 {
		if err := s.as("ann").Withdraw(s.ctx, q); err != nil {
			s.Fatal(err)
		}
	}
	s.wantSettled(q, mail.Withdrawn, "agent:ann", "")
	if d := s.delivery(q, "bea"); d.Wake != mail.WakeNone {
		s.Errorf("what was withdrawn wakes: %+v", d)
	}
	s.wantOpen("bea")
	if page := s.inbox("bea", mail.InboxQuery{}); page.Unread != 1 || len(page.Messages) != 2 ||
		page.Messages[0].Settled == nil {
		s.Errorf("what waits for bea: %+v; want the status, and the question, not counted, as withdrawn", page)
	}
	if it, err := s.as("bea").Wait(s.ctx, mail.WaitQuery{}); err != nil || it.ID != status {
		s.Errorf("bea waits for %s, %v; want the status", it.ID, err)
	}
	s.send("bea", mail.Draft{To: mail.Recipients{"ann"}, Type: "answer", Body: "late", ReplyTo: q})
	s.wantSettled(q, mail.Withdrawn, "agent:ann", "")

	q = s.ask("ann", "bea", "how?")
	if err := s.as(mail.User).Withdraw(s.ctx, q); err != nil {
		s.Fatal(err)
	}
	s.wantSettled(q, mail.Withdrawn, "user", "")
	q = s.ask("ann", "bea", "who?")
	s.send("bea", mail.Draft{To: mail.Recipients{"ann"}, Body: "you", ReplyTo: q})
	s.wantCode(s.as("ann").Withdraw(s.ctx, q), mail.Conflict, "answered by bea")
}

func erasedAnswerStaysOne(s *suite) {
	s.register("ann")
	s.register("bea")
	q := s.ask("ann", "bea", "why?")
	a := s.send("bea", mail.Draft{To: mail.Recipients{"ann"}, Body: "because", ReplyTo: q}).ID
	s.send("bea", mail.Draft{To: mail.Recipients{"ann"}, Type: "answer", Body: "as I said", ReplyTo: q})
	if err := s.as(mail.User).Erase(s.ctx, a); err != nil {
		s.Fatal(err)
	}
	s.wantSettled(q, mail.Answered, "agent:bea", a)
}

func whoWaitsForWhom(s *suite) {
	for _, n := range []mail.Name{"ann", "bea", "cleo", "dora"} {
		s.register(n)
	}
	ids := []mail.ID{s.ask("ann", "bea", "1")}
	s.ask("ann", "role:scout", "2")
	s.ask("bea", "cleo", "3")
	s.ask("cleo", "user", "4")
	answered := s.ask("bea", "user", "5")
	s.send(mail.User, mail.Draft{To: mail.Recipients{"bea"}, Body: "yes", ReplyTo: answered})
	type row struct {
		Asker, Asked mail.Name
		Address      mail.Address
		Chain        []mail.Name
		Circle       bool
	}
	want := []row{
		{"ann", "bea", "agent:bea", []mail.Name{"ann", "bea", "cleo", mail.User}, false},
		{"ann", "", "role:scout", nil, false},
		{"bea", "cleo", "agent:cleo", []mail.Name{"bea", "cleo", mail.User}, false},
		{"cleo", mail.User, "user", []mail.Name{"cleo", mail.User}, false},
	}
	check := func() {
		s.Helper()
		list, err := s.as("ann").Waiting(s.ctx, mail.WaitingQuery{})
		if err != nil {
			s.Fatal(err)
		}
		waits := list.Waiting
		var got []row
		for i, w := range waits {
			got = append(got, row{w.Asker, w.Asked, w.Address, w.Chain, w.Circle})
			if w.Type != mail.Question || w.Since == 0 || i == 0 && w.Question != ids[0] ||
				i > 0 && w.Since < waits[i-1].Since {
				s.Errorf("row %d: %+v", i, w)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			s.Errorf("who waits for whom (-want +got):\n%s", diff)
		}
	}
	check()
	// the user, whom cleo waits for, asks ann
	s.ask(mail.User, "ann", "6")
	circle := func(names ...mail.Name) []mail.Name { return names }
	want[0].Chain, want[0].Circle = circle("ann", "bea", "cleo", mail.User, "ann"), true
	want[2].Chain, want[2].Circle = circle("bea", "cleo", mail.User, "ann", "bea"), true
	want[3].Chain, want[3].Circle = circle("cleo", mail.User, "ann", "bea", "cleo"), true
	want = append(want, row{mail.User, "ann", "agent:ann", circle(mail.User, "ann", "bea", "cleo", mail.User), true})
	check()
	// a wait that is not bea's longest leads back to her
	s.ask("bea", "dora", "7")
	s.ask("dora", "bea", "8")
	want = append(want, row{"bea", "dora", "agent:dora", circle("bea", "dora", "bea"), true},
		row{"dora", "bea", "agent:bea", circle("dora", "bea", "dora"), true})
	check()
	few, err := s.as("ann").Waiting(s.ctx, mail.WaitingQuery{Limit: 2})
	if err != nil || len(few.Waiting) != 2 || few.Rest != len(want)-2 || len(few.Waiting[0].Chain) != 5 {
		s.Errorf("two of %d waits: %+v, %v", len(want), few, err)
	}
	_, err = s.as("ann").Waiting(s.ctx, mail.WaitingQuery{Limit: mail.MaxLimit + 1})
	s.wantCode(err, mail.Invalid, "out of range")
}

// importedAsSettled moves a withdrawn question, and a declined one without its answer, to another room.
func importedAsSettled(s *suite) {
	s.register("ann")
	s.register("bea")
	withdrawn, declined := s.ask("ann", "bea", "why?"), s.ask("ann", "bea", "how?")
	if err := s.as("ann").Withdraw(s.ctx, withdrawn); err != nil {
		s.Fatal(err)
	}
	s.send("bea", mail.Draft{To: mail.Recipients{"ann"}, Type: "answer", Body: "no", ReplyTo: declined,
		Metadata: mail.Metadata(`{"declined":true}`)})
	other, err := s.office.Room(s.ctx, "other", mail.User)
	if err != nil {
		s.Fatal(err)
	}
	for id, want := range map[mail.ID]mail.Outcome{withdrawn: mail.Withdrawn, declined: mail.Declined} {
		it, err := s.as(mail.User).Message(s.ctx, id)
		if err != nil {
			s.Fatal(err)
		}
		if _, err := other.Import(s.ctx, []mail.Item{it}); err != nil {
			s.Fatal(err)
		}
		got, err := other.Message(s.ctx, id)
		if diff := cmp.Diff(it.Settled, got.Settled); err != nil || diff != "" || got.Settled.As != want {
			s.Errorf("%s, imported, %v (-want +got):\n%s", id, err, diff)
		}
	}
}
