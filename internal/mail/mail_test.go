package mail

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestParseAddress(t *testing.T) {
	for in, want := range map[string]struct {
		a    Address
		bare bool
		kind Kind
	}{
		"agent:ag_x1":       {"agent:ag_x1", false, ToAgent},
		"agent:a:b@c d":     {"agent:a:b@c d", false, ToAgent},
		"agent:user":        {"user", false, ToPerson},
		"role:builder":      {"role:builder", false, ToRole},
		"role:orchestrator": {"orchestrator", false, ToRole},
		"orchestrator":      {"orchestrator", false, ToRole},
		"project:x/y":       {"project:x/y", false, ToTag},
		"concern:governance": {
			"concern:governance", false, ToTag},
		"all":            {"all", false, ToEveryone},
		"broadcast":      {"all", false, ToEveryone},
		"user":           {"user", false, ToPerson},
		"builder":        {"", true, 0},
		"system:cron":    {"", true, 0},
		"Mac CLI 小克":     {"", true, 0},
		"bob@other-room": {"", true, 0},
	} {
		a, bare, err := ParseAddress(in, TagNamespaces())
		if err != nil || a != want.a || bare != want.bare || !bare && a.Kind() != want.kind {
			t.Errorf("ParseAddress(%q) = %q, %v, %v; want %+v", in, a, bare, err, want)
		}
	}
	for _, in := range []string{"", " a", "a\n", "a\x00b", "\xff", "project:", "role:", "role:a:b", "agent:",
		strings.Repeat("x", 129), "a\u202eb"} {
		if a, bare, err := ParseAddress(in, TagNamespaces()); CodeOf(err) != Invalid {
			t.Errorf("ParseAddress(%q) = %q, %v, %v; want invalid", in, a, bare, err)
		}
	}
}

func TestParseName(t *testing.T) {
	for _, ok := range []string{"a", "小克 builder", "Mac CLI 小克", "夏哥", "team-lead@team", "system:cron", "👩‍💻",
		"orchestrator", strings.Repeat("x", 128)} {
		if n, err := ParseName(ok); err != nil || string(n) != ok {
			t.Errorf("ParseName(%q) = %q, %v", ok, n, err)
		}
	}
	for _, bad := range []string{"", "user", "system", "all", "broadcast", "agent:x", "role:x", "a\tb", "x ",
		"\u200bx", "a\u2028b", strings.Repeat("é", 65)} {
		if n, err := ParseName(bad); err == nil {
			t.Errorf("ParseName(%q) = %q", bad, n)
		}
	}
}

func TestParseRoom(t *testing.T) {
	for _, ok := range []string{"default", "pennypost-1a2b3c", "项目", "a.b_c-d", "1"} {
		if r, err := ParseRoom(ok); err != nil || string(r) != ok {
			t.Errorf("ParseRoom(%q) = %q, %v", ok, r, err)
		}
	}
	for _, bad := range []string{"", ".", "..", "../x", "a/b", `a\b`, "a\x00b", "-a", ".a", "a b", "nul", "CON.txt",
		"com1", "a.", strings.Repeat("x", 101), "\xff", "a:b"} {
		if r, err := ParseRoom(bad); CodeOf(err) != Invalid {
			t.Errorf("ParseRoom(%q) = %q, %v; want invalid", bad, r, err)
		}
	}
}

func TestTime(t *testing.T) {
	for in, want := range map[string]string{
		"2026-05-10T14:00:00Z":                "2026-05-10T14:00:00.000Z",
		"2026-05-10T14:00:00.1239Z":           "2026-05-10T14:00:00.123Z",
		"2026-05-10T22:00:00.5+08:00":         "2026-05-10T14:00:00.500Z",
		"1969-12-31T23:59:59.999Z":            "1969-12-31T23:59:59.999Z",
		"2026-05-10T14:00:00.123456789+00:00": "2026-05-10T14:00:00.123Z",
	} {
		got, err := ParseTime(in)
		if err != nil || got.String() != want {
			t.Errorf("ParseTime(%q) = %v, %v; want %s", in, got, err, want)
		}
		var back Time
		text, _ := json.Marshal(got)
		if err := json.Unmarshal(text, &back); err != nil || back != got {
			t.Errorf("%s came back as %v, %v", text, back, err)
		}
	}
	for _, bad := range []string{"", "yesterday", "2026-05-10", "2026-13-01T00:00:00Z", "0000-01-01T00:00:00Z"} {
		if got, err := ParseTime(bad); CodeOf(err) != Invalid {
			t.Errorf("ParseTime(%q) = %v, %v; want invalid", bad, got, err)
		}
	}
}

func TestRecipients(t *testing.T) {
	for in, want := range map[string]int{`"a"`: 1, `["a","b"]`: 2, ` "a,b" `: 1, `[]`: 0} {
		var r Recipients
		if err := json.Unmarshal([]byte(in), &r); err != nil || len(r) != want {
			t.Errorf("%s = %q, %v; want %d", in, r, err, want)
		}
	}
	for _, bad := range []string{`7`, `{"a":1}`, `[1]`} {
		var r Recipients
		if err := json.Unmarshal([]byte(bad), &r); err == nil {
			t.Errorf("%s = %q", bad, r)
		}
	}
}

func TestErrorKeepsItsCauseToItself(t *testing.T) {
	cause := Errorf(Invalid, "inner")
	err := Errorf(Denied, "outer: %w", cause)
	if CodeOf(err) != Denied || err.Unwrap() != error(cause) || CodeOf(nil) != "" ||
		CodeOf(errors.New("x")) != Internal {
		t.Errorf("codes: %s, %v", CodeOf(err), err.Unwrap())
	}
}

// FuzzParseAddress checks that every parsed address is canonical: it parses to itself, is valid UTF-8, and fits the
// limits of ids and names.
func FuzzParseAddress(f *testing.F) {
	for _, s := range []string{"agent:a", "role:b", "project:x", "all", "user", "a@b", "agent:user",
		"role:orchestrator", ":", "agent:agent:x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, bare, err := ParseAddress(s, TagNamespaces())
		if err != nil || bare {
			if a != "" {
				t.Errorf("ParseAddress(%q) = %q with bare %v, %v", s, a, bare, err)
			}
			return
		}
		again, bare, err := ParseAddress(string(a), TagNamespaces())
		if again != a || bare || err != nil || !utf8.ValidString(string(a)) || a.Value() == "" {
			t.Errorf("%q -> %q -> %q, %v, %v", s, a, again, bare, err)
		}
	})
}

func TestFarAddress(t *testing.T) {
	for _, tt := range []struct {
		from Address
		room RoomName
		want Address
	}{
		{"agent:carol", "lab", "far:carol@lab"},
		{"orchestrator", "lab", "far:orchestrator@lab"},
		{"agent:a@b", "lab", "far:a@b@lab"}, // from an older journal
		{"agent:小克 builder", "lab-1.ü", "far:小克 builder@lab-1.ü"},
	} {
		got := FarAddress(tt.from, tt.room)
		agent, room, ok := got.Far()
		if got != tt.want || got.Kind() != FromFar || agent != tt.from || room != tt.room || !ok {
			t.Errorf("FarAddress(%q, %q) = %q, which is %q in %q, %v", tt.from, tt.room, got, agent, room, ok)
		}
		if a, bare, err := ParseAddress(string(got), TagNamespaces()); a != got || bare || err != nil {
			t.Errorf("ParseAddress(%q) = %q, %v, %v", got, a, bare, err)
		}
		if _, err := ParseName(string(got.Signer())); err == nil && got.Signer().CheckNew() == nil {
			t.Errorf("an agent can be named %q, as %q signs", got.Signer(), got)
		}
	}
	for _, bad := range []string{"far:", "far:x", "far:@lab", "far:x@", "far:x@a/b"} {
		if a, bare, err := ParseAddress(bad, TagNamespaces()); CodeOf(err) != Invalid {
			t.Errorf("ParseAddress(%q) = %q, %v, %v; want invalid", bad, a, bare, err)
		}
	}
}

func TestCheckNew(t *testing.T) {
	for _, ok := range []Name{
		"a", "小克 builder", "夏哥", "system:cron", "מוריה", "علی", "👩‍💻", "👩🏽‍🚀 pilot", "❤️‍🔥", "1️⃣ first", "🏳️‍🌈", "☂️",
		"Mac CLI 小克", "naïve",
	} {
		if err := ok.CheckNew(); err != nil {
			t.Errorf("CheckNew(%q) = %v", ok, err)
		}
	}
	for _, bad := range []Name{
		"carol@lab", "@", "far:x", "us\u200der", "a\u200db", "user\u034f", "\u115fuser", "us\u00ader", "می\u200cخواهم",
		"x\ufe0f", "a\u180bb", "\u3164", "b\u2800",
		"x\U000e0075\U000e0073", "🏴\U000e0067\U000e007f", "x\u200d", "👩\u200d", "👩\u200dx", "\u200d👩", "a\u2061b",
		"a\ufff9b",
	} {
		if err := bad.CheckNew(); CodeOf(err) != Invalid {
			t.Errorf("CheckNew(%q) = %v, want invalid", bad, err)
		}
	}
}
