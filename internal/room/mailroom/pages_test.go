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

// TestHistoryPages checks that a walk over the history, including the archive, shows each message once, in order, in
// both directions and with any filter, while retention moves messages to the archive between two pages and the clock
// jumps.
func TestHistoryPages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.Date(2026, 5, 30, 12, 0, 0, 0, time.UTC)
		opts := Options{Now: func() time.Time { return now }, Retention: policy.Retention{Age: -1,
			Count: rapid.IntRange(1, 15).Draw(t, "hot")}, Limits: policy.Limits{RepeatWindow: -1, Exchanges: -1,
			PerMinute: -1, Depth: -1}}
		room, err := Open(t.Context(), "lab", newStore(t).Open(), opts)
		must(t, err)
		defer func() { must(t, room.Close()) }()
		user := room.As(mail.User)
		for _, name := range []mail.Name{"ann", "bea"} {
			_, err := room.As(name).Register(t.Context(), mail.Presence{Name: name})
			must(t, err)
		}
		trim := func() {
			_, err := user.Archive(t.Context())
			must(t, err)
		}
		q := rapid.SampledFrom([]mail.HistoryQuery{{}, {Types: []mail.Type{mail.Question}}, {Agent: "ann"},
			{Search: "odd"}, {States: []mail.DeliveryState{mail.Read}}, {From: "bea"}}).Draw(t, "query")
		q.Archive, q.Deliveries = true, true
		var sent []mail.ID
		for i := range rapid.IntRange(0, 25).Draw(t, "messages") {
			now = now.Add(time.Duration(rapid.IntRange(-48, 48).Draw(t, "hours")) * time.Hour)
			to := rapid.SampledFrom([]string{"ann", "user"}).Draw(t, "to")
			kind := rapid.SampledFrom([]mail.Type{mail.Status, mail.Question}).Draw(t, "type")
			body := []string{"even", "odd"}[i%2]
			got, err := room.As("bea").Send(t.Context(), mail.Draft{To: mail.Recipients{to}, Type: string(kind),
				Body: fmt.Sprint(body, i)})
			must(t, err)
			read := rapid.Bool().Draw(t, "read")
			if read {
				_, err := room.As(mail.Name(to)).Mark(t.Context(), mail.Marking{IDs: []mail.ID{got.ID},
					Mark: mail.MarkRead})
				must(t, err)
			}
			if (q.Types == nil || kind == mail.Question) && (q.Agent == "" || to == "ann") &&
				(q.Search == "" || i%2 == 1) && (q.States == nil || read) {
				sent = append(sent, got.ID)
			}
			if rapid.IntRange(0, 9).Draw(t, "trim") == 0 {
				trim()
			}
		}
		q.Limit = rapid.IntRange(1, 7).Draw(t, "limit")
		forward := rapid.Bool().Draw(t, "forward")
		if forward {
			q.After = 1
		}
		var seen []mail.Item
		for more := true; more; {
			page, err := user.History(t.Context(), q)
			must(t, err)
			if len(page.Messages) > q.Limit {
				t.Fatalf("a page of %d, want %d at most", len(page.Messages), q.Limit)
			}
			if more = page.More; forward {
				seen, q.After = append(seen, page.Messages...), page.Next
			} else {
				seen, q.Before = append(page.Messages, seen...), page.Next
			}
			if rapid.Bool().Draw(t, "retention between pages") {
				room.opts.Retention.Count = rapid.IntRange(1, 15).Draw(t, "hot then")
				trim()
			}
		}
		if !slices.IsSortedFunc(seen, func(a, b mail.Item) int { return cmp.Compare(a.Seq, b.Seq) }) {
			t.Error("the pages are not in the order of places")
		}
		var got []mail.ID
		for _, it := range seen {
			got = append(got, it.ID)
		}
		if diff := gocmp.Diff(sent, got); diff != "" {
			t.Fatalf("the pages differ from what was sent (-sent +seen):\n%s", diff)
		}
	})
}
