package room

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pennypost/internal/front/cli"

	"pennypost/internal/mail"
)

func TestChoose(t *testing.T) {
	texts := func(words ...string) (out []mail.Option) {
		for _, w := range words {
			out = append(out, mail.Option{Answer: w})
		}
		return out
	}
	for _, tt := range []struct {
		options []mail.Option
		said    []string
		want    string
		more    string
	}{
		{texts("Tabs", "Spaces"), []string{"2"}, "Spaces", ""}, {texts("Tabs", "Spaces"), []string{"spaces"}, "Spaces",
			""},
		{texts("Tabs", "Spaces"), []string{"1", "but", "not here"}, "Tabs", "but not here"},
		{texts("Use", "Use tabs"), []string{"use", "tabs", "please"}, "Use tabs", "please"},
		{texts("3", "5"), []string{"5"}, "5", ""}, {texts("3", "5"), []string{"1"}, "3", ""},
		{texts("2", "1"), []string{"1"}, "", ""}, // the first, or the second?
		{texts("Tabs", "Spaces"), []string{"3"}, "", ""}, {texts("Tabs", "Spaces"), []string{"Tab"}, "", ""},
		{texts("Tabs", "Spaces"), []string{"0"}, "", ""},
	} {
		got, more, err := choose(tt.options, tt.said)
		if got.Answer != tt.want || more != tt.more || (tt.want == "") != (mail.CodeOf(err) == mail.Invalid) {
			t.Errorf("choose(%v, %q) = %q, %q, %v, want %q, %q", tt.options, tt.said, got.Answer, more, err, tt.want,
				tt.more)
		}
	}
}

// TestNumbersAreOfWhatWasShown: a number means a message only in the room of the list, and only for a day's work.
func TestNumbersAreOfWhatWasShown(t *testing.T) {
	home := t.TempDir()
	app := func(room string, wide int) *app {
		var out bytes.Buffer
		return &app{&cli.App{
			Env:    cli.Env{Environ: []string{"PENNYPOST_HOME=" + home, "PENNYPOST_ROOM=" + room}},
			Stdout: &cli.ModelWriter{To: &out},
			Out:    &cli.Printer{To: &out, Wide: wide, Now: time.Date(2026, 5, 10, 14, 0, 0, 0, time.UTC)},
		}}
	}
	a := app("lab", 80)
	if m, err := a.numbered("1"); m.ID != "" || err != nil {
		t.Errorf("without a list number 1 is %v, %v", m, err)
	}
	a.number("lab", []shownMessage{{"lab", "msg_a", 1}, {"lab", "msg_b", 2}})
	app("lab", 0).number("lab", []shownMessage{{"lab", "msg_piped", 3}})
	agent := app("lab", 80)
	agent.Stdout.Reading = true
	agent.number("lab", []shownMessage{{"lab", "msg_agents", 4}})
	if m, err := a.numbered("2"); m.ID != "msg_b" || err != nil {
		t.Errorf("number 2 is %v, %v", m, err)
	}
	for word, code := range map[string]mail.Code{"0": mail.NotFound, "3": mail.NotFound, "msg_a": "", "10000": "",
		"-1": ""} {
		if m, err := a.numbered(word); m.ID != "" || mail.CodeOf(err) != code {
			t.Errorf("number %s is %v, %v", word, m, err)
		}
	}
	if m, err := app("other", 80).numbered("2"); mail.CodeOf(err) != mail.Conflict {
		t.Errorf("in another room number 2 is %v, %v", m, err)
	}
	a.number("", []shownMessage{{"lab", "msg_a", 1}, {"far", "msg_f", 9}}) // a list of all rooms
	if m, err := app("other", 80).numbered("2"); m.ID != "msg_f" || m.Room != "far" || err != nil {
		t.Errorf("of all rooms number 2 is %v, %v", m, err)
	}
	late := app("lab", 80)
	late.Out.Now = a.Out.Now.Add(shownFor + time.Minute)
	if m, err := late.numbered("1"); m.ID != "" || err != nil {
		t.Errorf("the next day number 1 is %v, %v", m, err)
	}
	files, err := filepath.Glob(filepath.Join(home, "shown", "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files %q, %v", files, err)
	}
	if info, err := os.Stat(files[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// TestLastIsWhatWasSeen: a message that arrives while the person writes is not the one they reply to.
func TestLastIsWhatWasSeen(t *testing.T) {
	a := &app{&cli.App{Env: cli.Env{Environ: []string{"PENNYPOST_HOME=" + t.TempDir()}}, Stdout: &cli.ModelWriter{},
		Out: &cli.Printer{Wide: 80, Now: time.Now()}}}
	item := func(id mail.ID, seq mail.Seq) mail.Item { return mail.Item{Message: mail.Message{ID: id}, Seq: seq} }
	a.sawMail(mail.User, "lab", []mail.Item{item("msg_b", 2), item("msg_a", 1)})
	a.number("lab", []shownMessage{{"lab", "msg_old", 1}})
	a.sawMail(mail.User, "lab", []mail.Item{item("msg_a", 1)})
	if s := a.lastShown(); s.Last.ID != "msg_b" || s.Reader != mail.User || len(s.Messages) != 1 {
		t.Errorf("shown: %+v", s)
	}
	a.sawMail(mail.User, "other", []mail.Item{item("msg_o", 1)})
	if s := a.lastShown(); s.Last.ID != "msg_o" || s.Last.Room != "other" {
		t.Errorf("in another room: %+v", s)
	}
}
