package claims

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
	"pennypost/internal/policy"
	"pennypost/internal/room/journal/journaltest"
	"pennypost/internal/room/mailroom"
)

var steps = flag.Int("claims.steps", 2000, "random tool calls of each test of claims")

// field is a tree in which two agents work.
type field struct {
	*testing.T
	room  *mailroom.Room
	guard *Guard
	now   time.Time
	dirs  map[mail.Name]string
}

func newField(t *testing.T, rule policy.ClaimRule) *field {
	f := &field{T: t, now: time.Date(2026, 5, 10, 14, 0, 0, 0, time.UTC), dirs: map[mail.Name]string{}}
	room, err := mailroom.Open(context.Background(), "shop", new(journaltest.Store).Open(), mailroom.Options{
		Claims: rule, Now: func() time.Time { return f.now },
		Limits: policy.Limits{RepeatWindow: -1, Exchanges: -1, PerMinute: -1, Depth: -1}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = room.Close() })
	f.room = room
	f.guard = &Guard{Watch: &Watch{}, Rule: func(mail.RoomName) policy.ClaimRule { return rule },
		Others: func(_ mail.RoomName, but mail.Name) (dirs []string) {
			for agent, dir := range f.dirs {
				if agent != but {
					dirs = append(dirs, dir)
				}
			}
			return dirs
		}}
	return f
}

// repository makes a repository in a directory, and returns that.
func repository(t *testing.T, dir string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	write(t, filepath.Join(dir, ".gitignore"), "build/\n*.log\n")
	for _, args := range [][]string{{"init", "-q"}, {"add", "."},
		{"-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-qm", "x"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// turn tells the room of a moment, and reports whether the agent is at work then: mail may keep a turn going.
func (f *field) turn(agent mail.Name, moment mail.Moment) (works bool) {
	f.Helper()
	brief, err := f.room.As(agent).Turn(f.Context(), mail.Turn{Moment: moment, Session: "s-" + string(agent),
		Client: "claude"})
	if err != nil {
		f.Fatal(err)
	}
	return brief.State == mail.Working
}

// call is a use of a tool by which a client writes a file, or reads it.
type call func(path string) (tool, given string)

// The calls are those of internal/office/hook's fixtures, by vendor.
var (
	writesOfClaude = []call{
		func(p string) (string, string) { return "Write", `{"file_path":` + q(p) + `,"content":"x"}` },
		func(p string) (string, string) { return "Edit", `{"file_path":` + q(p) + `,"old_string":"x"}` },
		func(p string) (string, string) { return "Bash", `{"command":` + q("echo x >> "+p) + `}` },
		func(p string) (string, string) { return "Bash", `{"command":` + q("sed -i s/x/y/ "+p) + `}` },
	}
	writesOfCodex = []call{
		func(p string) (string, string) {
			return "apply_patch", `{"command":` + q("*** Begin Patch\n*** Update File: "+p+"\n@@\n-x\n+y\n*** End "+
				"Patch") + `}`
		},
		func(p string) (string, string) {
			return "Bash", `{"command":` + q("apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: "+p+"\n+y\n*** "+
				"End Patch\nEOF") + `}`
		},
		func(p string) (string, string) {
			return "Bash", `{"command":` + q("printf x | tee "+p+" > /dev/null") + `}`
		},
	}
	reads = []call{
		func(p string) (string, string) { return "Read", `{"file_path":` + q(p) + `}` },
		func(p string) (string, string) {
			return "Bash", `{"command":` + q("grep x "+p+" > /dev/null 2>&1") + `}`
		},
	}
)

func q(s string) string {
	b, _ := jsonx.Marshal(s) // a string has JSON
	return string(b)
}

func (f *field) use(agent mail.Name, c call, path string) mail.Claimed {
	f.Helper()
	tool, given := c(path)
	out, err := f.guard.Write(f.Context(), f.room.As(agent), Use{Room: "shop", Agent: agent, Tool: tool,
		Given: jsonx.Value(given), Dir: f.dirs[agent], Home: "/home/x"})
	if err != nil {
		f.Fatalf("%s: %s %s: %v", agent, tool, given, err)
	}
	return out
}

// TestP15_Interleaved plays calls of two vendors' clients in one tree, in any order: a second write is refused where
// the room says so, and else goes on and is told of, and a read never is.
func TestP15_Interleaved(t *testing.T) {
	for _, rule := range []policy.ClaimRule{policy.ClaimsRefuse, policy.ClaimsWarn} {
		t.Run(string(rule), func(t *testing.T) { interleaved(newField(t, rule), rand.New(rand.NewPCG(1, 2))) })
	}
}

func interleaved(f *field, random *rand.Rand) {
	dir := repository(f.T, f.TempDir())
	agents := []mail.Name{"ann", "bob"}
	writes := map[mail.Name][]call{"ann": writesOfClaude, "bob": writesOfCodex}
	working, ended := map[mail.Name]bool{}, map[mail.Name]time.Time{}
	for _, a := range agents {
		f.dirs[a] = dir
		f.turn(a, mail.SessionStart)
		f.turn(a, mail.TurnStart)
		working[a] = true
	}
	held := map[string]mail.Name{}
	refused := 0
	for i := range *steps {
		a := agents[random.IntN(2)]
		path := fmt.Sprint("src/f", random.IntN(6), ".go")
		f.now = f.now.Add(time.Duration(random.IntN(20)) * time.Second)
		for _, o := range agents { // sessions say that they live
			if _, err := f.room.As(o).Register(f.Context(), mail.Presence{Session: "s-" + string(o)}); err != nil {
				f.Fatal(err)
			}
		}
		for p, holder := range held {
			if !working[holder] && f.now.Sub(ended[holder]) >= policy.DefaultQuiet {
				delete(held, p)
			}
		}
		switch n := random.IntN(20); {
		case n == 0 && working[a]:
			working[a], ended[a] = f.turn(a, mail.TurnEnd), f.now
			continue
		case n < 4:
			if got := f.use(a, reads[random.IntN(len(reads))], path); got.Refused || len(got.Clashes) > 0 {
				f.Fatalf("step %d: a read of %s: %+v", i, path, got)
			}
			continue
		}
		if !working[a] {
			working[a] = f.turn(a, mail.TurnStart)
		}
		holder := held[path]
		got := f.use(a, writes[a][random.IntN(len(writes[a]))], path)
		clash := holder != "" && holder != a
		if clash != (len(got.Clashes) == 1) || got.Refused != (clash && f.guard.Rule("") == policy.ClaimsRefuse) {
			f.Fatalf("step %d: %s writes %s, which %q holds: %+v", i, a, path, holder, got)
		}
		if clash {
			refused++
			if h := got.Clashes[0].Held; h.Agent != holder || h.Path != path {
				f.Fatalf("step %d: %s is said to be held by %+v, not %s", i, path, h, holder)
			}
			continue
		}
		held[path] = a
	}
	f.Logf("%d of %d steps clashed", refused, *steps)
	for _, a := range agents {
		page, err := f.room.As(a).Inbox(f.Context(), mail.InboxQuery{})
		if err != nil || refused > 0 && page.Unread == 0 {
			f.Errorf("%s was told nothing: %v", a, err)
		}
	}
}

// TestP15_NoFalseRefusal plays calls that do not clash, in a room that refuses: none is refused.
func TestP15_NoFalseRefusal(t *testing.T) {
	f := newField(t, policy.ClaimsRefuse)
	random := rand.New(rand.NewPCG(3, 4))
	dir := repository(t, filepath.Join(t.TempDir(), "shop"))
	tree := filepath.Join(t.TempDir(), "tree")
	cmd := exec.Command("git", "worktree", "add", "-q", tree)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	alias := filepath.Join(t.TempDir(), "alias")
	if err := os.Symlink(dir, alias); err != nil {
		t.Fatal(err)
	}
	f.dirs["ann"], f.dirs["bob"], f.dirs["cid"] = dir, tree, alias
	writes := map[mail.Name][]call{"ann": writesOfClaude, "bob": writesOfCodex, "cid": writesOfClaude}
	for a := range f.dirs {
		f.turn(a, mail.SessionStart)
		f.turn(a, mail.TurnStart)
	}
	outside := t.TempDir()
	for i := range *steps {
		a := []mail.Name{"ann", "bob", "cid"}[random.IntN(3)]
		n := random.IntN(5)
		path := []string{
			fmt.Sprint("src/", a, n, ".go"),              // each its own
			fmt.Sprint("Src/", a, n, ".go"),              // which is another directory here
			fmt.Sprint("build/", n, ".o"),                // ignored
			fmt.Sprint(n, ".log"),                        // likewise
			fmt.Sprint(os.TempDir(), "/x", n),            // temporary
			filepath.Join(outside, fmt.Sprint(n, ".go")), // likewise, and of no project
			filepath.Join(dir, ".git", "index"),          // git's own
		}[random.IntN(7)]
		if got := f.use(a, writes[a][random.IntN(len(writes[a]))], path); got.Refused || len(got.Clashes) > 0 {
			t.Fatalf("step %d: %s writes %s: %+v", i, a, path, got)
		}
		if got := f.use(a, reads[random.IntN(2)], "src/ann0.go"); got.Refused || len(got.Clashes) > 0 {
			t.Fatalf("step %d: %s reads: %+v", i, a, got)
		}
	}
}
