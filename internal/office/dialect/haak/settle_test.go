package haak_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pennypost/internal/mail"
)

// TestMuchMail reads ten thousand lines of a year, to sessions with short or whole ids, only some on the roster. All
// but recent and role mail is settled and moves to the archive, and missing readers are not reported.
func TestMuchMail(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	var lines, entries []string
	id := func(i int) string { return fmt.Sprintf("%08x-0000-4000-8000-000000000000", 0xabcd0000+i) }
	for i := range 40 {
		entries = append(entries, fmt.Sprintf(`{"session_id":%q,"state":"dead","role":"steward"}`, id(i)[:8+28*(i%2)]))
	}
	at := d.Now()
	for i := range 10_000 {
		to := []string{id(i % 80), id(i % 80)[:8], "all", "project:x"}[i%4]
		lines = append(lines, foreign(fmt.Sprint("m", i), id(i%90), to,
			at.Add(-time.Duration(10_000-i)*time.Hour).Format(time.RFC3339), "x"))
	}
	lines = append(lines, foreign("role", id(0), "steward", at.Add(-200*24*time.Hour).Format(time.RFC3339), "x"))
	d.stranger(roster, entries...)
	st := d.stranger(mailbox, lines...)
	for range 20 { // the bridge continues by itself on a slow machine
		if st.Behind == 0 && st.Notice == "" && strings.Count(d.text(mailbox), "\n") < 1000 {
			break
		}
		if strings.Contains(st.Notice, "reader") || st.Failing != "" {
			t.Fatalf("status %+v", st)
		}
		st = d.Sync()
	}
	if n := strings.Count(d.text(mailbox), "\n"); n > 30 || !strings.Contains(d.text(mailbox), `"role"`) {
		t.Errorf("%d lines stay in the mailbox", n)
	}
	if page, err := d.As(mail.User).History(t.Context(), mail.HistoryQuery{States: []mail.DeliveryState{mail.Held},
		Archive: true}); err != nil || len(page.Messages) != 1 {
		t.Errorf("%d messages are held for roles, %v", len(page.Messages), err)
	}
}
