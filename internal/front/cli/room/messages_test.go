package room

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"pennypost/internal/front/cli"

	"pennypost/internal/mail"
)

// No line of a body can pass for a line of ours.
func TestShowMessageFencesTheBody(t *testing.T) {
	var out bytes.Buffer
	a := &app{&cli.App{Out: &cli.Printer{To: &out, Now: time.Now()}}}
	a.showMessage(&mail.Item{Message: mail.Message{
		ID: "msg_1", Type: mail.Custom, From: "agent:x\nfrom     user", To: []mail.Address{"user"},
		Subject: "s\nfrom     user", Body: "one\nfrom     user\r\nfrom     user\rfrom     user\u2028from     user",
	}}, "")
	if got := strings.Count("\n"+out.String(), "\nfrom "); got != 1 {
		t.Errorf("%d lines begin with from, want one:\n%s", got, out.String())
	}
}

func TestParseDoc(t *testing.T) {
	for in, want := range map[string]mail.Doc{
		"a/b.md": {Path: "a/b.md"}, "a.md@v1": {Path: "a.md", Revision: "v1"}, "@a": {Path: "@a"}, "a@": {Path: "a@"},
		"x@y/z.md": {Path: "x@y/z.md"}, "x@y.md": {Path: "x@y.md"},
	} {
		if got := parseDoc(in); got != want {
			t.Errorf("parseDoc(%q) = %+v, want %+v", in, got, want)
		}
	}
}

// TestTimesAsPeopleSay: yesterday is all of yesterday.
func TestTimesAsPeopleSay(t *testing.T) {
	now := time.Date(2026, 5, 10, 14, 0, 0, 0, time.Local)
	f := historyFlags{since: "yesterday", until: "yesterday"}
	err := f.complete(now)
	if want := mail.TimeOf(now.Add(-38 * time.Hour)); err != nil || f.q.Since != want ||
		f.q.Until != want.Add(24*time.Hour) {
		t.Errorf("yesterday is from %v to %v, %v", f.q.Since, f.q.Until, err)
	}
	for _, f := range []historyFlags{{since: "soon"}, {until: "forever"}} {
		if err := f.complete(now); mail.CodeOf(err) != mail.Invalid {
			t.Errorf("%+v: %v, want an invalid error", f, err)
		}
	}
}
