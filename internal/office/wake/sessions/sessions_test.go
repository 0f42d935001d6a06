package sessions

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"pennypost/internal/base/process"
)

const hush = "5f4dcc3b5aa765d6"

func testSession() Session {
	return Session{
		Room: "lab", Agent: "小克", Client: "claude", ID: "s1", Dir: "/src", Version: "2.1.329",
		Mode:   "default",
		Socket: NewSecret("/run/" + hush + ".sock"), Token: NewSecret(hush), Tmux: "/tmp/tmux,1,0", Pane: "%1",
	}
}

func TestSessions(t *testing.T) {
	var l List
	if _, ok := l.Get("lab", "小克"); ok {
		t.Error("an empty list has a session")
	}
	l.Drop("lab", "小克", "s1")
	s := testSession()
	s.Agent = "Ame\u0301lie"
	l.Put(s)
	if got, ok := l.Get("lab", "Am\u00e9lie"); !ok || got.ID != "s1" {
		t.Errorf("Get by the composed name = %v, %v", got.ID, ok)
	}
	l.Move("lab", "Am\u00e9lie", "bob")
	if _, ok := l.Get("lab", "Am\u00e9lie"); ok {
		t.Error("a session stays under the old name of its agent")
	}
	if got, ok := l.Get("lab", "bob"); !ok || got.ID != "s1" || got.Agent != "bob" {
		t.Errorf("Get by the new name = %v, %v", got.ID, ok)
	}
	l.Move("lab", "nobody", "bob")
	l.Move("lab", "bob", "Ame\u0301lie")
	if _, ok := l.Get("other", "Am\u00e9lie"); ok {
		t.Error("a session is known in another room")
	}

	// A hook that was told less does not erase facts from another.
	l.Put(Session{Room: s.Room, Agent: s.Agent, Client: "claude", ID: "s1", Mode: "plan"})
	if got, _ := l.Get(s.Room, s.Agent); got.Token.Reveal() != hush || got.Socket != s.Socket || got.Pane != "%1" ||
		got.Tmux != s.Tmux || got.Version != s.Version || got.Mode != "plan" {
		t.Errorf("the same session lost what was known of it: %+v", got.reveal())
	}
	// Another session inherits nothing from the one before.
	for _, other := range []Session{{Client: "claude", ID: "s2"}, {Client: "codex", ID: "s1"}} {
		l.Put(s)
		other.Room, other.Agent = s.Room, s.Agent
		l.Put(other)
		if got, _ := l.Get(s.Room, s.Agent); got != other {
			t.Errorf("%s has what was of another: %s", other.ID, got.reveal())
		}
	}
	l.Put(s)
	l.Drop(s.Room, s.Agent, "s0")
	if _, ok := l.Get(s.Room, s.Agent); !ok {
		t.Error("the end of another session was taken for its own")
	}
	l.Drop(s.Room, s.Agent, "s1")
	if _, ok := l.Get(s.Room, s.Agent); ok {
		t.Error("a session that was dropped is there")
	}
}

// reveal shows a session to a test.
func (s Session) reveal() string {
	return fmt.Sprint(s.Client, s.ID, s.Dir, s.Version, s.Process, s.Mode, s.Socket.Reveal(), s.Token.Reveal(), s.Tmux,
		s.Pane)
}

// A session whose program has ended is forgotten, and a new program with the same pid does not bring it back.
func TestSessionsEnded(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells when a program started")
	}
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	name := process.Tree(cmd.Process.Pid)[0].Key
	if !process.Alive(name) {
		t.Fatalf("%s is no name of a program", name)
	}
	var l List
	s := testSession()
	s.Process = name
	l.Put(s)
	if _, ok := l.Get(s.Room, s.Agent); !ok {
		t.Error("a live session is not known")
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if _, ok := l.Get(s.Room, s.Agent); ok {
		t.Error("a session whose program was killed is known")
	}
	if got, known, gone := l.Gone(s.Room, s.Agent); !known || !gone || got.ID != s.ID || got.Dir != s.Dir ||
		got.Socket.Reveal()+got.Token.Reveal()+got.Pane != "" {
		t.Errorf("Gone = %s, %v, %v", got.reveal(), known, gone)
	}
	me := process.Tree(os.Getpid())[0].Key
	for what, program := range map[string]string{"not seen": name, "one of many sessions": "all-of-" + name,
		"unknown": "", "alive": me} {
		other := Session{Room: s.Room, Agent: s.Agent, Client: "claude", ID: what, Process: program}
		l.Put(other)
		l.Drop(s.Room, s.Agent, what)
		if _, known, gone := l.Gone(s.Room, s.Agent); !known || gone {
			t.Errorf("%s: a session that said goodbye is proven gone (%v, %v)", what, known, gone)
		}
	}
	for text, want := range map[string]bool{
		me: false, strings.Replace(me, ".", ".9", 1): true, "": false, "all-of-" + name: false, "x.1@y": false,
		"-1.2@x": false,
	} {
		if got := ended(text); got != want {
			t.Errorf("ended(%q) = %v, want %v", text, got, want)
		}
	}
}
