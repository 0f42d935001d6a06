package mail

import (
	"strings"
	"testing"
	"time"
)

// TestParseWhen uses a Wednesday, in a zone that changed its clocks in the week before.
func TestParseWhen(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	now := time.Date(2026, 4, 1, 14, 20, 30, 0, berlin)
	at := func(month time.Month, day, hour, minute int) time.Time {
		return time.Date(2026, month, day, hour, minute, 0, 0, berlin)
	}
	for _, tt := range []struct {
		text  string
		sense Sense
		want  time.Time
	}{
		{"2026-03-09", Since, at(3, 9, 0, 0)}, {"2026-03-09", Until, at(3, 10, 0, 0)},
		{"2026-05-09", Ahead, at(5, 9, 9, 0)}, {"2026-05-09", Through, at(5, 10, 0, 0).Add(-1e6)},
		{"9:00", Through, at(4, 2, 9, 0)}, {"monday", Through, at(4, 7, 0, 0).Add(-1e6)},
		{"2h", Through, now.Add(2 * time.Hour)},
		{"2026-03-09 08:30", Until, at(3, 9, 8, 30)},
		{"2026-03-09T08:30", Since, at(3, 9, 8, 30)}, {"2026-03-09T08:30:00+02:00", Since, at(3, 9, 7, 30)},
		{"2026-03-09T06:30:00Z", Since, at(3, 9, 7, 30)}, {"2026-05-09T08:30:15", Ahead, at(5, 9, 8, 30).Add(15e9)},
		{"now", Since, now}, {"today", Since, at(4, 1, 0, 0)}, {"today", Until, at(4, 2, 0, 0)},
		{"today 9:00", Since, at(4, 1, 9, 0)}, {"Today at 9:00", Until, at(4, 1, 9, 0)},
		{"yesterday", Since, at(3, 31, 0, 0)}, {"yesterday", Until, at(4, 1, 0, 0)},
		{" yesterday  2pm ", Since, at(3, 31, 14, 0)}, {"tomorrow", Ahead, at(4, 2, 9, 0)},
		{"tomorrow 14:30", Ahead, at(4, 2, 14, 30)},
		{"9:00", Since, at(4, 1, 9, 0)}, {"9:00", Ahead, at(4, 2, 9, 0)}, {"4:30pm", Ahead, at(4, 1, 16, 30)},
		{"16:30", Since, at(3, 31, 16, 30)},
		{"monday", Since, at(3, 30, 0, 0)}, {"Mon", Until, at(3, 31, 0, 0)}, {"monday", Ahead, at(4, 6, 9, 0)},
		{"wednesday", Since, at(4, 1, 0, 0)}, {"wednesday", Ahead, at(4, 8, 9, 0)},
		{"wednesday 16:00", Since, at(3, 25, 16, 0)}, {"thu", Ahead, at(4, 2, 9, 0)}, {"thu", Since, at(3, 26, 0, 0)},
		{"last week", Since, at(3, 23, 0, 0)}, {"Last week", Until, at(3, 30, 0, 0)},
		{"2h", Since, now.Add(-2 * time.Hour)}, {"2h", Ahead, now.Add(2 * time.Hour)},
		{"2h ago", Ahead, now.Add(-2 * time.Hour)}, {"1.5h", Since, now.Add(-90 * time.Minute)},
		{"in 20 minutes", Since, now.Add(20 * time.Minute)}, {"90 min", Until, now.Add(-90 * time.Minute)},
		{"3 days ago", Since, time.Date(2026, 3, 29, 14, 20, 30, 0, berlin)},
		{"in 3 days", Ahead, time.Date(2026, 4, 4, 14, 20, 30, 0, berlin)},
		{"1w", Since, time.Date(2026, 3, 25, 14, 20, 30, 0, berlin)}, // an hour less than seven times 24
		{"1d12h", Ahead, time.Date(2026, 4, 3, 2, 20, 30, 0, berlin)},
	} {
		if got, err := ParseWhen(tt.text, now, tt.sense); err != nil || got != TimeOf(tt.want) {
			t.Errorf("ParseWhen(%q, %d) = %v, %v, want %v", tt.text, tt.sense, got, err, TimeOf(tt.want))
		}
	}
	before := time.Date(2026, 3, 28, 14, 0, 0, 0, berlin)
	if got, err := ParseWhen("tomorrow", before, Ahead); err != nil || got != TimeOf(at(3, 29, 9, 0)) {
		t.Errorf("ParseWhen(tomorrow), before the clocks change = %v, %v", got, err)
	}
	if got, err := ParseWhen(" ", now, Since); got != 0 || err != nil {
		t.Errorf("ParseWhen of nothing = %v, %v", got, err)
	}
}

func TestParseWhenRefuses(t *testing.T) {
	now := time.Date(2026, 5, 10, 14, 0, 0, 0, time.UTC)
	for _, text := range []string{
		"soon", "h", "2", "-2h", "é", "forever", "never", "2026-13-01", "2026-05-10 25:00", "today tomorrow", "mo",
		"ago",
		"in", "in 2h ago", "2h 3", "99999999h", "99999d 99999d", "3 months", "last month", "9am monday", "0", "1.5d",
		"at 9:00",
		"9999999999999999999s 9999999999999999s", "today at", "+2h", "2..h",
	} {
		if got, err := ParseWhen(text, now, Since); CodeOf(err) != Invalid {
			t.Errorf("ParseWhen(%q) = %v, %v, want an invalid error", text, got, err)
		} else if !strings.Contains(err.Error(), "2h ago") {
			t.Errorf("ParseWhen(%q): %v does not say how to write it", text, err)
		}
	}
}
