package mailtest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pennypost/internal/mail"
)

// desk describes the user's desk, one line per row.
func (s *suite) desk(q mail.DeskQuery) (string, mail.Desk) {
	s.Helper()
	d, err := s.as(mail.User).Desk(s.ctx, q)
	if err != nil {
		s.Fatalf("Desk(%+v): %v", q, err)
	}
	var b strings.Builder
	row := func(part string, c mail.Conversation) {
		fmt.Fprintf(&b, "%s %s asks=%d messages=%d unread=%d", part, c.Subject, c.Asks, c.Messages, c.Unread)
		if c.Urgent {
			b.WriteString(" urgent")
		}
		if c.Folded > 0 {
			fmt.Fprintf(&b, " folded=%d", c.Folded)
		}
		b.WriteString("\n")
		if c.Room != room || c.Body != "" {
			s.Errorf("row %q is of room %q and has the body %q", c.Subject, c.Room, c.Body)
		}
	}
	for _, c := range d.Needs {
		row("needs", c)
	}
	for _, c := range d.Updates {
		row("update", c)
	}
	return b.String(), d
}

func (s *suite) wantDesk(when string, q mail.DeskQuery, want ...string) mail.Desk {
	s.Helper()
	got, d := s.desk(q)
	if w := strings.Join(append(want, ""), "\n"); got != w {
		s.Errorf("%s, the desk is\n%swant\n%s", when, got, w)
	}
	return d
}

// tell sends mail to the user, a moment after the previous one.
func (s *suite) tell(from mail.Name, d mail.Draft) mail.ID {
	s.Helper()
	time.Sleep(2 * time.Millisecond) // the order is by time of sending, in milliseconds
	if d.To == nil {
		d.To = mail.Recipients{"user"}
	}
	if d.Body == "" {
		d.Body = "of " + d.Subject
	}
	return s.send(from, d).ID
}

// deskParts: open questions and urgent unread mail come before the rest; each part has its own order.
func deskParts(s *suite) {
	s.register("ann")
	s.register("bob")
	done := s.tell("ann", mail.Draft{Type: "task-done", Subject: "done"})
	first := s.tell("ann", mail.Draft{Type: "question", Subject: "first?", Body: "**Which** `port`?\n\n- 1"})
	s.tell("bob", mail.Draft{Type: "review-request", Subject: "review?"})
	fire := s.tell("bob", mail.Draft{Subject: "fire", Priority: "urgent"})
	s.tell("ann", mail.Draft{Subject: "more of first", ReplyTo: first})
	s.tell("ann", mail.Draft{Subject: "late"})
	d := s.wantDesk("at first", mail.DeskQuery{},
		"needs fire asks=0 messages=1 unread=1 urgent",
		"needs first? asks=1 messages=2 unread=2",
		"needs review? asks=1 messages=1 unread=1",
		"update late asks=0 messages=1 unread=1",
		"update done asks=0 messages=1 unread=1")
	if d.Waiting != 3 || d.Unread != 2 || len(d.Needs[1].IDs) != 2 || d.Needs[1].IDs[0] != first {
		s.Errorf("waiting %d, unread %d, ids %v; want 3, 2, and those of the thread", d.Waiting, d.Unread,
			d.Needs[1].IDs)
	}
	if st, err := s.as(mail.User).Status(s.ctx); err != nil || st.Needs != 3 || st.Inbox != 6 || st.Archived != 0 {
		s.Errorf("the room says %+v, %v; want that 3 conversations of 6 messages need the user", st, err)
	}
	s.mark(mail.User, mail.MarkRead, fire, done)
	s.mark(mail.User, mail.MarkArchived, first)
	s.wantDesk("when the urgent one was read and a question archived", mail.DeskQuery{},
		"needs first? asks=1 messages=2 unread=1",
		"needs review? asks=1 messages=1 unread=1",
		"update late asks=0 messages=1 unread=1",
		"update fire asks=0 messages=1 unread=0",
		"update done asks=0 messages=1 unread=0")
	s.wantDesk("of one part", mail.DeskQuery{Part: mail.NeedsYou, From: "bob"},
		"needs review? asks=1 messages=1 unread=1")
	s.wantDesk("of the other", mail.DeskQuery{Part: mail.Updates, Unread: true},
		"update late asks=0 messages=1 unread=1")
	s.wantDesk("of the archive", mail.DeskQuery{Place: mail.InArchived}, "update first? asks=0 messages=1 unread=0")
	_, err := s.as("ann").Desk(s.ctx, mail.DeskQuery{})
	s.wantCode(err, mail.Denied, "only the user")
	for _, q := range []mail.DeskQuery{{Limit: -1}, {Part: "both"}, {Place: "bin"}, {After: "x"}} {
		_, err := s.as(mail.User).Desk(s.ctx, q)
		s.wantCode(err, mail.Invalid)
	}
}

// deskUnderstood: an agent's acknowledgement of the user's answer brings nothing back.
func deskUnderstood(s *suite) {
	s.register("ann")
	q := s.tell("ann", mail.Draft{Type: "question", Subject: "which?"})
	a := s.tell(mail.User, mail.Draft{To: mail.Recipients{"ann"}, Type: "answer", Subject: "this", ReplyTo: q})
	s.mark(mail.User, mail.MarkRead, q)
	s.tell("ann", mail.Draft{Type: "status", Subject: "Understood", ReplyTo: a})
	s.wantDesk("after the acknowledgement", mail.DeskQuery{}, "update which? asks=0 messages=2 unread=0")
	s.mark(mail.User, mail.MarkArchived, q)
	if d := s.wantDesk("when the question was put away", mail.DeskQuery{}); d.Unread != 0 {
		s.Errorf("%d unread, want none", d.Unread)
	}
	s.tell("ann", mail.Draft{Type: "custom", Subject: "it failed", ReplyTo: a})
	s.wantDesk("after more than that", mail.DeskQuery{}, "update it failed asks=0 messages=2 unread=1")
	s.tell("ann", mail.Draft{Type: "question", Subject: "and now?", ReplyTo: a})
	s.wantDesk("after another question", mail.DeskQuery{}, "needs and now? asks=1 messages=3 unread=2")
	other := s.tell(mail.User, mail.Draft{To: mail.Recipients{"ann"}, Subject: "do it"})
	s.tell("ann", mail.Draft{Type: "status", Subject: "On it", ReplyTo: other})
	s.wantDesk("after a reply to what answers nothing", mail.DeskQuery{Part: mail.Updates},
		"update On it asks=0 messages=1 unread=1 folded=1")
}

// deskFolds: conversations consisting only of status messages are one row.
func deskFolds(s *suite) {
	s.register("ann")
	s.tell("ann", mail.Draft{Subject: "old"})
	started := s.tell("ann", mail.Draft{Type: "status", Subject: "started"})
	s.tell("ann", mail.Draft{Type: "status", Subject: "halfway", ReplyTo: started})
	s.tell("ann", mail.Draft{Type: "status", Subject: "elsewhere"})
	s.tell("ann", mail.Draft{Subject: "new"})
	s.wantDesk("folded", mail.DeskQuery{},
		"update new asks=0 messages=1 unread=1",
		"update elsewhere asks=0 messages=3 unread=3 folded=2",
		"update old asks=0 messages=1 unread=1")
	s.wantDesk("unfolded", mail.DeskQuery{Status: true},
		"update elsewhere asks=0 messages=1 unread=1",
		"update halfway asks=0 messages=2 unread=2")
	d := s.wantDesk("on a page of one", mail.DeskQuery{Limit: 1},
		"update new asks=0 messages=1 unread=1",
		"update elsewhere asks=0 messages=3 unread=3 folded=2")
	if d.Next == "" || d.Unread != 5 {
		s.Errorf("next %q, unread %d; want one, and 5", d.Next, d.Unread)
	}
	d = s.wantDesk("on the next", mail.DeskQuery{Limit: 1, After: d.Next}, "update old asks=0 messages=1 unread=1")
	if d.Next != "" {
		s.Errorf("the last page goes on at %q", d.Next)
	}
}

// deskSnooze: snoozed mail is on no part of the desk until it is due.
func deskSnooze(s *suite) {
	s.register("ann")
	q := s.tell("ann", mail.Draft{Type: "question", Subject: "which?"})
	until := mail.TimeOf(time.Now().Add(300 * time.Millisecond))
	if _, err := s.as(mail.User).Mark(s.ctx, mail.Marking{IDs: []mail.ID{q}, Mark: mail.MarkSnoozed,
		Until: until}); err != nil {
		s.Fatal(err)
	}
	s.wantDesk("while it is put off", mail.DeskQuery{})
	s.wantDesk("of what is put off", mail.DeskQuery{Place: mail.InSnoozed}, "update which? asks=0 messages=1 unread=1")
	st, err := s.as(mail.User).Status(s.ctx)
	if err != nil || st.Needs != 0 || st.Due != until {
		s.Errorf("the room says %+v, %v; want that nothing needs the user until %v", st, err, until)
	}
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if got, _ := s.desk(mail.DeskQuery{}); got != "" || time.Now().After(deadline) {
			break
		}
	}
	s.wantDesk("at its time", mail.DeskQuery{}, "needs which? asks=1 messages=1 unread=1")
}

// deskOfTheOffice: the office's desk combines those of its rooms, and its watch tells when to look again.
func deskOfTheOffice(s *suite) {
	s.register("ann")
	w, err := s.office.WatchDesk(s.ctx)
	if err != nil {
		s.Fatal(err)
	}
	defer w.Close()
	next := func() []mail.DeskChange {
		s.Helper()
		changes, err := w.Next(s.ctx)
		if err != nil {
			s.Fatal(err)
		}
		return changes
	}
	if first := next(); len(first) != 1 || first[0].Room != "" {
		s.Errorf("the watch begins with %+v, want a look at everything", first)
	}
	s.tell("ann", mail.Draft{Type: "question", Subject: "which?"})
	told := func(c mail.DeskChange) bool { return c.Room == room && c.Needs == 1 && c.Unread == 1 && c.Seq > 0 }
	for !slices.ContainsFunc(next(), told) {
	}
	d, err := s.office.Desk(s.ctx, mail.DeskQuery{})
	if err != nil || len(d.Needs) != 1 || d.Needs[0].Room != room || d.Needs[0].Preview == "" {
		s.Errorf("the desk of the office is %+v, %v; want the question", d, err)
	}
	_, err = s.office.Desk(s.ctx, mail.DeskQuery{Limit: mail.MaxLimit + 1})
	s.wantCode(err, mail.Invalid)
}

// historyConversations: one best hit per thread, with the number of hits, and no thread on two pages.
func historyConversations(s *suite) {
	s.register("ann")
	start := s.tell("ann", mail.Draft{Subject: "Which port for the parser?", Body: "x"})
	s.tell("ann", mail.Draft{Subject: "later", Body: "the parser takes a port", ReplyTo: start})
	far := s.tell("ann", mail.Draft{Subject: "notes", Body: "parser" + strings.Repeat(" and", 100) + " port"})
	s.tell("ann", mail.Draft{Subject: "near", Body: "a port of the parser", ReplyTo: far})
	s.tell("ann", mail.Draft{Subject: "no word of it", ReplyTo: far})
	last := s.tell("ann", mail.Draft{Subject: "the last", Body: "parser, port"})
	s.tell("ann", mail.Draft{Subject: "again", Body: "port" + strings.Repeat(" of", 100) + " parser", ReplyTo: start})
	q := mail.HistoryQuery{Search: "port parser", Conversations: true, Limit: 2}
	var got []string
	for more := true; more && len(got) < 9; {
		page, err := s.as("ann").History(s.ctx, q)
		if err != nil {
			s.Fatal(err)
		}
		for _, it := range slices.Backward(page.Messages) {
			got = append(got, fmt.Sprintf("%s %d", it.Subject, it.Hits))
		}
		q.Before, more = page.Next, page.More
	}
	if want := "Which port for the parser? 3, the last 1, near 2"; strings.Join(got, ", ") != want {
		s.Errorf("found %s; want %s", strings.Join(got, ", "), want)
	}
	// After a sequence number, it is still the best hit of the whole conversation.
	from, err := s.as("ann").Message(s.ctx, last)
	if err != nil {
		s.Fatal(err)
	}
	page, err := s.as("ann").History(s.ctx, mail.HistoryQuery{Search: "port parser", Conversations: true,
		After: from.Seq - 1})
	if err != nil || page.More || len(page.Messages) != 2 || page.Messages[0].ID != last ||
		page.Messages[1].ID != start || page.Messages[1].Hits != 3 {
		s.Errorf("behind a place there is %+v, %v; want the two conversations whose newest hit is there", page, err)
	}
	_, err = s.as("ann").History(s.ctx, mail.HistoryQuery{Conversations: true, BySent: true})
	s.wantCode(err, mail.Invalid)
}
