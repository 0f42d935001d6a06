package caller

import (
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pennypost/internal/base/process"
	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/office/claims"
	"pennypost/internal/office/rooms"
)

// TestHiddenWriteOfTheDead: a client is killed while it runs a tool, which no hook ends. Later writes to paths that
// another agent holds are not the dead agent's; nor are they those of an agent whose call was refused.
func TestHiddenWriteOfTheDead(t *testing.T) {
	for what, refused := range map[string]bool{"killed": false, "refused": true} {
		t.Run(what, func(t *testing.T) { hiddenWrite(t, refused) })
	}
}

func hiddenWrite(t *testing.T, refused bool) {
	home, err := os.MkdirTemp("", "pp") // socket names must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	o := New(&config.Config{Home: config.Home(home), Room: config.Room{Claims: "refuse"}},
		slog.New(slog.DiscardHandler), rooms.NewMetrics(), nil)
	t.Cleanup(func() { _ = o.Set.Close() })
	dir := t.TempDir()
	file := filepath.Join(dir, "lex.go")
	for _, path := range []string{filepath.Join(dir, ".git", "HEAD"), file} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	client := exec.Command("sleep", "600")
	if err := client.Start(); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _, _ = client.Process.Kill(), client.Wait() })
	use := func(agent mail.Name, command string) mail.Claimed {
		t.Helper()
		as := o.Own(t.Context(), "shop", agent)
		if _, err := as.Turn(t.Context(), mail.Turn{Moment: mail.TurnStart, Session: "s-" + string(agent),
			Client: "claude", Process: map[mail.Name]string{"bob": process.Tree(client.Process.Pid)[0].Key}[agent],
			Access: &mail.Access{Dir: dir}}); err != nil {
			t.Fatal(err)
		}
		out, err := o.guard().Write(t.Context(), as, claims.Use{Room: "shop", Agent: agent, Tool: "Bash", ID: "t1",
			Given: []byte(`{"command":"` + command + `"}`), Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	use("bob", "true")
	use("ann", "echo x > lex.go")
	o.guard().Ended("shop", "ann", "t1")
	o.guard().Ended("shop", "bob", "t1")
	now := time.Now().Add(time.Minute)
	o.Claimed.Look(t.Context(), now)
	if refused {
		if out := use("bob", "rm lex.go"); !out.Refused {
			t.Fatalf("bob's write is let through: %+v", out)
		}
	} else {
		use("bob", "make")
		_, _ = client.Process.Kill(), client.Wait()
		for _, s := range o.Set.Reach.Sessions.Killed() {
			o.end(t.Context(), s)
		}
		o.Claimed.Look(t.Context(), now) // it may have written before it was killed
	}
	if err := os.WriteFile(file, []byte("xyz"), 0o600); err != nil {
		t.Fatal(err)
	}
	o.Claimed.Look(t.Context(), now)
	page, err := o.Own(t.Context(), "shop", "ann").Inbox(t.Context(), mail.InboxQuery{})
	if err != nil {
		t.Fatal(err)
	}
	const want = "lex.go, which you hold, was written by someone, perhaps the user"
	for i := range page.Messages {
		if got := page.Messages[i].Subject; strings.Contains(got, "written") && got != want {
			t.Errorf("ann is told %q, want %q", got, want)
		} else if got == want {
			return
		}
	}
	t.Errorf("ann is told nothing: %+v", page.Messages)
}
