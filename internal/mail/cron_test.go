package mail

import (
	"testing"
	"time"
)

func TestCron(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	const layout = "2006-01-02 15:04 MST"
	for _, tt := range []struct {
		line, from string
		want       []string
	}{
		{"0 9 * * mon-fri", "2026-11-26 08:00", []string{"2026-11-26 09:00 CET", "2026-11-27 09:00 CET",
			"2026-11-30 09:00 CET"}},
		{"*/20 14 * * *", "2026-05-10 14:19", []string{"2026-05-10 14:20 CEST", "2026-05-10 14:40 CEST",
			"2026-05-11 14:00 CEST"}},
		{"0 0 1,15 * *", "2026-01-02 00:00", []string{"2026-01-15 00:00 CET", "2026-02-01 00:00 CET"}},
		{"0 0 13 * fri", "2026-02-01 00:00", []string{"2026-02-06 00:00 CET", "2026-02-13 00:00 CET",
			"2026-02-20 00:00 CET", "2026-02-27 00:00 CET", "2026-03-06 00:00 CET", "2026-03-13 00:00 CET"}},
		{"30 8 29 feb *", "2096-03-01 00:00", []string{"2104-02-29 08:30 CET"}},
		{"0 12 * * 7", "2026-11-27 00:00", []string{"2026-11-29 12:00 CET"}},
		{"5/20 0-2/2 * jan *", "2026-01-01 00:30", []string{"2026-01-01 00:45 CET", "2026-01-01 02:05 CET"}},
		// clocks are put forward from 2:00 to 3:00
		{"30 2 * * *", "2026-03-28 12:00", []string{"2026-03-29 03:00 CEST", "2026-03-30 02:30 CEST"}},
		{"0 3 * * *", "2026-03-28 12:00", []string{"2026-03-29 03:00 CEST", "2026-03-30 03:00 CEST"}},
		{"30 * * * *", "2026-03-29 00:45", []string{"2026-03-29 01:30 CET", "2026-03-29 03:30 CEST"}},
		// clocks are put back from 3:00 to 2:00
		{"30 2 * * *", "2026-10-24 12:00", []string{"2026-10-25 02:30 CEST", "2026-10-26 02:30 CET"}},
		{"0 3 * * *", "2026-10-24 12:00", []string{"2026-10-25 03:00 CET", "2026-10-26 03:00 CET"}},
		{"30 * * * *", "2026-10-25 01:45", []string{"2026-10-25 02:30 CEST", "2026-10-25 02:30 CET",
			"2026-10-25 03:30 CET"}},
	} {
		c, err := ParseCron(tt.line)
		if err != nil {
			t.Error(err)
			continue
		}
		at, err := time.ParseInLocation("2006-01-02 15:04", tt.from, berlin)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range tt.want {
			if at = c.Next(at); at.Format(layout) != want {
				t.Errorf("%q after %s: %s, want %s", tt.line, tt.from, at.Format(layout), want)
				break
			}
		}
	}
}

func TestBadCron(t *testing.T) {
	for _, line := range []string{"", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *",
		"* * * * 8", "a * * * *", "*/0 * * * *", "5-1 * * * *", "1- * * * *", ", * * * *", "* * 31 feb *",
		"-1 * * * *", "* * * * monday", "@daily", "*/x * * * *"} {
		if _, err := ParseCron(line); CodeOf(err) != Invalid {
			t.Errorf("%q: %v", line, err)
		}
	}
}

func TestDueAt(t *testing.T) {
	const now = Time(1_800_000_000_000)
	for _, tt := range []struct {
		at   Time
		in   int
		want Time
	}{
		{now + 1, 0, now + 1}, {0, 2, now + 2000}, {now, 0, 0}, {0, -1, 0}, {now + 1, 1, 0},
		{now.Add(367 * 24 * time.Hour), 0, 0}, {0, 1 << 60, 0},
	} {
		got, err := DueAt(tt.at, tt.in, now)
		if got != tt.want || (err == nil) != (tt.want != 0) {
			t.Errorf("DueAt(%d, %d) = %d, %v, want %d", tt.at, tt.in, got, err, tt.want)
		}
	}
}
