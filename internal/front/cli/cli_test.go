package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
)

func TestExitStatus(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errors.New("anything else"), 1},
		{mail.Errorf(mail.Internal, "x"), 1},
		{mail.Errorf(mail.Invalid, "x"), 2},
		{mail.Errorf(mail.NotFound, "x"), 3},
		{mail.Errorf(mail.Timeout, "x"), 4},
		{mail.Errorf(mail.Denied, "x"), 5},
		{mail.Errorf(mail.Unknown, "x"), 5},
		{mail.Errorf(mail.TooLarge, "x"), 5},
		{mail.Errorf(mail.Limited, "x"), 5},
		{mail.Errorf(mail.Conflict, "x"), 5},
		{mail.Errorf(mail.Unavailable, "x"), 6},
		{fmt.Errorf("wrapped: %w", mail.Errorf(mail.NotFound, "x")), 3},
		{Hinted(mail.Errorf(mail.Denied, "x"), "y"), 5},
		{Silent(6), 6},
		{context.Canceled, 1},
	} {
		a := &App{Env: Env{Stderr: new(bytes.Buffer)}}
		if got := a.finish(tt.err); got != tt.want {
			t.Errorf("finish(%v) = %d, want %d", tt.err, got, tt.want)
		}
	}
}

// TestOtherVersion: a user of a post office of another version is told what to do.
func TestOtherVersion(t *testing.T) {
	for _, tt := range []struct {
		verb, office string
		told         bool
	}{
		{"inbox", "v9.9.9", true}, {"inbox", Version(), false}, {"inbox", "", false}, {"stop", "v9.9.9", false},
	} {
		var errs bytes.Buffer
		a := &App{Env: Env{Stderr: &errs}, Asked: tt.verb}
		a.meetOffice(tt.office)
		if told := strings.Contains(errs.String(), "v9.9.9") &&
			strings.Contains(errs.String(), "hint: pennypost stop"); told !=
			tt.told {
			t.Errorf("%s with a post office of version %q says %q", tt.verb, tt.office, errs.String())
		}
	}
}

func TestVisible(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"plain 小克 é", "plain 小克 é"},
		{"two\nlines\tand a tab", "two\nlines\tand a tab"},
		{"\x1b[31mred\x07", "␛[31mred␇"},
		{"a\r\nb\rc", "a\nb␍c"},
		{"del\x7f nul\x00", "del␡ nul␀"},
		{"c1 \u009b31m", "c1 <U+009B>31m"},
		{"\u202eevil\u2069 \u2028", "<U+202E>evil<U+2069> <U+2028>"},
		{"bad \xff", "bad \uFFFD"},
	} {
		if got := Visible(tt.in); got != tt.want {
			t.Errorf("visible(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
	if got, want := OneLine("a\nb\tc"), "a␊b c"; got != want {
		t.Errorf("oneLine = %q, want %q", got, want)
	}
}

// JSON output parses as the original value and contains no terminal control characters, however the writes are split.
func TestJSONIsSafeForTerminals(t *testing.T) {
	said := "plain 小克 é 👩\u200d🚀 c1 \u009b31m\u0085 \x7f bidi \u202e\u2069\u200f\u061c \u2028\x1b[31m"
	var out bytes.Buffer
	p := &Printer{To: &JSONWriter{To: &out}}
	p.Value(map[string]string{said: said})
	whole := out.String()
	var back map[string]string
	if err := json.Unmarshal([]byte(whole), &back); err != nil || back[said] != said {
		t.Fatalf("%q does not parse as what was meant: %v", whole, err)
	}
	if strings.ContainsFunc(strings.TrimSpace(whole), func(r rune) bool {
		return harmful(r) || unicode.Is(unicode.Bidi_Control, r)
	}) {
		t.Errorf("a terminal obeys %q", whole)
	}
	if !strings.Contains(whole, "小克 é 👩\u200d🚀") {
		t.Errorf("%q: what a terminal shows as it is has been escaped", whole)
	}
	raw, err := jsonx.Marshal(map[string]string{said: said})
	if err != nil {
		t.Fatal(err)
	}
	out.Reset()
	bytewise := &JSONWriter{To: &out}
	for i := range raw {
		if _, err := bytewise.Write(raw[i : i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if out.String()+"\n" != whole {
		t.Errorf("written by bytes it is %q, at once %q", &out, whole)
	}
}

func FuzzVisible(f *testing.F) {
	f.Add("\x1b]0;title\x07")
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range Visible(s) {
			if r != '\n' && r != '\t' && r != '\uFFFD' && harmful(r) {
				t.Errorf("visible(%q) lets %U through", s, r)
			}
		}
		if strings.ContainsAny(OneLine(s), "\n\t") {
			t.Errorf("oneLine(%q) has more than one line", s)
		}
	})
}

func TestColumns(t *testing.T) {
	for in, want := range map[string]int{"": 0, "abc": 3, "小克": 4, "e\u0301": 1, "👍": 2, "한글": 4, "⌚": 2, "ｱ": 1,
		"🜀": 1, "so\u00adft": 5} {
		if got := Columns(in); got != want {
			t.Errorf("columns(%q) = %d, want %d", in, got, want)
		}
	}
	for _, tt := range []struct {
		in    string
		width int
		want  string
	}{{"short", 5, "short"}, {"longer", 5, "long…"}, {"小克小克", 5, "小克…"}, {"小克小克", 4, "小…"}, {"a b", 2, "a…"}} {
		if got := Shorten(tt.in, tt.width); got != tt.want || Columns(got) > tt.width {
			t.Errorf("shorten(%q, %d) = %q, want %q", tt.in, tt.width, got, tt.want)
		}
	}
}

func TestAgo(t *testing.T) {
	p := &Printer{Now: time.Date(2026, 5, 10, 14, 0, 0, 0, time.UTC)}
	for _, tt := range []struct {
		before time.Duration
		want   string
	}{
		{0, "just now"}, {-10 * time.Second, "just now"}, {59 * time.Second, "just now"},
		{5 * time.Minute, "5 min ago"},
		{90 * time.Minute, "1 h ago"}, {3 * 24 * time.Hour, "3 days ago"},
	} {
		if got := p.Ago(mail.TimeOf(p.Now.Add(-tt.before))); got != tt.want {
			t.Errorf("ago(%s) = %q, want %q", tt.before, got, tt.want)
		}
	}
	if got := p.Ago(0); got != "never" {
		t.Errorf("ago(0) = %q", got)
	}
}

// TestKeyLast checks that a machine's key that begins with a dash reaches its command as an argument.
func TestKeyLast(t *testing.T) {
	const key = "-sdTEzv1G18p0wWClQfNbc0zWp_IFLKuD5N-h9OWG4Q"
	for _, tt := range []struct{ args, want string }{
		{"machines admit m1 " + key, "machines admit m1 -- " + key},
		{"machines admit m1 " + key + " --json", "machines admit m1 --json -- " + key},
		{"machines admit m1 -- " + key, "machines admit m1 -- " + key},
		{"machines admit m1 " + key[1:] + "A", "machines admit m1 " + key[1:] + "A"},
		{"send --to bob -x", "send --to bob -x"},
	} {
		if got := strings.Join(keyLast(strings.Fields(tt.args)), " "); got != tt.want {
			t.Errorf("%s: %s", tt.args, got)
		}
	}
}
