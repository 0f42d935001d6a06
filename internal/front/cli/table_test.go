package cli

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"pennypost/internal/mail"
)

// mailbox is mail of every sort that a list has to find room for.
func mailbox() []mail.Item {
	now := time.Date(2026, 5, 10, 14, 0, 0, 0, time.UTC)
	item := func(n int, kind mail.Type, from, subject string) mail.Item {
		return mail.Item{Message: mail.Message{ID: mail.ID(fmt.Sprintf("msg_%03dtGXR8_Z5jdHi6B-myT", n)), Type: kind,
			From: mail.Address("agent:" + from), Subject: subject,
			Sent: mail.TimeOf(now.Add(-time.Duration(n) * time.Hour))}}
	}
	list := []mail.Item{
		item(1, mail.Question, "builder", "Tabs or spaces?"),
		item(2, mail.ReviewRequest, "a-reviewer-with-a-rather-long-name-indeed",
			"Please look at the parser, which has grown a good deal since you saw it, and at its tests"),
		item(30, mail.Status, "小克", "进展情况报告：解析器的写入路径已经完成了一半，剩下的部分明天继续写完并且测试一遍"),
		item(400, mail.TaskDone, "x", ""),
	}
	list[0].Open, list[1].Priority = true, mail.Urgent
	return list
}

func listed(t *testing.T, wide int, color bool) []string {
	t.Helper()
	var out bytes.Buffer
	a := &App{
		Env:    Env{Environ: []string{"PENNYPOST_HOME=" + t.TempDir(), "PENNYPOST_ROOM=lab"}},
		Stdout: &ModelWriter{To: &out},
		Out:    &Printer{w: &out, wide: wide, color: color, now: time.Date(2026, 5, 10, 14, 0, 0, 0, time.UTC)},
	}
	if err := a.listMail(mailbox(), true); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
}

// TestListsFit: a row is a line that fits the terminal; the id gives way first and the subject last; in a pipe all is
// there.
func TestListsFit(t *testing.T) {
	for _, tt := range []struct {
		wide        int
		first, last string
	}{
		{40, "?  1  builder       Tabs or spaces?", "●  4  x"},
		{80, "?  1  question  builder       1h   Tabs or spaces?", "●  4  task-do…  x             16d"},
		{120, "?  1  msg_001tGX  question        builder", "●  4  msg_400tGX  task-done       x"},
		{200, "?  1  msg_001tGXR8_Z5jdHi6B-myT  question        builder", "●  4  msg_400tGXR8_Z5jdHi6B-myT"},
		{0, "?  msg_001tGXR8_Z5jdHi6B-myT  question        builder  ", "●  msg_400tGXR8_Z5jdHi6B-myT  task-done"},
	} {
		for _, color := range []bool{false, true} {
			lines := listed(t, tt.wide, color)
			if len(lines) != 4 {
				t.Fatalf("at %d columns 4 messages are %d lines:\n%s", tt.wide, len(lines), strings.Join(lines, "\n"))
			}
			for _, l := range lines {
				if n := columns(l); tt.wide > 0 && n > tt.wide {
					t.Errorf("at %d columns a line takes %d: %s", tt.wide, n, l)
				}
			}
			if !color && (!strings.HasPrefix(lines[0], tt.first) || !strings.HasPrefix(lines[3], tt.last)) {
				t.Errorf("at %d columns:\n%s\nwant it to begin with %q and end with %q", tt.wide,
					strings.Join(lines, "\n"),
					tt.first, tt.last)
			}
			if tt.wide == 0 && (!strings.Contains(lines[1], "-long-name-indeed") ||
				!strings.Contains(lines[1], "its tests") ||
				!strings.Contains(lines[2], "测试一遍")) {
				t.Errorf("a pipe gets no more than\n%s", strings.Join(lines, "\n"))
			}
		}
	}
}

// TestWrap: lines end between words, or between characters of two columns, and nothing of the text is lost.
func TestWrap(t *testing.T) {
	texts := []string{
		"Send a message. It is on the disk when the command returns.", "x", "", "two  spaces and    more of them",
		"a-word-that-is-longer-than-any-terminal-of-forty-columns-could-be and others",
		"解析器的写入路径已经完成了一半，剩下的部分明天继续 with English behind it",
	}
	for _, wide := range []int{20, 40, 80} {
		p := &Printer{wide: wide}
		for _, text := range texts {
			lines := p.wrap(text, 4)
			squeezed := func(s string) string { return strings.ReplaceAll(s, " ", "") }
			if got := strings.Join(lines, ""); squeezed(got) != squeezed(text) {
				t.Errorf("wrap(%q) at %d lost something: %q", text, wide, lines)
			}
			for _, l := range lines {
				if columns(l) > wide-4 && strings.Contains(l, " ") {
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

// TestHelpFits: no line of a manual page is broken by the terminal.
func TestHelpFits(t *testing.T) {
	for _, wide := range []int{40, 80} {
		for _, args := range [][]string{{"--help"}, {"send", "--help"}, {"mark", "--help"}, {"completion", "--help"}} {
			var out bytes.Buffer
			a := &App{Out: &Printer{w: &out, wide: wide}, args: args, Stdout: &ModelWriter{To: &out}}
			a.Env = Env{Stdout: &out, Stderr: &out}
			root := newRoot(a, args)
			root.SetArgs(args)
			if err := root.Execute(); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(out.String()) {
				line = strings.TrimRight(line, "\n")
				if columns(line) > wide && len(strings.Fields(line)) > 1 {
					t.Errorf("%q at %d columns has the line %q", args, wide, line)
				}
			}
			if wide == 80 && args[0] == "send" &&
				!strings.Contains(out.String(), "a tag such as\n    project:parser") {
				t.Errorf("the paragraphs are not filled anew:\n%s", out.String())
			}
		}
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
		if got := (&App{args: tt.args}).onward("after", "7"); got != tt.want {
			t.Errorf("onward(%q) = %s, want %s", tt.args, got, tt.want)
		}
	}
}
