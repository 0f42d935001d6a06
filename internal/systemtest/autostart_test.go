package systemtest

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"pennypost/internal/mail"
)

// racers is how many processes find no post office at the same time.
const racers = 10

// TestAutostartRace lets ten processes, agents' MCP servers among them, start the post office at the same time. One
// succeeds, and it serves all.
func TestAutostartRace(t *testing.T) {
	t.Parallel()
	for _, home := range []struct{ name, path string }{
		{"short", "home"},
		// A Unix socket has room for 108 bytes, so this home's socket is elsewhere.
		{"long", strings.Repeat("a-directory-with-a-long-name/", 5) + "home"},
	} {
		t.Run(home.name, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t)
			o.home = filepath.Join(o.root, home.path)
			race(t, o)
			o.must(t, "stop")
			if r := o.run("status"); r.code != 6 {
				t.Errorf("status after stop: %+v, want exit 6", r)
			}
		})
	}
}

func race(t *testing.T, o *office) {
	sent := make([]mail.Sent, racers)
	errs := make([]error, racers)
	var running sync.WaitGroup
	begin := make(chan struct{})
	for i := range racers {
		running.Go(func() {
			<-begin
			sent[i], errs[i] = o.racer(t, i)
		})
	}
	close(begin)
	running.Wait()
	for i, err := range errs {
		if err != nil {
			t.Errorf("process %d: %v", i, err)
		}
	}
	if runtime.GOOS == "linux" { // elsewhere only the log counts them
		eventually(t, "only one post office runs", func() bool { return len(o.daemons()) == 1 })
	}
	there := make(map[mail.ID]bool)
	for _, it := range ask[mail.Page](t, o, "inbox").Messages {
		there[it.ID] = true
	}
	for i, s := range sent {
		if !there[s.ID] {
			t.Errorf("message %q of process %d is not there", s.ID, i)
		}
	}
	log, err := os.ReadFile(filepath.Join(o.home, "daemon.log"))
	if n := strings.Count(string(log), "post office open"); err != nil || n != 1 {
		t.Errorf("%d post offices were open: %v\n%s", n, err, log)
	}
}

// racer sends a message to the user from a new process: every third from an MCP server, the others from the command
// line.
func (o *office) racer(t *testing.T, i int) (mail.Sent, error) {
	name := fmt.Sprintf("racer-%d", i)
	if i%3 > 0 {
		r := o.run("send", "--as", name, "--to", "user", "--body", "from "+name, "--json")
		if r.code != 0 {
			return mail.Sent{}, fmt.Errorf("exit %d: %s", r.code, r.stderr)
		}
		return decode[mail.Sent](t, r.stdout), nil
	}
	a, err := o.agent(eraSessions, "--as", name)
	if err != nil {
		return mail.Sent{}, err
	}
	defer a.session.Close()
	return must[mail.Sent](t, a, "send_message", map[string]string{"to": "user", "body": "from " + name}), nil
}
