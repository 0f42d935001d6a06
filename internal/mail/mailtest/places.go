package mailtest

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
)

// inboxPages reads a mailbox from its end, page by page.
func inboxPages(s *suite) {
	s.register("ann")
	s.register("bea")
	var want []string
	for i := range 25 {
		from := []mail.Name{"ann", "bea"}[i%2]
		s.send(from, mail.Draft{To: mail.Recipients{"user"}, Body: fmt.Sprint("m", i)})
		want = append(want, fmt.Sprint("m", i))
	}
	slices.Reverse(want)
	for _, all := range []bool{false, true} {
		var got []string
		q := mail.InboxQuery{Newest: true, All: all, Limit: 10}
		for page := s.inbox(mail.User, q); ; page = s.inbox(mail.User, q) {
			got = append(got, bodiesOf(page.Messages)...)
			if page.Unread != 25 {
				s.Errorf("%d unread, want 25 on every page", page.Unread)
			}
			if !page.More {
				break
			}
			q.Before = page.Next
		}
		if diff := cmp.Diff(want, got); diff != "" {
			s.Errorf("all %v, from the newest on (-want +got):\n%s", all, diff)
		}
	}
	first := s.inbox(mail.User, mail.InboxQuery{Newest: true, Limit: 3})
	again := s.inbox(mail.User, mail.InboxQuery{Newest: true, After: first.Messages[1].Seq})
	if diff := cmp.Diff([]string{"m24"}, bodiesOf(again.Messages)); diff != "" || again.More {
		s.Errorf("newer than what was seen (-want +got):\n%s", diff)
	}
	upwards := s.inbox(mail.User, mail.InboxQuery{Before: first.Next})
	if len(upwards.Messages) != 22 || upwards.Messages[0].Body != "m0" {
		s.Errorf("before a place, oldest first: %v", bodiesOf(upwards.Messages))
	}
	if p := s.inbox(mail.User, mail.InboxQuery{From: "bea", Newest: true}); len(p.Messages) != 12 ||
		p.Messages[0].Body != "m23" {
		s.Errorf("from bea: %v", bodiesOf(p.Messages))
	}
	_, err := s.as(mail.User).Inbox(s.ctx, mail.InboxQuery{Before: 1 << 40})
	s.wantCode(err, mail.Invalid, "future")
	_, err = s.as(mail.User).Inbox(s.ctx, mail.InboxQuery{From: "beaa"})
	s.wantCode(err, mail.NotFound, "bea")
}

// pagesBySent reads a mailbox and the history by time of sending, after the arrival of mail sent long before.
func pagesBySent(s *suite) {
	s.register("ann")
	now := time.Now()
	ago := func(i int) mail.Item {
		return mail.Item{Message: mail.Message{ID: mail.ID(fmt.Sprintf("msg_%022d", i)), Type: mail.Status,
			From: "agent:ann", To: []mail.Address{"user"}, Body: fmt.Sprint("m", i),
			Sent: mail.TimeOf(now.Add(-time.Duration(i/2) * time.Hour))}} // two with each time
	}
	s.send("ann", mail.Draft{To: mail.Recipients{"user"}, Body: "live"})
	for _, part := range [][]int{{9, 7, 5, 3}, {2, 4, 6, 8, 10}} {
		var items []mail.Item
		for _, i := range part {
			items = append(items, ago(i))
		}
		if _, err := s.as(mail.User).Import(s.ctx, items); err != nil {
			s.Fatal(err)
		}
	}
	want := []string{"live", "m2", "m3", "m4", "m5", "m6", "m7", "m8", "m9", "m10"}
	var inbox []string
	q := mail.InboxQuery{BySent: true, All: true, Limit: 2}
	for page := s.inbox(mail.User, q); ; page = s.inbox(mail.User, q) {
		inbox = append(inbox, bodiesOf(page.Messages)...)
		if !page.More {
			break
		}
		q.Until, q.Before = page.Messages[1].Sent, page.Messages[1].Seq
	}
	if diff := cmp.Diff(want, inbox); diff != "" {
		s.Errorf("the inbox by time of sending (-want +got):\n%s", diff)
	}
	var history []string
	h := mail.HistoryQuery{BySent: true, From: "ann", Limit: 3}
	for {
		page, err := s.as(mail.User).History(s.ctx, h)
		if err != nil {
			s.Fatal(err)
		}
		history = append(bodiesOf(page.Messages), history...)
		if !page.More {
			break
		}
		h.Until, h.Before = page.Messages[0].Sent, page.Messages[0].Seq
	}
	slices.Reverse(history)
	if diff := cmp.Diff(want, history); diff != "" {
		s.Errorf("the history by time of sending (-want +got):\n%s", diff)
	}
	page := s.inbox(mail.User, mail.InboxQuery{BySent: true, Since: ago(4).Sent, Until: ago(2).Sent})
	if diff := cmp.Diff([]string{"m4", "m5"}, bodiesOf(page.Messages)); diff != "" {
		s.Errorf("between two times (-want +got):\n%s", diff)
	}
	page = s.inbox(mail.User, mail.InboxQuery{Since: ago(4).Sent, Until: ago(2).Sent})
	if diff := cmp.Diff([]string{"m5", "m4"}, bodiesOf(page.Messages)); diff != "" {
		s.Errorf("between two times, by arrival (-want +got):\n%s", diff)
	}
	_, err := s.as(mail.User).History(s.ctx, mail.HistoryQuery{BySent: true, Search: "m"})
	s.wantCode(err, mail.Invalid, "by_sent")
}

func inboxPlaces(s *suite) {
	s.register("ann")
	var ids []mail.ID
	for i := range 5 {
		ids = append(ids, s.send("ann", mail.Draft{To: mail.Recipients{"user"}, Body: fmt.Sprint("m", i)}).ID)
	}
	s.mark(mail.User, mail.MarkRead, ids[0], ids[1])
	s.mark(mail.User, mail.MarkArchived, ids[1], ids[2])
	s.snooze(ids[3], time.Hour)
	s.wantPlace(mail.InboxQuery{}, "m4")
	s.wantPlace(mail.InboxQuery{All: true, Newest: true}, "m4", "m0")
	s.wantPlace(mail.InboxQuery{Place: mail.InArchived, Newest: true}, "m2", "m1")
	s.wantPlace(mail.InboxQuery{Place: mail.InArchived, Limit: 1}, "m1")
	s.wantPlace(mail.InboxQuery{Place: mail.InSnoozed}, "m3")
	_, err := s.as(mail.User).Inbox(s.ctx, mail.InboxQuery{Place: "cellar"})
	s.wantCode(err, mail.Invalid, "snoozed")
}

func (s *suite) wantPlace(q mail.InboxQuery, want ...string) {
	s.Helper()
	if diff := cmp.Diff(append([]string{}, want...), bodiesOf(s.inbox(mail.User, q).Messages)); diff != "" {
		s.Errorf("%+v (-want +got):\n%s", q, diff)
	}
}

// snooze snoozes a message and returns until when.
func (s *suite) snooze(id mail.ID, d time.Duration) mail.Time {
	s.Helper()
	until := mail.TimeOf(time.Now().Add(d))
	if _, err := s.as(mail.User).Mark(s.ctx, mail.Marking{IDs: []mail.ID{id}, Mark: mail.MarkSnoozed,
		Until: until}); err != nil {
		s.Fatalf("snooze %s: %v", id, err)
	}
	return until
}

func snooze(s *suite) {
	s.register("ann")
	id := s.send("ann", mail.Draft{To: mail.Recipients{"user"}, Body: "later"}).ID
	s.send("ann", mail.Draft{To: mail.Recipients{"user"}, Body: "now"})
	s.mark(mail.User, mail.MarkRead, id)
	until := s.snooze(id, time.Hour)
	again, err := s.as(mail.User).Mark(s.ctx, mail.Marking{IDs: []mail.ID{id}, Mark: mail.MarkSnoozed, Until: until})
	if err != nil || len(again.Already) != 1 {
		s.Errorf("snoozed until the same time again: %+v, %v", again, err)
	}
	s.wantBodies(mail.User, "now")
	if st, err := s.as(mail.User).Status(s.ctx); err != nil || st.Unread != 1 {
		s.Errorf("Status = %+v, %v; want 1 unread", st, err)
	}
	page := s.inbox(mail.User, mail.InboxQuery{Place: mail.InSnoozed})
	if len(page.Messages) != 1 || page.Messages[0].Snoozed != until || page.Messages[0].Read || page.Unread != 1 {
		s.Errorf("snoozed: %+v", page)
	}
	if it, err := s.as(mail.User).Message(s.ctx, id); err != nil || it.Snoozed != until {
		s.Errorf("Message = %+v, %v; want it snoozed until %s", it, err, until)
	}
	if marked, err := s.as(mail.User).Mark(s.ctx, mail.Marking{All: true, Mark: mail.MarkRead}); err != nil ||
		len(marked.Marked) != 1 {
		s.Errorf("reading all marked %+v, %v; want one, and what is put off left alone", marked, err)
	}
	for _, m := range []mail.Mark{mail.MarkUnread, mail.MarkRead, mail.MarkArchived} {
		s.snooze(id, time.Hour)
		s.mark(mail.User, m, id)
		if it, err := s.as(mail.User).Message(s.ctx, id); err != nil || it.Snoozed != 0 ||
			it.Read != (m == mail.MarkRead) && m != mail.MarkArchived {
			s.Errorf("after the mark %s: snoozed until %q, read %v, %v", m, it.Snoozed, it.Read, err)
		}
	}
	snoozeRefused(s, id)
}

func snoozeRefused(s *suite, id mail.ID) {
	now := time.Now()
	for _, bad := range []mail.Marking{
		{Mark: mail.MarkSnoozed},
		{Mark: mail.MarkSnoozed, Until: mail.TimeOf(now.Add(-time.Minute))},
		{Mark: mail.MarkSnoozed, Until: mail.TimeOf(now.AddDate(2, 0, 0))},
		{Mark: mail.MarkRead, Until: mail.TimeOf(now.Add(time.Hour))},
	} {
		bad.IDs = []mail.ID{id}
		_, err := s.as(mail.User).Mark(s.ctx, bad)
		s.wantCode(err, mail.Invalid, "until")
	}
	own := s.send(mail.User, mail.Draft{To: mail.Recipients{"ann"}, Body: "work"}).ID
	_, err := s.as("ann").Mark(s.ctx, mail.Marking{IDs: []mail.ID{own}, Mark: mail.MarkSnoozed,
		Until: mail.TimeOf(now.Add(time.Hour))})
	s.wantCode(err, mail.Denied, "only the user", "ann")
	s.wantBodies("ann", "work")
}

func historyStates(s *suite) {
	s.register("ann")
	s.register("bea")
	s.send("ann", mail.Draft{To: mail.Recipients{"role:nobody"}, Type: "question", Body: "held"})
	read := s.send("ann", mail.Draft{To: mail.Recipients{"bea", "user"}, Body: "read by one"}).ID
	s.send("ann", mail.Draft{To: mail.Recipients{"concern:deploy"}, Body: "to a tag"})
	s.mark("bea", mail.MarkRead, read)
	if err := s.as(mail.User).Retire(s.ctx, "bea"); err != nil {
		s.Fatal(err)
	}
	for name, c := range map[string]struct {
		q    mail.HistoryQuery
		want []string
	}{
		"held": {mail.HistoryQuery{States: []mail.DeliveryState{mail.Held}}, []string{"held"}},
		"read": {mail.HistoryQuery{States: []mail.DeliveryState{mail.Read}}, []string{"read by one"}},
		"queued": {mail.HistoryQuery{States: []mail.DeliveryState{mail.Queued}},
			[]string{"read by one", "to a tag"}},
		"two states": {mail.HistoryQuery{States: []mail.DeliveryState{mail.Held, mail.Read}},
			[]string{"held", "read by one"}},
		"none": {mail.HistoryQuery{States: []mail.DeliveryState{mail.Dead, mail.Expired}}, []string{}},
		"newest of it": {mail.HistoryQuery{States: []mail.DeliveryState{mail.Held, mail.Read}, Limit: 1},
			[]string{"read by one"}},
		"to a role": {mail.HistoryQuery{To: "role:nobody"}, []string{"held"}},
		"to a tag":  {mail.HistoryQuery{To: "concern:deploy"}, []string{"to a tag"}},
	} {
		page, err := s.as(mail.User).History(s.ctx, c.q)
		if err != nil {
			s.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(c.want, bodiesOf(page.Messages)); diff != "" {
			s.Errorf("%s (-want +got):\n%s", name, diff)
		}
		for _, it := range page.Messages {
			if (len(it.Deliveries) > 0) != (len(c.q.States) > 0) {
				s.Errorf("%s: %q comes with %d deliveries", name, it.Body, len(it.Deliveries))
			}
		}
	}
	page, err := s.as(mail.User).History(s.ctx, mail.HistoryQuery{Deliveries: true})
	if err != nil || len(page.Messages) != 3 {
		s.Fatalf("History = %+v, %v", page, err)
	}
	for _, it := range page.Messages {
		if one, err := s.as(mail.User).Message(s.ctx, it.ID); err != nil || !cmp.Equal(one.Deliveries, it.Deliveries) {
			s.Errorf("%q: the history's deliveries %+v, alone %+v (%v)", it.Body, it.Deliveries, one.Deliveries, err)
		}
	}
	_, err = s.as(mail.User).History(s.ctx, mail.HistoryQuery{States: []mail.DeliveryState{"lost"}})
	s.wantCode(err, mail.Invalid, "held")
}
