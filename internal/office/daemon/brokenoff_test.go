package daemon

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"pennypost/internal/base/process"
	"pennypost/internal/mail"
)

// A session whose program is killed is gone in a few seconds, not after some minutes of silence.
func TestKilled(t *testing.T) {
	t.Parallel()
	o := testOffice(t, time.Hour)
	var running sync.WaitGroup
	running.Go(func() { o.FollowSessions(t.Context()) })
	t.Cleanup(running.Wait)
	client := exec.Command("sleep", "600")
	if err := client.Start(); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _, _ = client.Process.Kill(), client.Wait() })
	program := process.Tree(client.Process.Pid)[0].Key
	turn := func(agent mail.Name, program string) {
		t.Helper()
		if _, err := o.Own(t.Context(), "a", agent).Turn(t.Context(), mail.Turn{Moment: mail.SessionStart,
			Session: "of " + string(agent), Client: "claude", Process: program, Access: &mail.Access{}}); err != nil {
			t.Fatal(err)
		}
	}
	state := func(agent mail.Name) (state mail.State) {
		all, err := mail.Roster(t.Context(), o.Own(t.Context(), "a", mail.User))
		for _, a := range all {
			if a.Name == agent && err == nil {
				state = a.State
			}
		}
		return state
	}
	turn("killed", program)
	turn("lives", process.Program(false))
	turn("hidden", "")
	if err := client.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = client.Wait() // it was killed
	eventually(t, "the session has ended", func() bool { return state("killed") == mail.Gone })
	if state("lives") != mail.Idle || state("hidden") != mail.Idle {
		t.Errorf("a session that lives is %s, one that cannot be seen %s", state("lives"), state("hidden"))
	}
}

// A turn that a person interrupts runs no hook. Claude Code's own notes of the session end it, unless a hook was
// heard since.
func TestBrokenOff(t *testing.T) {
	t.Parallel()
	config := t.TempDir()
	program := process.Program(false)
	pid, _, _ := strings.Cut(program, ".")
	note := func(status string, since time.Time) {
		t.Helper()
		text := fmt.Sprintf(`{"messagingSocketPath":"/a/socket","status":%q,"statusUpdatedAt":%d}`, status,
			since.UnixMilli())
		if err := os.MkdirAll(filepath.Join(config, "sessions"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(config, "sessions", pid+".json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o := testOffice(t, time.Hour)
	o.Set.Reach.Claude.Config = config
	var running sync.WaitGroup
	running.Go(func() { o.FollowSessions(t.Context()) })
	t.Cleanup(running.Wait)
	bob := o.Own(t.Context(), "a", "bob")
	turn := func(m mail.Moment) {
		t.Helper()
		if _, err := bob.Turn(t.Context(), mail.Turn{Moment: m, Session: "s1", Client: "claude", Process: program,
			Access: &mail.Access{Socket: "/a/socket"}}); err != nil {
			t.Fatal(err)
		}
	}
	turn(mail.TurnStart)
	began := time.Now()
	for _, c := range []struct {
		status string
		since  time.Time
		broken bool
	}{
		{"busy", began, false}, {"idle", began.Add(-time.Minute), false}, {"idle", began.Add(time.Second), true},
	} {
		note(c.status, c.since)
		if got := o.Set.Reach.Claude.BrokenOff(began.Add(time.Minute)); len(got) > 0 != c.broken {
			t.Errorf("%s since %v: broken off are %v", c.status, c.since.Sub(began), got)
		}
		if got := o.Set.Reach.Claude.BrokenOff(began); len(got) > 0 {
			t.Errorf("%s: broken off while hooks may still run: %v", c.status, got)
		}
	}
	eventually(t, "bob is idle", func() bool {
		all, err := mail.Roster(t.Context(), o.Own(t.Context(), "a", mail.User))
		return err == nil && len(all) == 1 && all[0].State == mail.Idle
	})
	eventually(t, "the session is not taken for broken off again", func() bool { // Claude Code notes it later
		return len(o.Set.Reach.Claude.BrokenOff(began.Add(time.Minute))) == 0
	})
}
