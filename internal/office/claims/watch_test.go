package claims

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/base/worktree"
	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// desk is a room with claims that records sent messages.
type desk struct {
	mail.Claimer
	held []mail.Holding
	sent []string
}

func (d *desk) Claims(context.Context, mail.ClaimQuery) (mail.ClaimList, error) {
	return mail.ClaimList{Claims: d.held}, nil
}

func (d *desk) Claim(context.Context, mail.ClaimRequest) (out mail.Claimed, err error) {
	return out, nil
}

func (d *desk) Send(_ context.Context, m mail.Draft) (mail.Sent, error) {
	if err := m.Check(mail.MaxBody); err != nil {
		return mail.Sent{}, err
	}
	d.sent = append(d.sent, strings.Join(m.To, " ")+": "+m.Subject)
	return mail.Sent{}, nil
}

// TestHiddenWrites: a write to ann's file that no hook reported is reported to her and, if only one agent had a call
// running, to that agent, once.
func TestHiddenWrites(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "lex.go")
	text := ""
	change := func() {
		text += "x"
		write(t, path, text)
	}
	change()
	at, err := worktree.Find(path, dir)
	if err != nil {
		t.Fatal(err)
	}
	target := mail.Target{Root: at.Root, At: at.At, Path: at.Path}
	room := &desk{held: []mail.Holding{{Agent: "ann", Claim: mail.Claim{Target: target, Since: 5}}}}
	w := &Watch{Room: func(mail.RoomName) Room { return room }}
	ann, bob := seat{"shop", "ann"}, seat{"shop", "bob"}
	now := time.Now()
	look := func(when string, want ...string) {
		t.Helper()
		now = now.Add(LookEvery)
		room.sent = nil
		w.Look(t.Context(), now)
		if !slices.Equal(room.sent, want) {
			t.Errorf("%s: told is %q, want %q", when, room.sent, want)
		}
	}
	w.Holds("shop", room.held)
	look("nothing happens")

	w.Began(ann, "t1", []mail.Target{target})
	w.Began(bob, "t2", nil)
	change()
	look("ann's call writes it, as it says")
	change()
	w.Ended(ann, "t1", now)
	look("and has ended meanwhile")
	w.Ended(bob, "t2", now)
	look("nothing happens again")

	w.Began(ann, "t3", nil)
	change()
	look("ann's shell writes it")
	w.Ended(ann, "t3", now)
	look("it ends")

	w.Began(bob, "t4", nil)
	change()
	look("bob alone has a call running", "bob: You wrote lex.go, which ann holds",
		"ann: lex.go, which you hold, was written by bob")
	change()
	look("bob goes on")
	w.Ended(bob, "", now)
	look("bob has ended")

	change()
	look("nobody has a call running", "ann: lex.go, which you hold, was written by someone, perhaps the user")
	w.Began(ann, "t5", nil)
	w.Began(bob, "t6", nil)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	look("it is removed, and somebody was told of before")
	w.Ended(ann, "", now)
	w.Ended(bob, "", now)

	room.held[0].Since = 9
	look("ann holds it anew, and it was not asked to be watched")
	change()
	look("so it is not")
	w.Holds("shop", room.held)
	w.Began(ann, "t7", nil)
	w.Began(bob, "t8", nil)
	change()
	look("both have calls running", "ann: lex.go, which you hold, was written by someone, perhaps the user")
	room.held = nil
	look("nothing is held")
	if len(w.files) != 0 {
		t.Errorf("%d files are watched still", len(w.files))
	}
	now = now.Add(2 * time.Minute)
	w.Ended(ann, "", now.Add(-2*time.Minute))
	w.Ended(bob, "", now.Add(-2*time.Minute))
	look("later")
	if len(w.agents) != 0 {
		t.Errorf("%d agents are known still", len(w.agents))
	}
}

// TestReadersAreNoWriters: an agent that only reads while a file is written is not named as its writer, and the end
// of its read does not change its last write.
func TestReadersAreNoWriters(t *testing.T) {
	dir := repository(t, t.TempDir())
	path := filepath.Join(dir, "lex.go")
	write(t, path, "x")
	at, err := worktree.Find(path, dir)
	if err != nil {
		t.Fatal(err)
	}
	room := &desk{held: []mail.Holding{{Agent: "ann", Claim: mail.Claim{Since: 5, Target: mail.Target{Root: at.Root,
		At: at.At, Path: at.Path}}}}}
	g := &Guard{Watch: &Watch{Room: func(mail.RoomName) Room { return room }},
		Rule:   func(mail.RoomName) policy.ClaimRule { return policy.ClaimsWarn },
		Others: func(mail.RoomName, mail.Name) []string { return nil }}
	use := func(agent mail.Name, id, tool, given string) {
		t.Helper()
		if _, err := g.Write(t.Context(), room, Use{Room: "shop", Agent: agent, Tool: tool, ID: id,
			Given: jsonx.Value(given), Dir: dir}); err != nil {
			t.Fatal(err)
		}
	}
	g.Watch.Holds("shop", room.held)
	now := time.Now()
	use("bob", "t1", "Read", `{"file_path":"lex.go"}`)
	write(t, path, "xx")
	g.Watch.Look(t.Context(), now)
	if want := []string{"ann: lex.go, which you hold, was written by someone, perhaps the user"}; !slices.Equal(
		room.sent, want) {
		t.Errorf("told is %q, want %q", room.sent, want)
	}
	g.Ended("shop", "bob", "t1")
	use("bob", "t2", "Bash", `{"command":"make"}`)
	room.sent = nil
	write(t, path, "xxx")
	g.Watch.Look(t.Context(), now.Add(LookEvery))
	if len(room.sent) != 2 {
		t.Errorf("told is %q, want that bob, whose shell runs, wrote it", room.sent)
	}
	g.Ended("shop", "bob", "t2")

	ann := seat{"shop", "ann"}
	g.Watch.Began(ann, "t3", []mail.Target{room.held[0].Target})
	g.Watch.Began(ann, "t4", nil)
	use("ann", "t5", "Grep", `{"pattern":"x"}`)
	g.Ended("shop", "ann", "t3")
	g.Ended("shop", "ann", "t5")
	if !g.Watch.agents[ann].says(fileKey{ann, at.Root, at.Path}) {
		t.Error("the end of a call that reads takes what ann's last write said")
	}
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

// repository makes a directory a working tree that ignores some files, and returns it.
func repository(t *testing.T, dir string) string {
	t.Helper()
	write(t, filepath.Join(dir, ".gitignore"), "build/\n*.log\n")
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Skipf("git init: %v\n%s", err, out)
	}
	return dir
}
