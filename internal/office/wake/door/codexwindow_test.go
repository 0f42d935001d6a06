package door

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"pennypost/internal/base/process"
	"pennypost/internal/mail"
	"pennypost/internal/office/wake"
	"pennypost/internal/office/wake/codextest"
	"pennypost/internal/office/wake/sessions"
)

// Codex reports the window of a thread: the one that began it, or resumed it last, while that is open.
func TestCodexWindow(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells who listens on a port")
	}
	codex := codextest.New(t, t.TempDir())
	one, other := codex.Window(t, nil), codex.Window(t, nil)
	c := &Codex{Sessions: new(sessions.List)}
	in := func() string {
		at, err := c.Window(t.Context(), codex.Home, thread)
		if (at == "") != (err != nil) {
			t.Errorf("the window is %q, %v", at, err)
		}
		return at
	}
	if at := in(); at != "" {
		t.Errorf("a thread in no window is in %s", at)
	}
	one.Begin(thread)
	if at := in(); at != one.Program {
		t.Errorf("the thread is in %s, want %s", at, one.Program)
	}
	other.Begin(thread)
	if at := in(); at != other.Program {
		t.Errorf("resumed, the thread is in %s, want %s", at, other.Program)
	}
	other.Close()
	if at := in(); at != "" {
		t.Errorf("the window was closed, and the thread is in %s", at)
	}
	if at, err := c.Window(t.Context(), t.TempDir(), thread); err == nil {
		t.Errorf("where no server runs, the thread is in %s", at)
	}
}

// A session ends with its window, even if the post office was restarted in the meantime; its name is free immediately
// for another window, and for another session in the same one if it is not working.
func TestSessionWindow(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells who listens on a port")
	}
	codex, file := codextest.New(t, t.TempDir()), filepath.Join(t.TempDir(), "doors.json")
	window, door := codex.Window(t, nil), &Codex{Sessions: new(sessions.List)}
	l := door.Sessions
	if err := l.Keep(file); err != nil {
		t.Fatal(err)
	}
	me := process.Tree(os.Getpid())[0].Key
	s := sessions.Session{Room: "lab", Agent: "ann", Client: "codex", ID: thread, Process: me, Window: window.Program,
		Home: codex.Home, Working: true}
	left := func(in string) bool { _, left := l.Left("lab", "ann", in); return left }
	l.Put(s)
	if left(window.Program) || left("another") || !leadsFor(l, door, "lab", "ann") {
		t.Error("a session at work was left, or has no door")
	}
	s.Working = false
	l.Put(s)
	if !left(window.Program) || left("another") {
		t.Error("a window goes on to another session, and the one before is not left")
	}
	if found, lives := l.Find("codex", thread); found.Agent != "ann" || !lives {
		t.Errorf("found is %v, %t", found, lives)
	}
	window.Close()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	door.Sessions = new(sessions.List)
	if l = door.Sessions; l.Keep(file) != nil {
		t.Fatal("the file is not understood")
	}
	if _, lives := l.Get("lab", "ann"); lives || leadsFor(l, door, "lab", "ann") || !left("another") {
		t.Error("a session lives on without its window")
	}
	if killed := l.Killed(); len(killed) != 1 || killed[0].ID != thread {
		t.Errorf("ended are %v", killed)
	}
	if _, known, gone := l.Gone("lab", "ann"); !known || !gone {
		t.Error("it cannot be resumed")
	}
}

// leadsFor reports whether a door can reach an agent.
func leadsFor(l *sessions.List, w wake.Waker, room mail.RoomName, agent mail.Name) bool {
	s := l.Look(room, agent)
	return Leads(w, &s)
}
