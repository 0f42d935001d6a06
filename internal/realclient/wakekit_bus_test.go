package realclient

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// notForIt is the exit status of a bus that does not support a client.
const notForIt = 3

// bus is a bus under test, with its lab.
type bus struct {
	*lab
	program string
	title   string // its own name
	release string // its version
	first   string // directives for the first prompt
}

// newBus makes a lab in which a client is set up for a running bus.
func newBus(t *testing.T, c client, v clientVersion, program string) *bus {
	t.Helper()
	c.tui = slices.Clone(c.tui)
	b := &bus{lab: newLab(t, c, v), program: program}
	b.must(os.MkdirAll(filepath.Join(b.dir, "bus"), 0o700))
	// Remove the scenarios' configuration of Pennypost: here it is as installed.
	b.must(os.RemoveAll(filepath.Join(b.dir, "pp")))
	b.title, b.release, _ = strings.Cut(strings.TrimSpace(b.runs("info")), "\t")
	if b.title == "" || strings.ContainsAny(b.title+b.release, "|\n") {
		t.Fatalf("%s info prints no line of a name, a tab and a version", program)
	}
	for line := range strings.Lines(b.runs("install", c.name, b.home)) {
		verb, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch verb {
		case "env":
			b.more = append(b.more, rest)
		case "arg":
			b.client.tui = append(b.client.tui, rest)
		case "prompt":
			b.first += rest + " "
		default:
			t.Fatalf("%s install printed %q", program, line)
		}
	}
	t.Cleanup(func() { // before the lab checks for leftovers
		b.runs("stop")
	})
	b.runs("start")
	return b
}

// sends makes someone send mail to the session.
func (b *bus) sends(text string) {
	b.t.Helper()
	b.runs("send", "kit", b.client.name, text)
}

// runs runs the bus's program, and returns its output.
func (b *bus) runs(args ...string) string {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := b.command(ctx, b.program, args...)
	cmd.Env = append(cmd.Env, "WAKE_DIR="+filepath.Join(b.dir, "bus"), "WAKE_CLIENT="+b.client.name,
		"WAKE_PROJECT="+b.project, "WAKE_PENNYPOST="+typed, "WAKE_CLIENT_VERSION="+b.version.version)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var ended *exec.ExitError
	switch {
	case errors.As(err, &ended) && ended.ExitCode() == notForIt:
		b.t.Skipf("%s is not for %s", b.title, b.client.title)
	case err != nil && !errors.Is(err, exec.ErrWaitDelay): // its children may hold its output
		b.t.Fatalf("%s %q: %v\n%s%s", b.program, args, err, out, &stderr)
	}
	return string(out)
}
