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

// TestLoginLinkIsNotKept: a login link is never printed to an output that is stored. systemtest checks a terminal.
func TestLoginLinkIsNotKept(t *testing.T) {
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
	for _, out := range []*os.File{file, w} {
		if got := (&app{&cli.App{Stdout: &cli.ModelWriter{To: out}}}).loginLink(p, ""); got != "" || asked != 0 {
			t.Errorf("what is no terminal is told %q; %d links were made", got, asked)
		}
	}
	for _, json := range []bool{false, true} {
		var b bytes.Buffer
		a := &app{&cli.App{Env: cli.Env{Stdout: &b}, Stdout: &cli.ModelWriter{To: &b}, JSON: json}}
		a.Out = cli.NewPrinter(a.Env)
		a.announce(p)
		if got := b.String(); strings.Contains(got, "SECRET") || strings.Contains(got, "pp-x") || !json &&
			!strings.Contains(got, "open\n") {
			t.Errorf("serve prints into a pipe:\n%s", got)
		}
	}
}

// TestMCPRemoteRefuses: the command itself refuses, before it sends anything.
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
