package claims

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pennypost/internal/base/worktree"
	"pennypost/internal/mail"
)

// desk is a room that has what is held, and what was sent.
type desk struct {
	mail.Claimer
	held []mail.Holding
	sent []string
}

func (d *desk) Claims(context.Context, mail.ClaimQuery) (mail.ClaimList, error) {
	return mail.ClaimList{Claims: d.held}, nil
}

func (d *desk) Send(_ context.Context, m mail.Draft) (mail.Sent, error) {
	d.sent = append(d.sent, strings.Join(m.To, " ")+": "+m.Subject)
	return mail.Sent{}, nil
}

// TestHiddenWrites: what was written to a file that ann holds, and no hook told of, is told to her and, if nobody else
// had a call running, to who wrote, once.
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
	look("nobody has a call running", "ann: lex.go, which you hold, was written by somebody, perhaps the user")
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
	look("both have calls running", "ann: lex.go, which you hold, was written by somebody, perhaps the user")
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

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
