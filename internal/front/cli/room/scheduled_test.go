package room

import (
	"testing"
	"time"

	"pennypost/internal/mail"
)

// TestUntil: the day of --until is the last whole day, in the zone of --zone.
func TestUntil(t *testing.T) {
	for zone, want := range map[string]string{
		"":                 time.Date(2027, 6, 30, 23, 59, 59, 999e6, time.Local).UTC().Format(time.RFC3339Nano),
		"Pacific/Auckland": "2027-06-30T11:59:59.999Z",
	} {
		l, err := laterFlags{every: "0 18 * * *", until: "2027-06-30", zone: zone}.parse()
		if zone == "" && err != nil {
			continue // this machine's zone is unknown
		}
		if got := l.Until.String(); err != nil || got != want {
			t.Errorf("in %q until %s, want %s (%v)", zone, got, want, err)
		}
	}
	if l, err := (laterFlags{at: "2027-06-30", zone: "UTC"}).parse(); err != nil ||
		l.At != mail.TimeOf(time.Date(2027, 6, 30, 9, 0, 0, 0, time.Local)) {
		t.Errorf("at %s, %v", l.At, err)
	}
}
