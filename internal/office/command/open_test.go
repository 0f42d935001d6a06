package command

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
	"pennypost/internal/office/daemon"
)

// TestLoginLinkToTerminal: a link that logs in is printed for whoever sits at a terminal, and never where it is kept.
func TestLoginLinkToTerminal(t *testing.T) {
	terminal, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0) // a character device, as a terminal is
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	file, err := os.Create(t.TempDir() + "/log")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	asked := 0
	p := daemon.Place{Socket: "s", HTTP: "http://127.0.0.1:8765", Token: "t",
		Login: func(mail.RoomName) (string, error) {
			asked++
			return "http://pp-x.localhost:8765/login?key=SECRET", nil
		}}
	if a := (&app{&cli.App{Env: cli.Env{Stdout: terminal}}}); a.loginLink(p, "") == "" {
		t.Error("a terminal is not told the link")
	}
	for _, out := range []*os.File{file, w} {
		if got := (&app{&cli.App{Env: cli.Env{Stdout: out}}}).loginLink(p, ""); got != "" || asked != 1 {
			t.Errorf("what is no terminal is told %q; %d links were made", got, asked)
		}
	}
	for _, json := range []bool{false, true} {
		var b bytes.Buffer
		a := &app{&cli.App{Env: cli.Env{Stdout: &b}, JSON: json}}
		a.Out = cli.NewPrinter(a.Env)
		a.announce(p)
		if got := b.String(); strings.Contains(got, "SECRET") || strings.Contains(got, "pp-x") || !json &&
			!strings.Contains(got, "open\n") {
			t.Errorf("serve prints into a pipe:\n%s", got)
		}
	}
}

func TestRemoteNeedsTLS(t *testing.T) {
	for _, c := range []struct {
		address           string
		insecure, refused bool
	}{
		{"http://mail.example.org:8765", false, true}, {"http://192.0.2.7", false, true},
		{"http://localhost.example.org", false, true},
		{"http://127.0.0.1.example.org:8765", false, true}, {"HTTP://192.0.2.7:8765", false, true},
		{"http://127.0.0.1@192.0.2.7", false, true}, {"http://[fd00::1]:8765", false, true},
		{"http://192.0.2.7", true, false}, {"https://mail.example.org", false, false},
		{"http://127.0.0.1:8765", false, false}, {"http://127.8.0.1", false, false},
		{"http://[::1]:8765", false, false}, {"http://localhost:8765", false, false},
	} {
		err := checkRemote(c.address, c.insecure)
		if (err != nil) != c.refused {
			t.Errorf("checkRemote(%q, %v) = %v", c.address, c.insecure, err)
		}
		if err != nil && mail.CodeOf(err) != mail.Denied {
			t.Errorf("checkRemote(%q) = %v", c.address, err)
		}
	}
}

// TestMCPRemoteRefuses: the command itself does so, before anything is sent.
func TestMCPRemoteRefuses(t *testing.T) {
	var out, errs bytes.Buffer
	got := Main([]string{"mcp", "--remote", "http://192.0.2.7:8765"}, cli.Env{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs,
		Environ: []string{"HOME=" + t.TempDir(), "PENNYPOST_TOKEN=pp.secret"}, Dir: t.TempDir(),
	})
	if got == 0 || !strings.Contains(errs.String(), "in the clear") ||
		!strings.Contains(errs.String(), "add --insecure") ||
		strings.Contains(errs.String(), "pp.secret") {
		t.Errorf("exit status %d:\n%s", got, errs.String())
	}
}
