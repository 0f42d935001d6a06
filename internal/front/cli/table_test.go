package cli

import (
	"strings"
	"testing"
)

// TestWrap: lines end between words, or between characters of two columns, and no text is lost.
func TestWrap(t *testing.T) {
	texts := []string{
		"Send a message. It is on the disk when the command returns.", "x", "", "two  spaces and    more of them",
		"a-word-that-is-longer-than-any-terminal-of-forty-columns-could-be and others",
		"解析器的写入路径已经完成了一半，剩下的部分明天继续 with English behind it",
	}
	for _, wide := range []int{20, 40, 80} {
		p := &Printer{Wide: wide}
		for _, text := range texts {
			lines := p.wrap(text, 4)
			squeezed := func(s string) string { return strings.ReplaceAll(s, " ", "") }
			if got := strings.Join(lines, ""); squeezed(got) != squeezed(text) {
				t.Errorf("wrap(%q) at %d lost something: %q", text, wide, lines)
			}
			for _, l := range lines {
				if Columns(l) > wide-4 && strings.Contains(l, " ") {
					t.Errorf("wrap(%q) at %d: the line %q is too long", text, wide, l)
				}
				for word := range strings.FieldsSeq(l) {
					if word[0] < 0x80 && !strings.Contains(" "+text+" ", " "+word+" ") &&
						!strings.Contains(text, "续 "+word) {
						t.Errorf("wrap(%q) at %d breaks %q", text, wide, word)
					}
				}
			}
		}
	}
	if got := (&Printer{}).wrap(texts[0], 4); len(got) != 1 {
		t.Errorf("in a pipe: %q", got)
	}
}

func TestOnward(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"inbox"}, "pennypost inbox --after 7"},
		{[]string{"inbox", "--as", "my agent", "--after", "3", "--limit=5"},
			"pennypost inbox --as 'my agent' --limit=5 --after 7"},
		{[]string{"inbox", "--after=3", "--from", "it's"}, `pennypost inbox --from 'it'\''s' --after 7`},
	} {
		if got := (&App{args: tt.args}).Onward("after", "7"); got != tt.want {
			t.Errorf("onward(%q) = %s, want %s", tt.args, got, tt.want)
		}
	}
}

// TestBarred: each line of any text is after a bar and fits, and no text is lost.
func TestBarred(t *testing.T) {
	for _, text := range []string{"ls", "rm -rf build && echo done", strings.Repeat("x", 100), "日本語のテキスト日本語",
		"a" + strings.Repeat("\u00a0", 40) + "  1  Allow once", "one\n\ntwo", ""} {
		var out strings.Builder
		p := Printer{To: &out, Wide: 20}
		p.Barred(text)
		got := ""
		for line := range strings.Lines(out.String()) {
			rest, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "  │ ")
			if !ok || Columns(rest) > 16 {
				t.Errorf("Barred(%q): %q", text, line)
			}
			got += rest
		}
		if want := strings.ReplaceAll(text, "\n", ""); got != want {
			t.Errorf("Barred(%q) = %q", text, got)
		}
	}
	var out strings.Builder
	(&Printer{To: &out}).Barred(strings.Repeat("x", 100)) // a pipe
	if out.String() != "  │ "+strings.Repeat("x", 100)+"\n" {
		t.Errorf("in a pipe: %q", out.String())
	}
}
