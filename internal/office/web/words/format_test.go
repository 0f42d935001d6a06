package words

import (
	"strings"
	"testing"
	"time"

	"pennypost/internal/mail"
)

func TestAgo(t *testing.T) {
	now := time.Date(2026, 5, 13, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		ago  time.Duration
		want string
	}{
		{-time.Hour, "now"}, {0, "now"}, {59 * time.Second, "now"}, {time.Minute, "1m"}, {59 * time.Minute, "59m"},
		{time.Hour, "1h"}, {24*time.Hour - time.Second, "23h"}, {24 * time.Hour, "1d"},
		{6 * 24 * time.Hour, "6d"}, {7 * 24 * time.Hour, "6 May"}, {200 * 24 * time.Hour, "25 Oct 2025"},
	} {
		if got := Ago(now, mail.TimeOf(now.Add(-c.ago))); got != c.want {
			t.Errorf("%v ago is %q, want %q", c.ago, got, c.want)
		}
	}
}

func TestDay(t *testing.T) {
	zone := time.FixedZone("", 2*3600)
	now := time.Date(2026, 5, 13, 0, 30, 0, 0, zone) // a Wednesday, which has not begun in UTC
	for _, c := range []struct {
		at   time.Time
		want string
	}{
		{now, "Today"}, {time.Date(2026, 5, 13, 0, 0, 0, 0, zone), "Today"},
		{time.Date(2026, 5, 12, 23, 59, 0, 0, zone), "Yesterday"},
		{time.Date(2026, 5, 12, 0, 0, 0, 0, zone), "Yesterday"},
		{time.Date(2026, 5, 11, 23, 0, 0, 0, zone), "This week"},
		{time.Date(2026, 5, 11, 0, 0, 0, 0, zone), "This week"}, {time.Date(2026, 5, 10, 23, 0, 0, 0, zone), "Older"},
		{now.AddDate(0, 0, 1), "Today"},
	} {
		if got := Day(now, mail.TimeOf(c.at)); got != c.want {
			t.Errorf("%v is %q, want %q", c.at, got, c.want)
		}
	}
	sunday := time.Date(2026, 5, 17, 12, 0, 0, 0, zone)
	if got := Day(sunday, mail.TimeOf(sunday.AddDate(0, 0, -6))); got != "This week" {
		t.Errorf("on Sunday, Monday was %q", got)
	}
}

func TestFirstLine(t *testing.T) {
	for body, want := range map[string]string{
		"": "", "\n\n  \n": "", "**One**\nTwo": "One Two", "# Heading\ntext": "Heading · text", "\n- [x] item": "item",
		"> quoted": "quoted", "```\ncode": "code", "***\nafter `it`": "after it",
		strings.Repeat("é", 200): strings.Repeat("é", 159) + "…",
	} {
		if got := FirstLine(body); got != want {
			t.Errorf("firstLine(%q) = %q, want %q", body, got, want)
		}
	}
}
