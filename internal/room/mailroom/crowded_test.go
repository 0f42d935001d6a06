package mailroom

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// TestP12_OpeningReadsNoTexts checks that a room which is opened only to see what it has for the user reads no texts:
// of the rows of a thousand rooms few are shown, and most rooms are never searched. A search still finds, and
// indexes, everything.
func TestP12_OpeningReadsNoTexts(t *testing.T) {
	fakeTime(t, func(t *testing.T) {
		var previews atomic.Int32
		opts := Options{Index: t.TempDir(), Preview: func(body string) string {
			previews.Add(1)
			return body
		}}
		store := newStore(t)
		room := reopen(t, store, "lab", opts)
		for i := range 30 {
			if _, err := room.As("ann").Send(t.Context(), mail.Draft{To: mail.Recipients{"user"},
				Body: fmt.Sprint("number ", i)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := room.Close(); err != nil {
			t.Fatal(err)
		}
		room = reopen(t, store, "lab", opts)
		defer room.Close()
		d, err := room.DeskRows(mail.DeskQuery{Limit: 10})
		if err != nil || len(d.Updates) != 10 || d.Unread != 30 || d.Updates[0].Body != "" {
			t.Fatalf("DeskRows = %d rows, %d unread, %v", len(d.Updates), d.Unread, err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := previews.Load(); n != 0 || room.index.End() != 0 {
			t.Errorf("%d texts were read for rows, and the index is at %d", n, room.index.End())
		}
		rows, err := room.Preview(t.Context(), d.Updates[:3])
		if err != nil || len(rows) != 3 || rows[0].Preview != "number 29" || previews.Load() != 3 {
			t.Errorf("Preview = %+v, %v, and %d texts were read", rows, err, previews.Load())
		}
		page, err := room.As(mail.User).History(t.Context(), mail.HistoryQuery{Search: `"number 17"`})
		if err != nil || len(page.Messages) != 1 {
			t.Errorf("History = %+v, %v", page, err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if got := room.index.End(); got != room.journal.Last() {
			t.Errorf("a second after something was searched for, the index is at %d, and the room at %d", got,
				room.journal.Last())
		}
	})
}

// TestIndexWaitsForSenders checks that a busy room is indexed only when it is calm, or when someone searches, which
// finds everything.
func TestIndexWaitsForSenders(t *testing.T) {
	fakeTime(t, func(t *testing.T) {
		room := reopen(t, newStore(t), "lab", Options{Index: t.TempDir(), Limits: policy.Limits{PerMinute: -1}})
		defer room.Close()
		n := 0
		burst := func() {
			for range 4 * indexCalm {
				n++
				if _, err := room.As("ann").Send(t.Context(), mail.Draft{To: mail.Recipients{"user"},
					Body: fmt.Sprint("number ", n)}); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(indexDelay / 2)
		}
		first := room.journal.Last()
		for range 5 {
			burst()
		}
		if got := room.index.End(); got > first {
			t.Errorf("while many send, the index is at %d, and the room at %d", got, room.journal.Last())
		}
		page, err := room.As(mail.User).History(t.Context(), mail.HistoryQuery{Search: fmt.Sprintf(`"number %d"`, n)})
		if err != nil || len(page.Messages) != 1 {
			t.Errorf("History = %+v, %v", page, err)
		}
		burst()
		time.Sleep(2 * indexDelay)
		synctest.Wait()
		if got := room.index.End(); got != room.journal.Last() {
			t.Errorf("in a calm room, the index is at %d, and the room at %d", got, room.journal.Last())
		}
	})
}
