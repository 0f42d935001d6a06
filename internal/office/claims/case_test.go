package claims

import (
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/base/worktree"
	"pennypost/internal/mail"
	"pennypost/internal/policy"
	"pennypost/internal/room/journal/journaltest"
	"pennypost/internal/room/mailroom"
)

// TestP15_CaseOfNames: two agents write files whose names differ only in case: on a disk that ignores case they are
// one file, and the second write is refused; elsewhere they are two, and it is not.
func TestP15_CaseOfNames(t *testing.T) {
	for name, folds := range map[string]bool{"folding": true, "exact": false} {
		t.Run(name, func(t *testing.T) { caseOfNames(t, folds) })
	}
}

func caseOfNames(t *testing.T, folds bool) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, ".git", "HEAD"), "ref: refs/heads/main\n")
	write(t, filepath.Join(dir, ".gitignore"), "Build/\n")
	if p, err := worktree.Find("x", dir); err != nil || p.Shown != "" {
		t.Skip("the disk of this machine folds names itself")
	}
	room, err := mailroom.Open(t.Context(), "shop", new(journaltest.Store).Open(), mailroom.Options{
		Claims: policy.ClaimsRefuse, Limits: policy.Limits{RepeatWindow: -1, Exchanges: -1, PerMinute: -1, Depth: -1}})
	if err != nil {
		t.Fatal(err)
	}
	defer room.Close()
	g := &Guard{Watch: &Watch{}, Rule: func(mail.RoomName) policy.ClaimRule { return policy.ClaimsRefuse },
		Others: func(mail.RoomName, mail.Name) []string { return []string{dir} }}
	if folds {
		g.find = worktree.FindFolding
	}
	agents := []mail.Name{"ann", "bob"}
	for _, a := range agents {
		if _, err := room.As(a).Turn(t.Context(), mail.Turn{Moment: mail.TurnStart, Session: "s-" + string(a),
			Client: "claude"}); err != nil {
			t.Fatal(err)
		}
	}
	random := rand.New(rand.NewPCG(7, 8))
	spelled := func(word string) string {
		return strings.Map(func(r rune) rune {
			if random.IntN(8) == 0 {
				return []rune(strings.ToUpper(string(r)))[0]
			}
			return r
		}, word)
	}
	held, clashes := map[string]mail.Name{}, 0
	for i := range 2000 {
		a := agents[random.IntN(2)]
		path := spelled([]string{"src/main.go", "src/é.go", "docs/read me.md", "build/x.o", "a.go"}[random.IntN(5)])
		given, err := jsonx.Marshal(map[string]string{"file_path": path})
		if err != nil {
			t.Fatal(err)
		}
		got, err := g.Write(t.Context(), room.As(a), Use{Room: "shop", Agent: a, Tool: "Write", Given: given,
			Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		same := path
		if folds {
			same = strings.ToLower(path)
		}
		ignored := strings.HasPrefix(path, "Build/") || folds && strings.HasPrefix(same, "build/")
		holder := held[same]
		if clash := holder != "" && holder != a && !ignored; got.Refused != clash {
			t.Fatalf("step %d: %s writes %s, which %q holds: %+v", i, a, path, holder, got)
		} else if clash {
			clashes++
			continue
		}
		if held[same] == "" {
			held[same] = a
		}
	}
	t.Logf("%d of 2000 writes clashed", clashes)
}
