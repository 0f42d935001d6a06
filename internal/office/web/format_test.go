package web

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
		if got := ago(now, mail.TimeOf(now.Add(-c.ago))); got != c.want {
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
		if got := day(now, mail.TimeOf(c.at)); got != c.want {
			t.Errorf("%v is %q, want %q", c.at, got, c.want)
		}
	}
	sunday := time.Date(2026, 5, 17, 12, 0, 0, 0, zone)
	if got := day(sunday, mail.TimeOf(sunday.AddDate(0, 0, -6))); got != "This week" {
		t.Errorf("on Sunday, Monday was %q", got)
	}
}

func TestInitials(t *testing.T) {
	for name, want := range map[string]string{"builder-1": "B1", "agent:builder-1": "B1", "role:designer": "RD",
		"小克": "小", "a": "A", "": "", "---": "", "one two three": "OT", "éa.ß": "Éß", "<script>": "<"} {
		if got := initials(name); !strings.EqualFold(got, want) {
			t.Errorf("initials(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestColor(t *testing.T) {
	if color(mail.Name("builder-1")) != color(mail.Address("agent:builder-1")) ||
		color("builder-1") != color(mail.Name("builder-1")) {
		t.Error("an agent has one colour as a name and another as an address")
	}
	seen := make(map[string]bool)
	for _, n := range strings.Fields("a b c d e f g h i j k l m n o p q r s t u v w x y z") {
		seen[color(n)] = true
	}
	if len(seen) < colors/2 {
		t.Errorf("26 agents have %d colours", len(seen))
	}
}

func TestFirstLine(t *testing.T) {
	for body, want := range map[string]string{
		"": "", "\n\n  \n": "", "One\nTwo": "One", "# Heading\ntext": "Heading", "\n- [x] item": "[x] item",
		"> quoted": "quoted", "```\ncode": "code", "***\nafter": "after", "--- x": "x",
		strings.Repeat("é", 200): strings.Repeat("é", 160) + "…",
	} {
		if got := firstLine(body); got != want {
			t.Errorf("firstLine(%q) = %q, want %q", body, got, want)
		}
	}
}

func TestPlural(t *testing.T) {
	for n, want := range map[int]string{0: "0 lines", 1: "1 line", 2: "2 lines"} {
		if got := plural(n, "line"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
