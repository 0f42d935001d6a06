package room

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"pennypost/internal/front/cli"

	"pennypost/internal/mail"
)

// mailbox is mail of every sort that a list has to fit in.
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
	a := &app{&cli.App{
		Env:    cli.Env{Environ: []string{"PENNYPOST_HOME=" + t.TempDir(), "PENNYPOST_ROOM=lab"}},
		Stdout: &cli.ModelWriter{To: &out},
		Out:    &cli.Printer{To: &out, Wide: wide, Color: color, Now: time.Date(2026, 5, 10, 14, 0, 0, 0, time.UTC)},
	}}
	if err := a.listMail(mailbox(), true); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
}

// TestListsFit: a row is a line that fits the terminal; the id shrinks first and the subject last; a pipe gets
// everything.
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
				if n := cli.Columns(l); tt.wide > 0 && n > tt.wide {
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
