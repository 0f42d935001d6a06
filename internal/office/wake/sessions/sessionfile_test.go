package sessions

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"pennypost/internal/base/process"
)

// The next process of the post office knows the sessions that hooks reported: how to reach the live ones, and how to
// resume the others. Only the owner can read the file.
func TestSessionsSurviveRestart(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells when a program started")
	}
	path := filepath.Join(t.TempDir(), "doors.json")
	var before List
	if err := before.Keep(path); err != nil {
		t.Fatal(err)
	}
	me := process.Tree(os.Getpid())[0].Key
	before.Put(Session{Room: "lab", Agent: "ann", Client: "claude", ID: "s1", Dir: "/srv", Process: me,
		Socket: NewSecret("/tmp/s1.sock"), Token: NewSecret("key"), Tmux: "t", Pane: "%1", Mode: "default"})
	before.Put(Session{Room: "lab", Agent: "bob", Client: "codex", ID: "s2", Dir: "/srv", Process: me})
	before.Drop("lab", "bob", "s2")
	before.Put(Session{Room: "lab", Agent: "cay", Client: "claude", ID: "s3", Socket: NewSecret("/tmp/s3.sock"),
		Token: NewSecret("other")})
	if err := before.Close(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info.Mode(), err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	dead := strings.ReplaceAll(string(text), `"id":"s3"`, `"id":"s3","process":"2147483000.1"`)
	if err := os.WriteFile(path, []byte(dead), 0o600); err != nil {
		t.Fatal(err)
	}
	var after List
	if err := after.Keep(path); err != nil {
		t.Fatal(err)
	}
	s, ok := after.Get("lab", "ann")
	if !ok || s.ID != "s1" || s.Socket.Reveal() != "/tmp/s1.sock" || s.Token.Reveal() != "key" || s.Pane != "%1" ||
		s.Mode != "default" || s.Process != me {
		t.Errorf("ann's session is %#v, %v", s.ID, ok)
	}
	if _, ok := after.Get("lab", "bob"); ok {
		t.Error("a session that has ended lives again")
	}
	if s := after.Look("lab", "bob"); s.ID != "s2" || s.Dir != "/srv" {
		t.Errorf("nobody can resume bob's session: %s", s.ID)
	}
	if s := after.Look("lab", "cay"); s.ID != "s3" || s.Socket.Reveal() != "" {
		t.Errorf("the secrets of a program that has ended are kept")
	}
}

// A file that cannot be parsed stops nothing, and is replaced.
func TestSessionsFileDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "doors.json")
	if err := os.WriteFile(path, []byte(`[{"room":`), 0o600); err != nil {
		t.Fatal(err)
	}
	var l List
	if err := l.Keep(path); err == nil {
		t.Error("half a file was understood")
	}
	l.Put(Session{Room: "lab", Agent: "ann", Client: "claude", ID: "s1"})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	var again List
	if err := again.Keep(path); err != nil {
		t.Error(err)
	}
	if s, ok := again.Get("lab", "ann"); !ok || s.ID != "s1" {
		t.Errorf("%v, %v", s.ID, ok)
	}
}
