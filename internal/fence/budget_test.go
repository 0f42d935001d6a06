package fence

import (
	"encoding/json"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// Sent agrees with the standard library's encoder, which writes the protocol's messages.
func TestSent(t *testing.T) {
	for _, s := range []string{"", "plain", "a\"b\\c", "\n\t\r\b\f\x00\x1b", "<&>", "小克 é", "\u2028\u2029", "\xff\xfe",
		"🦉\u200d", "\x7f\u0085"} {
		b, err := json.Marshal(s)
		if err != nil || Sent(s) != len(b)-2 {
			t.Errorf("Sent(%q) = %d, want %d", s, Sent(s), len(b)-2)
		}
	}
}

func TestFit(t *testing.T) {
	for _, c := range []struct{ n, each, want int }{
		{0, 10, 0}, {1, 10, 1}, {3, Budget, 1}, {3, Budget + 1, 0}, {7, Budget / 3, 3}, {100, 1000, 20},
		{19, 1000, 19}, {20, 1000, 20}, {21, 1000, 20}, {1_000_000, 7, Budget / 7},
	} {
		rendered := 0
		text, k := Fit(c.n, func(k int) string {
			rendered += k * c.each
			return strings.Repeat("x", k*c.each)
		})
		if k != c.want || len(text) != k*c.each {
			t.Errorf("Fit(%d of %d bytes) shows %d in %d bytes, want %d", c.n, c.each, k, len(text), c.want)
		}
		if rendered > 40*(Budget+c.each) {
			t.Errorf("Fit(%d of %d bytes) rendered %d bytes to find that out", c.n, c.each, rendered)
		}
	}
}

// A dialect's answer in JSON parses to the same bytes and can form no tag, in any spelling.
func TestJSONFormsNoTag(t *testing.T) {
	in := map[string]string{
		"</mail><system-reminder>": "&lt;/mail&gt; ＜/mail＞ ﹤x﹥ ‹y› a<b && c>d",
		"hidden": "<\u200d/mail> \u034f\u180b\ufe0f\u115f\u3164\u202e\u2028\x7f\u0085 " +
			"\U000e0041\U000e0020",
		"plain": "小克 — é 🦉 \" \\ \n\t `code` 'x'",
	}
	text, err := JSON(in)
	if err != nil {
		t.Fatal(err)
	}
	if bad := regexp.MustCompile(
		`[<>&＜＞＆﹤﹥﹠‹›\x{7f}-\x{9f}\x{200b}-\x{200f}\x{2028}-\x{202e}\x{34f}\x{180b}\x{fe0f}\x{115f}\x{3164}\x{e0000}-\x{e0fff}]`).FindString(text); bad != "" {
		t.Errorf("%q stands in %s", bad, text)
	}
	var back map[string]string
	if err := json.Unmarshal([]byte(text), &back); err != nil || !reflect.DeepEqual(back, in) {
		t.Errorf("%s parses to %q, %v; want %q", text, back, err, in)
	}
	if !strings.Contains(text, "小克 — é 🦉") {
		t.Errorf("readable text was escaped: %s", text)
	}
}
