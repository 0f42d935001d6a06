package find

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	for typed, want := range map[string][]string{
		"":                         nil,
		" \t\n":                    nil,
		`""`:                       nil,
		`" "`:                      nil,
		"Parser":                   {"parser"},
		"  two\n words ":           {"two", "words"},
		`"write  path" done`:       {"write path", "done"},
		`5" disk`:                  {`5"`, "disk"},
		`"half a phrase`:           {`"half`, "a", "phrase"},
		`{"status":"ok"}`:          {`{"status":"ok"}`},
		`"status":"ok"`:            {`status":"ok`},
		`"an "inner" one" and`:     {`an "inner`, `one"`, "and"},
		"世界\u3000Größe":            {"世界", "größe"},
		"e\u0301te\u0301":          {"été"}, // composed
		`" at the beginning"`:      {" at the beginning"},
		"\x00":                     nil,
		"a\x00b":                   {"a", "b"},
		`"a" "b" "c d"`:            {"a", "b", "c d"},
		`"`:                        {`"`},
		"\u200bx":                  {"\u200bx"},
		"\xffbroken\xfe \xe4\xb8x": {"\xffbroken\xfe", "\xe4\xb8x"},
	} {
		var got []string
		for _, term := range Parse(typed).Terms() {
			got = append(got, string(term))
		}
		if !slices.Equal(got, want) {
			t.Errorf("Parse(%q) = %q, want %q", typed, got, want)
		}
	}
}

func TestIn(t *testing.T) {
	text := Text(nil, "Write path\r\n  of the Journal", "Die GRÖẞE der Straße.\n你好世界 ΣΊΣΥΦΟΣ")
	for typed, want := range map[string]bool{
		"":                        true,
		"path write":              true,
		"rnal":                    true,
		`"path of the"`:           true, // a line break is white space
		`"journal die"`:           false,
		"journal die":             true, // one in the subject, the other in the body
		"größe":                   true,
		"STRASSE":                 false, // ß is a letter of its own
		"straße":                  true,
		"世界":                      true,
		"界世":                      false,
		"界 世":                     true,
		"好世":                      true,
		"Σίσυφος":                 false, // a final sigma is another letter
		"σίσυφοσ":                 true,
		"journal absent":          false,
		`"path  of"`:              true,
		"gr\u006f\u0308\u00dfe":   true,
		"\"strasse\" \"größe d\"": false,
	} {
		if got := Parse(typed).In(text); got != want {
			t.Errorf("%q is there: %v, want %v", typed, got, want)
		}
	}
}

func TestSpans(t *testing.T) {
	for _, c := range []struct {
		typed, text string
		want        []string
	}{
		{"", "abc", nil},
		{"b", "abcB", []string{"b", "B"}},
		{"ab bc", "xABCx", []string{"ABC"}},
		{`"a b"`, "a \n b", []string{"a \n b"}},
		{"été", "E\u0301te\u0301s", []string{"E\u0301te\u0301"}},
		{"世", "你好世界", []string{"世"}},
		{"Ⱥ", "xⱥx", []string{"ⱥ"}}, // the lower-case letter is one byte longer
		{"e", "e\u0301", nil},
	} {
		var got []string
		for _, s := range Parse(c.typed).Spans(c.text) {
			got = append(got, c.text[s.From:s.To])
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("Spans of %q in %q (-want +got):\n%s", c.typed, c.text, diff)
		}
	}
}

// FuzzFind checks that a text folds the same whole and in parts, as it does for highlighting, and that every match
// is highlighted.
func FuzzFind(f *testing.F) {
	for _, s := range []string{"Größe", "e\u0301 E\u0301", "你好 世界", "a \n\tb", "\xff\xfe", "각각 \u1100\u1161",
		"İstanbul", "a\u0300\u0301\u0302", "\"quoted\" text"} {
		f.Add(s, 1, 3)
	}
	f.Fuzz(func(t *testing.T, text string, i, j int) {
		folded, from := foldMapped(text)
		if got := Fold(nil, text); string(got) != string(folded) {
			t.Fatalf("Fold(%q) = %q, in parts %q", text, got, folded)
		}
		if len(from) != len(folded) {
			t.Fatalf("%d bytes, of %d is known where they come from", len(folded), len(from))
		}
		if i < 0 || j < i || j > len(text) {
			return
		}
		q := Parse(text[i:j])
		if valid := strings.ToValidUTF8(text, "") == text; valid && !q.Empty() && q.In(Text(nil, "", text)) {
			if len(q.Spans(text)) == 0 {
				t.Errorf("%q is in %q, and nothing is marked", q.Terms(), text)
			}
		}
	})
}
