package mailtest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
)

func marks(s *suite) {
	s.register("ann")
	s.register("bea")
	var ids []mail.ID
	for i := range 3 {
		ids = append(ids, s.send("ann", mail.Draft{To: mail.Recipients{"bea"}, Body: fmt.Sprint("m", i)}).ID)
	}
	got := s.mark("bea", mail.MarkRead, ids[0], ids[0], "msg_none")
	if diff := cmp.Diff(mail.Marked{Marked: ids[:1], NotFound: []mail.ID{"msg_none"}}, got); diff != "" {
		s.Errorf("marked (-want +got):\n%s", diff)
	}
	got = s.mark("bea", mail.MarkRead, ids[0])
	if diff := cmp.Diff(mail.Marked{Marked: []mail.ID{}, Already: ids[:1]}, got); diff != "" {
		s.Errorf("marked again (-want +got):\n%s", diff)
	}
	s.wantBodies("bea", "m1", "m2")
	s.mark("bea", mail.MarkUnread, ids[0])
	s.wantBodies("bea", "m0", "m1", "m2")
	s.mark("bea", mail.MarkArchived, ids[1])
	s.wantBodies("bea", "m0", "m2")
	if all := s.inbox("bea", mail.InboxQuery{All: true}); len(all.Messages) != 2 {
		s.Errorf("with read ones: %d messages, want 2: an archived one is shown by history only", len(all.Messages))
	}
	s.mark("bea", mail.MarkUnarchived, ids[1])
	s.wantBodies("bea", "m0", "m1", "m2")
	_, err := s.as("ann").Mark(s.ctx, mail.Marking{IDs: ids[:1], Mark: mail.MarkRead})
	s.wantCode(err, mail.Denied)
	_, err = s.as("bea").Mark(s.ctx, mail.Marking{IDs: []mail.ID{"msg_none"}, Mark: mail.MarkRead})
	s.wantCode(err, mail.NotFound)
	for _, bad := range []mail.Marking{{Mark: mail.MarkRead}, {All: true, IDs: ids, Mark: mail.MarkRead},
		{All: true, Mark: "eaten"}, {IDs: ids, Mark: mail.MarkPresented}} {
		_, err = s.as("bea").Mark(s.ctx, bad)
		s.wantCode(err, mail.Invalid)
	}
	if _, err := s.as("bea").Mark(s.ctx, mail.Marking{IDs: ids[2:], Mark: mail.MarkPresented,
		Door: "test"}); err != nil {
		s.Fatal(err)
	}
	if d := s.delivery(ids[2], "bea"); d.State != mail.Presented || d.Door != "test" || d.At == 0 {
		s.Errorf("after presenting: %+v", d)
	}
	s.wantBodies("bea", "m0", "m1", "m2")
	all, err := s.as("bea").Mark(s.ctx, mail.Marking{All: true, Mark: mail.MarkRead})
	if err != nil || len(all.Marked) != 3 {
		s.Errorf("mark all read: %+v, %v", all, err)
	}
	s.wantBodies("bea")
	if d := s.delivery(ids[2], "bea"); d.State != mail.Read {
		s.Errorf("after reading: %+v", d)
	}
}

func inboxLimits(s *suite) {
	s.register("ann")
	s.register("bea")
	for i := range 60 {
		s.send("ann", mail.Draft{To: mail.Recipients{"bea"}, Type: []string{"status", "question"}[i%2],
			Body: fmt.Sprintf("%02d %s", i, strings.Repeat("x", 97))})
	}
	page := s.inbox("bea", mail.InboxQuery{})
	if len(page.Messages) != mail.DefaultLimit || !page.More || page.Unread != 60 {
		s.Errorf("default page: %d messages, more %v, unread %d", len(page.Messages), page.More, page.Unread)
	}
	rest := s.inbox("bea", mail.InboxQuery{After: page.Next})
	if len(rest.Messages) != 10 || rest.More || !strings.HasPrefix(rest.Messages[0].Body, "50") {
		s.Errorf("second page: %d messages, more %v", len(rest.Messages), rest.More)
	}
	if p := s.inbox("bea", mail.InboxQuery{Bytes: 1000}); len(p.Messages) != 10 || !p.More {
		s.Errorf("1000 bytes hold %d messages, more %v; want 10", len(p.Messages), p.More)
	}
	if p := s.inbox("bea", mail.InboxQuery{Bytes: 1}); len(p.Messages) != 1 {
		s.Errorf("one byte holds %d messages; want one nevertheless", len(p.Messages))
	}
	if p := s.inbox("bea", mail.InboxQuery{Types: []mail.Type{mail.Question}, Limit: 1000}); len(p.Messages) != 30 {
		s.Errorf("%d questions, want 30", len(p.Messages))
	}
	for _, q := range []mail.InboxQuery{{Limit: -1}, {Limit: mail.MaxLimit + 1}, {After: 1 << 40}} {
		_, err := s.as("bea").Inbox(s.ctx, q)
		s.wantCode(err, mail.Invalid)
	}
}

func history(s *suite) {
	s.register("ann")
	s.register("bea", "builder")
	one := string(s.send("ann", mail.Draft{To: mail.Recipients{"bea"}, Type: "question", Subject: "Größe", Body: "one",
		Issue: "i1"}).ID)
	s.send("bea", mail.Draft{To: mail.Recipients{"ann"}, Type: "answer", Body: "two 你好世界"})
	s.send(mail.User, mail.Draft{To: mail.Recipients{"role:builder"}, Body: "three"})
	s.send("ann", mail.Draft{To: mail.Recipients{"all"}, Type: "status", Body: "four"})
	for name, c := range map[string]struct {
		q    mail.HistoryQuery
		want []string
	}{
		"everything":     {mail.HistoryQuery{}, []string{"one", "two 你好世界", "three", "four"}},
		"types":          {mail.HistoryQuery{Types: []mail.Type{mail.Question, mail.Status}}, []string{"one", "four"}},
		"from":           {mail.HistoryQuery{From: "ann"}, []string{"one", "four"}},
		"from the user":  {mail.HistoryQuery{From: "user"}, []string{"three"}},
		"to":             {mail.HistoryQuery{To: "role:builder"}, []string{"three"}},
		"to all":         {mail.HistoryQuery{To: "broadcast"}, []string{"four"}},
		"agent":          {mail.HistoryQuery{Agent: "ann"}, []string{"one", "two 你好世界", "four"}},
		"issue":          {mail.HistoryQuery{Issue: "i1"}, []string{"one"}},
		"id":             {mail.HistoryQuery{ID: one}, []string{"one"}},
		"its beginning":  {mail.HistoryQuery{ID: one[:16]}, []string{"one"}},
		"without msg_":   {mail.HistoryQuery{ID: one[4:16]}, []string{"one"}},
		"no id":          {mail.HistoryQuery{ID: one[5:16]}, []string{}},
		"subject folded": {mail.HistoryQuery{Search: "gRÖSSE"}, []string{}},
		"subject":        {mail.HistoryQuery{Search: "grÖße"}, []string{"one"}},
		"two Han":        {mail.HistoryQuery{Search: "世界"}, []string{"two 你好世界"}},
		"newest":         {mail.HistoryQuery{Limit: 2}, []string{"three", "four"}},
		"future":         {mail.HistoryQuery{Since: mail.TimeOf(time.Now().Add(time.Hour))}, []string{}},
		"past":           {mail.HistoryQuery{Until: mail.TimeOf(time.Now().Add(-time.Hour))}, []string{}},
	} {
		page, err := s.as(mail.User).History(s.ctx, c.q)
		if err != nil {
			s.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(c.want, bodiesOf(page.Messages)); diff != "" {
			s.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	first, err := s.as(mail.User).History(s.ctx, mail.HistoryQuery{Limit: 3})
	if err != nil || !first.More {
		s.Fatalf("three newest: %+v, %v", first, err)
	}
	before, err := s.as(mail.User).History(s.ctx, mail.HistoryQuery{Before: first.Next})
	if err != nil || len(before.Messages) != 1 || before.Messages[0].Body != "one" || before.More {
		s.Errorf("before them: %+v, %v", before, err)
	}
	_, err = s.as(mail.User).History(s.ctx, mail.HistoryQuery{From: "annn"})
	s.wantCode(err, mail.NotFound, "ann")
}

func wait(s *suite) {
	s.register("ann")
	s.register("bea")
	type answer struct {
		it  mail.Item
		err error
	}
	question := s.send("bea", mail.Draft{To: mail.Recipients{"ann"}, Type: "question", Body: "?"}).ID
	answers := make(chan answer)
	go func() {
		bea := s.as("bea")
		it, err := bea.Wait(s.ctx, mail.WaitQuery{Types: []mail.Type{mail.Answer}, ReplyTo: question})
		answers <- answer{it, err}
	}()
	s.send("ann", mail.Draft{To: mail.Recipients{"bea"}, Type: "status", Body: "not this", ReplyTo: question})
	s.send("ann", mail.Draft{To: mail.Recipients{"bea"}, Type: "answer", Body: "other"})
	id := s.send("ann", mail.Draft{To: mail.Recipients{"bea"}, Type: "answer", Body: "!", ReplyTo: question}).ID
	if got := <-answers; got.err != nil || got.it.ID != id {
		s.Errorf("Wait = %s, %v; want %s", got.it.ID, got.err, id)
	}
}

func waitTimesOut(s *suite) {
	s.register("ann")
	ctx, cancel := context.WithTimeout(s.ctx, 20*time.Millisecond)
	defer cancel()
	_, err := s.as("ann").Wait(ctx, mail.WaitQuery{})
	s.wantCode(err, mail.Timeout)
	_, err = s.as("nobody").Wait(s.ctx, mail.WaitQuery{})
	s.wantCode(err, mail.NotFound)
}

func watch(s *suite) {
	s.register("ann")
	s.register("bea")
	if _, err := s.as(mail.User).Token(s.ctx, "ann"); err != nil {
		s.Fatal(err)
	}
	first := s.send("ann", mail.Draft{To: mail.Recipients{"bea"}, Body: "before"})
	w, err := s.as(mail.User).Watch(s.ctx, 0)
	if err != nil {
		s.Fatal(err)
	}
	defer w.Close()
	next := reader(s, w)
	for e := next(); ; e = next() {
		if e.Agent != nil && e.Agent.TokenSum != "" {
			s.Error("a watch shows the hash of a token")
		}
		if e.Message != nil {
			if e.Message.ID != first.ID || e.Seq != first.Seq || e.Message.Sent == 0 {
				s.Errorf("replayed %+v at %d, want %s at %d", e.Message, e.Seq, first.ID, first.Seq)
			}
			break
		}
	}
	second := s.send("bea", mail.Draft{To: mail.Recipients{"ann"}, Body: "live"})
	e := next()
	for e.Message == nil {
		e = next()
	}
	if e.Message.ID != second.ID {
		s.Errorf("live event is %+v, want %s", e.Message, second.ID)
	}
	s.mark("ann", mail.MarkRead, second.ID)
	for e = next(); e.Receipt == nil; e = next() {
	}
	if diff := cmp.Diff(&mail.Receipt{Message: second.ID, Reader: "agent:ann", Mark: mail.MarkRead},
		e.Receipt); diff != "" {
		s.Errorf("receipt (-want +got):\n%s", diff)
	}
	resumed, err := s.as(mail.User).Watch(s.ctx, second.Seq)
	if err != nil {
		s.Fatal(err)
	}
	defer resumed.Close()
	if e := reader(s, resumed)(); e.Seq <= second.Seq {
		s.Errorf("resumed behind %d at %d", second.Seq, e.Seq)
	}
	_, err = s.as(mail.User).Watch(s.ctx, 1<<40)
	s.wantCode(err, mail.Invalid, "future")
}

// reader returns a function that returns the events of w one by one.
func reader(s *suite, w mail.Watch) func() mail.Event {
	var queue []mail.Event
	return func() mail.Event {
		if len(queue) == 0 {
			events, err := w.Next(s.ctx)
			if err != nil {
				s.Fatalf("Next: %v", err)
			}
			queue = events
		}
		e := queue[0]
		queue = queue[1:]
		return e
	}
}
