package wording

import (
	"os/exec"
	"testing"
	"time"
)

func TestClip(t *testing.T) {
	for in, want := range map[string]string{"short": "short", "exactly 10": "exactly 10", "eleven byte": "eleven …",
		"小克小克": "小克…"} {
		if got := Clip(in, 10); got != want {
			t.Errorf("Clip(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestPlural(t *testing.T) {
	for n, want := range map[int]string{0: "0 lines", 1: "1 line", 2: "2 lines"} {
		if got := Plural(n, "line"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestSpan(t *testing.T) {
	for _, c := range []struct {
		d           time.Duration
		long, brief string
	}{
		{-time.Hour, "now", "now"}, {59 * time.Second, "now", "now"}, {time.Minute, "1 min", "1m"},
		{59 * time.Minute, "59 min", "59m"}, {time.Hour, "1 h", "1h"}, {24*time.Hour - 1, "23 h", "23h"},
		{24 * time.Hour, "1 day", "1d"}, {Old - 1, "29 days", "29d"}, {400 * 24 * time.Hour, "400 days", "400d"},
	} {
		if got := Span(c.d); got != c.long || Brief(got) != c.brief {
			t.Errorf("%v is %q and %q, want %q and %q", c.d, got, Brief(got), c.long, c.brief)
		}
	}
}

func TestClipRunes(t *testing.T) {
	for in, want := range map[string]string{"": "", "four": "four", "fünf!": "fün…", "an elk": "an…", "小克小克": "小克小克"} {
		if got := ClipRunes(in, 4); got != want {
			t.Errorf("ClipRunes(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestOneLine(t *testing.T) {
	if got, want := OneLine("a\nb\x1b[2Jc\u2028d\u202ee", '_'), "a_b_[2Jc_d_e"; got != want {
		t.Errorf("OneLine = %q, want %q", got, want)
	}
}

// A shell reads the result of Shell as the original word.
func TestShell(t *testing.T) {
	for _, word := range []string{"", "plain-1.2/x", "小克", "the boss", "it's", "$(touch x)", "a;b", "`a`", `a\b"c`,
		"*", "~", "a\nb", "#x", "{a,b}", "!!"} {
		out, err := exec.Command("sh", "-c", "printf %s "+Shell(word)).Output()
		if err != nil || string(out) != word {
			t.Errorf("Shell(%q) = %s, which a shell reads as %q, %v", word, Shell(word), out, err)
		}
	}
}

func TestJoin(t *testing.T) {
	lines := func(n int) string { return Plural(n, "line") }
	if got, want := Join([]int{1, 2}, ", ", lines), "1 line, 2 lines"; got != want {
		t.Errorf("Join = %q, want %q", got, want)
	}
}
