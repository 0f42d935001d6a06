package mailroom

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// TestBySent imports mail of random times, much more than a zone of the index holds, and compares each page by time
// of sending, in each part of the room, with a naive one.
func TestBySent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		room, err := Open(t.Context(), "lab", newStore(t).Open(),
			Options{Retention: policy.Retention{Age: -1, Count: -1}})
		must(t, err)
		defer func() { must(t, room.Close()) }()
		user := room.As(mail.User)
		for _, name := range []mail.Name{"ann", "bea"} {
			_, err := user.Register(t.Context(), mail.Presence{Name: name})
			must(t, err)
		}
		start := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
		var all []mail.Item // in order of arrival
		for range rapid.IntRange(1, 3).Draw(t, "imports") {
			var items []mail.Item
			from, spread := rapid.IntRange(0, 5000).Draw(t, "from"), rapid.IntRange(1, 20).Draw(t, "spread")
			for i := range rapid.IntRange(1, 1500).Draw(t, "messages") {
				to := []mail.Address{"user", "agent:bea", "project:x"}[(i*7+from)%3]
				n := len(all) + len(items)
				items = append(items, mail.Item{Message: mail.Message{ID: mail.ID(fmt.Sprintf("msg_%022d", n)),
					Type: mail.Status, From: []mail.Address{"agent:ann", "agent:bea"}[n*13%5/4],
					To: []mail.Address{to}, Body: "x",
					Sent: mail.TimeOf(start.Add(time.Duration(from+i/2+n*n%spread) * time.Second))}})
			}
			_, err := user.Import(t.Context(), items)
			must(t, err)
			all = append(all, items...)
		}
		slices.SortStableFunc(all, func(a, b mail.Item) int { return cmp.Compare(a.Sent, b.Sent) })
		slices.Reverse(all)
		wanted := func(fits func(*mail.Message) bool) (ids []mail.ID) {
			for i := range all {
				if fits(&all[i].Message) {
					ids = append(ids, all[i].ID)
				}
			}
			return ids
		}
		limit := rapid.IntRange(50, 1000).Draw(t, "limit")
		for _, q := range []mail.HistoryQuery{{}, {To: "project:x"}, {Agent: "bea"}, {From: "bea"}} {
			q.BySent, q.Limit = true, limit
			var got []mail.ID
			for more := true; more; {
				page, err := user.History(t.Context(), q)
				must(t, err)
				for _, it := range slices.Backward(page.Messages) {
					got = append(got, it.ID)
				}
				if more = page.More; more {
					q.Until, q.Before = page.Messages[0].Sent, page.Messages[0].Seq
				}
			}
			if diff := gocmp.Diff(wanted(func(m *mail.Message) bool {
				return (q.To == "" || m.To[0] == "project:x") && (q.From == "" || m.From == "agent:bea") &&
					(q.Agent == "" || m.From == "agent:bea" || m.To[0] == "agent:bea")
			}), got); diff != "" {
				t.Fatalf("%+v (-naive +room):\n%s", q, diff)
			}
		}
		for _, q := range []mail.InboxQuery{{}, {All: true}, {All: true, From: "bea"}} {
			q.BySent, q.Limit = true, limit
			var got []mail.ID
			for more := true; more; {
				page, err := user.Inbox(t.Context(), q)
				must(t, err)
				for _, it := range page.Messages {
					got = append(got, it.ID)
				}
				if more = page.More; more {
					last := page.Messages[len(page.Messages)-1]
					q.Until, q.Before = last.Sent, last.Seq
				}
			}
			if diff := gocmp.Diff(wanted(func(m *mail.Message) bool {
				return m.To[0] == "user" && (q.From == "" || m.From == "agent:bea")
			}), got); diff != "" {
				t.Fatalf("%+v (-naive +room):\n%s", q, diff)
			}
		}
	})
}
