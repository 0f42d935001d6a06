package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pennypost/internal/mail"
)

// tree creates files below a temporary directory, replacing %ROOT% in their text by it, and returns it with links
// resolved.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "%ROOT%", root)), 0o644); err != nil {
			t.Fatal(err)
		}
		if head, ok := strings.CutSuffix(path, "/.git/config"); ok { // a repository has both
			if err := os.WriteFile(filepath.Join(head, ".git", "HEAD"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return root
}

const origin = "[core]\n\tbare = false\n[remote \"other\"]\n\turl = https://example.org/other\n[remote " +
	"\"origin\"]\n\tfetch = x\n\turl = https://example.org/team/parser.git ; ours\n"

func find(t *testing.T, dir string) mail.RoomName {
	t.Helper()
	room, err := FindRoom("", env(nil), dir)
	if err != nil {
		t.Fatal(err)
	}
	return room
}

// All worktrees of a repository, and every directory in them, are one room.
func TestWorktreesShareARoom(t *testing.T) {
	root := tree(t, map[string]string{
		"parser/.git/config":              origin,
		"parser/.git/HEAD":                "ref: refs/heads/main\n",
		"parser/src/deep/x.go":            "",
		"parser/.git/worktrees/w1/HEAD":   "ref: refs/heads/w1\n",
		"parser/.git/worktrees/w1/gitdir": "%ROOT%/w1/.git\n",
		// git writes a relative commondir and an absolute gitdir
		"parser/.git/worktrees/w1/commondir": "../..\n",
		"w1/.git":                            "gitdir: %ROOT%/parser/.git/worktrees/w1\n",
		"w1/sub/y.go":                        "",
	})
	want := find(t, filepath.Join(root, "parser"))
	if !strings.HasPrefix(string(want), "parser-") || len(want) != len("parser-")+6 {
		t.Fatalf("the room is %q, want parser- and six digits", want)
	}
	if err := os.Symlink(filepath.Join(root, "w1", "sub"), filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"parser/src/deep", "w1", "w1/sub", "link"} {
		if got := find(t, filepath.Join(root, dir)); got != want {
			t.Errorf("FindRoom in %s = %q, want %q", dir, got, want)
		}
	}
}

func TestRoomOfRepository(t *testing.T) {
	root := tree(t, map[string]string{
		"a/parser/.git/config":     origin,
		"b/parser/.git/config":     strings.Replace(origin, "https://", "https://user:secret@", 1),
		"c/parser/.git/config":     "[core]\n",
		"d/parser/.git/config":     "[core]\n",
		"mirror.git/HEAD":          "",
		"mirror.git/objects/x":     "",
		"mirror.git/refs/x":        "",
		"bare/.bare/config":        origin,
		"bare/.git":                "gitdir: ./.bare\n",
		"odd/-  小克's/.git/config":  "",
		"con.x/.git/config":        "",
		"nothing/here":             "",
		"broken/.git":              "gitdir:\n",
		"left/.git/hooks/x":        "",
		"sub/.git/HEAD":            "",
		"sub/.git/modules/m/HEAD":  "",
		"sub/m/.git":               "gitdir: ../.git/modules/m\n",
		"long/.git/config":         "",
		"old/parser/.git/config":   "[remote.origin] url = \"https://example.org/team/parser\"\n",
		"quoted/parser/.git/confi": "",
	})
	at := func(dir string) string { return string(find(t, filepath.Join(root, dir))) }
	if at("a/parser") != at("b/parser") {
		t.Error("two clones of one origin, one with credentials in its URL, are two rooms")
	}
	if at("a/parser") != at("old/parser") {
		t.Error("the old spelling of a section is not read")
	}
	if at("c/parser") == at("d/parser") {
		t.Error("two repositories of one name without origin share a room")
	}
	for dir, prefix := range map[string]string{
		"mirror.git": "mirror-", "bare": "bare-", "odd/-  小克's": "小克-s-", "con.x": "repository-", "sub/m": "m-",
	} {
		if got := at(dir); !strings.HasPrefix(got, prefix) {
			t.Errorf("FindRoom in %s = %q, want %s…", dir, got, prefix)
		}
	}
	for _, dir := range []string{"nothing", "broken", "left"} {
		if got := at(dir); got != "default" {
			t.Errorf("FindRoom in %s = %q, want default", dir, got)
		}
	}
}

func TestFindRoomOrder(t *testing.T) {
	root := tree(t, map[string]string{"parser/.git/config": ""})
	dir := filepath.Join(root, "parser")
	vars := env(map[string]string{"PENNYPOST_ROOM": "fromenv"})
	if got, err := FindRoom("named", vars, dir); got != "named" || err != nil {
		t.Errorf("FindRoom = %q, %v, want the named one", got, err)
	}
	if got, err := FindRoom("", vars, dir); got != "fromenv" || err != nil {
		t.Errorf("FindRoom = %q, %v, want that of the environment", got, err)
	}
	for _, bad := range []string{"../x", "a/b", "a\x00b", ".hidden", strings.Repeat("x", 101)} {
		if got, err := FindRoom(bad, vars, dir); mail.CodeOf(err) != mail.Invalid {
			t.Errorf("FindRoom(%q) = %q, %v, want an invalid error", bad, got, err)
		}
	}
}

// Whatever a directory is called, its room can be opened.
func FuzzRepositoryRoom(f *testing.F) {
	f.Add("parser", "https://example.org/x")
	f.Add("../..", "")
	f.Add("con", "x")
	f.Add(strings.Repeat("é", 300), "")
	f.Fuzz(func(t *testing.T, dir, origin string) {
		room := repositoryRoom("/home/"+dir+"/.git", origin)
		if _, err := mail.ParseRoom(string(room)); err != nil {
			t.Errorf("repositoryRoom(%q) = %q: %v", dir, room, err)
		}
	})
}

func TestSocketPath(t *testing.T) {
	if got := Home("/x").Socket(); got != "/x/pennypost.sock" {
		t.Errorf("Socket = %q", got)
	}
	long := Home("/" + strings.Repeat("x", 120))
	if got := long.Socket(); len(got) > maxSocketPath || got != long.Socket() || got == (long+"y").Socket() {
		t.Errorf("Socket of a long home = %q", got)
	}
}
