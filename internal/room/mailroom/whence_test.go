package mailroom

import (
	"strings"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/room/check"
)

// A process inside a session speaks as its agent, or as one that the session registered. The names are those of
// programs: "shell" is a process below a program, as a person's terminal is.
func TestP5_InsideASession(t *testing.T) {
	claude, codex, nested, editor := "10.1@b", "20.1@b", "30.1@b", "40.1@b"
	begun := false
	room, _ := openRoom(t, "lab", Options{
		Alive: func(p string) bool { return !begun || p == codex },
		Protocols: []mail.Protocol{{Name: "haak",
			NamesItself: func(client string, _ []string) bool { return client == "haak" }}},
	})
	user := room.As(mail.User)
	begin := func(as mail.Name, session, program string) {
		t.Helper()
		if _, err := room.As(as).Turn(t.Context(), mail.Turn{Moment: mail.SessionStart, Session: session,
			Process: program}); err != nil {
			t.Fatal(err)
		}
	}
	builder := mail.Name("builder")
	for _, p := range []mail.Presence{
		{Name: "lead", Roles: []string{"orchestrator"}}, {Name: "other"}, {Name: "gone", State: mail.Gone},
		{Name: "far"}, {Name: "chief", Roles: []string{"orchestrator"}},
		{Name: "paper", Client: "haak"}, {Name: "paper-2", Client: "haak"}, {Name: "ws"},
		{Name: "retired", Roles: []string{"orchestrator"}},
	} {
		if _, err := user.Register(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	if err := user.Retire(t.Context(), "retired"); err != nil {
		t.Fatal(err)
	}
	begin("builder", "s1", claude)
	begin("builder", "s2", codex) // builder-2
	begin("thread-1", "t1", codex)
	begin("chief", "f1", "5.1@out-of-sight")
	begin("pair", "e1", "all-of-"+editor)
	begin("paper-2", "p1", codex)
	begun = true
	if _, err := user.AddWorkspace(t.Context(), mail.Workspace{ID: "ws", Dir: "/ws"}); err != nil {
		t.Fatal(err)
	}
	for _, p := range []mail.Presence{{Name: "kid", Parent: &builder},
		{Name: "grandkid", Parent: new(mail.Name("kid"))}} {
		if _, err := user.Register(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	inside := func(programs ...string) check.Whence {
		return check.Whence{Programs: append([]string{"99.1@b"}, programs...)}
	}
	opening := func(w check.Whence, program string) check.Whence { w.Opens = program; return w }
	many := func(w check.Whence) check.Whence { w.Many = true; return w }
	elsewhere := func(w check.Whence) check.Whence { w.Elsewhere = "far"; return w }
	client := func(w check.Whence) check.Whence { w.Doubtful = func() bool { return true }; return w }
	for _, tt := range []struct {
		what   string
		whence check.Whence
		says   mail.Name
		want   mail.Name // as whom it speaks; "": refused
		parent mail.Name // if it is a newcomer
	}{
		{"itself", inside(claude), "builder", "builder", ""},
		{"the user", inside(claude), mail.User, "", ""},
		{"the orchestrator", inside(claude), "lead", "", ""},
		{"the orchestrator by the name", inside(claude), "orchestrator", "", ""},
		{"another", inside(claude), "other", "", ""},
		{"one that is gone", inside(claude), "gone", "", ""},
		{"its namesake", inside(claude), "builder-2", "", ""},
		{"its child", inside(claude), "kid", "kid", ""},
		{"its child's child", inside(claude), "grandkid", "grandkid", ""},
		{"a newcomer", inside(claude), "new", "new", "builder"},
		{"a session that names itself", inside(claude), "paper", "paper", ""},
		{"a session that names itself and runs elsewhere", inside(claude), "paper-2", "", ""},
		{"a workspace", inside(claude), "ws", "ws", ""},
		{"an agent of a program of several", inside(codex), "thread-1", "thread-1", ""},
		{"another of them", inside(codex), "builder-2", "builder-2", ""},
		{"not of them", inside(codex), "other", "", ""},
		{"an agent of an editor", inside(editor), "pair", "pair", ""},
		{"an agent of an editor, whose environment an agent's client made", client(inside(editor)), "pair", "pair",
			""},
		{"a person's terminal in the editor", inside(editor), "other", "other", ""},
		{"a client in such a terminal, as the orchestrator", opening(inside(nested, editor), nested), "lead", "lead",
			""},
		{"in a client in a client, not yet begun: the outer's", inside(nested, claude), "builder", "builder", ""},
		{"the innermost session counts", inside(codex, claude), "builder", "", ""},
		{"a hook begins its session", opening(inside(nested), nested), "gone", "gone", ""},
		{"a hook begins another session of a program of many", many(opening(inside(codex), codex)), "gone", "gone",
			""},
		{"as the orchestrator there", many(opening(inside(codex), codex)), "lead", "", ""},
		{"a hook of a program says another name", opening(inside(codex), codex), "gone", "builder-2", ""},
		{"a session from within another's", opening(inside(nested, claude), nested), "fresh", "fresh", "builder"},
		{"a hook of a session says another name", opening(inside(claude), claude), "other", "builder", ""},
		{"a hook of a session says a free name", opening(inside(claude), claude), "fresh", "builder", ""},
		{"a hook of a session says the orchestrator", opening(inside(claude), claude), "lead", "builder", ""},
		{"a hook of a session says the orchestrator by the name", opening(inside(claude), claude), "orchestrator",
			"builder", ""},
		{"from within another's, as one that is there", opening(inside(nested, claude), nested), "other", "other-2",
			"builder"},
		{"from within another's, as one that is gone", opening(inside(nested, claude), nested), "gone", "gone-2",
			"builder"},
		{"from within another's, as its child", opening(inside(nested, claude), nested), "kid", "kid", ""},
		{"from within another's, as one that led and is retired", opening(inside(nested, claude), nested), "retired",
			"", ""},
		{"as one that led and is retired", opening(inside(nested), nested), "retired", "", ""},
		{"as an orchestrator that nobody has granted", opening(inside(nested), nested), "orchestrator", "", ""},
		{"from within a session of another room, as one that is there", elsewhere(opening(inside(nested), nested)),
			"other", "", ""},
		{"from within a session of another room", elsewhere(opening(inside(nested), nested)), "fresh", "fresh", ""},
		{"in a session of another room, as one that is there", elsewhere(inside(nested)), "other", "", ""},
		{"in a session of another room, as the orchestrator", elsewhere(inside(nested)), "lead", "", ""},
		{"in a session of another room, as one that led and is retired", elsewhere(inside(nested)), "retired", "", ""},
		{"in a session of another room, as somebody new", elsewhere(inside(nested)), "fresh", "fresh", ""},
		{"in a session of another room, as itself", elsewhere(inside(nested)), "far", "far", ""},
		{"in a session of another room, as a workspace", elsewhere(inside(nested)), "ws", "ws", ""},
		{"from within another's, as the orchestrator", opening(inside(nested, claude), nested), "lead", "", ""},
		{"from within another's, as the orchestrator by the name", opening(inside(nested, claude), nested),
			"orchestrator", "", ""},
		{"a client that is configured as the orchestrator", client(opening(inside(nested), nested)), "lead", "lead",
			""},
		{"a terminal", inside(), "other", "other", ""},
		{"a terminal, as the orchestrator", inside(), "lead", "lead", ""},
		{"a terminal, as one that runs elsewhere", inside(), "builder", "builder", ""},
		{"a client of no session", client(inside()), "other", "other", ""},
		{"a client of no session, as the orchestrator", client(inside()), "lead", "", ""},
		{"a client of no session, as one that runs elsewhere", client(inside()), "builder", "", ""},
		{"nobody can tell", check.Whence{}, "lead", "lead", ""},
		{"out of sight", client(check.Whence{}), "other", "other", ""},
		{"out of sight, as the orchestrator", client(check.Whence{}), "lead", "", ""},
		{"out of sight, as one that runs in sight", client(check.Whence{}), "builder-2", "", ""},
		{"out of sight, as one that runs there", client(check.Whence{}), "builder", "builder", ""},
		{"out of sight, as an orchestrator that runs there", client(check.Whence{}), "chief", "chief", ""},
	} {
		v, err := room.From(tt.says, tt.whence)
		if tt.want == "" {
			if mail.CodeOf(err) != mail.Denied || !strings.Contains(err.Error(), string(tt.says)) {
				t.Errorf("%s: %v, want it refused", tt.what, err)
			}
			continue
		}
		if err != nil || v.(*view).Who != tt.want || v.(*view).Parent != tt.parent {
			t.Errorf("%s: %+v, %v, want %s, child of %q", tt.what, v, err, tt.want, tt.parent)
		}
	}
	_, err := room.From("lead", inside(claude))
	if text := "this process runs inside the session of builder and cannot act as lead"; err == nil ||
		!strings.Contains(err.Error(), text) {
		t.Errorf("refused with %v, want %q", err, text)
	}
}

// In a program that runs several agents, a process speaks for the one in whose thread it runs.
func TestP5_Threads(t *testing.T) {
	const codex = "20.1@b"
	room, _ := openRoom(t, "lab", Options{Alive: func(p string) bool { return p == codex }})
	for _, name := range []mail.Name{"one", "two"} {
		if _, err := room.As(name).Turn(t.Context(), mail.Turn{Moment: mail.SessionStart, Session: "t-" + string(name),
			Process: codex, Client: "codex"}); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		session, opens string
		says           mail.Name
		code           mail.Code
	}{
		{"t-one", "", "one", ""}, {"t-two", "", "two", ""}, {"t-one", "", "two", mail.Denied},
		{"", "", "one", mail.Denied},
		{"t-of-a-subagent", "", "one", ""}, {"", codex, "one", ""}, // its hook, which names the session itself
	} {
		_, err := room.From(
			tt.says,
			check.Whence{Programs: []string{"99.1@b", codex}, Session: tt.session, Opens: tt.opens},
		)
		if mail.CodeOf(err) != tt.code {
			t.Errorf("%+v: %v", tt, err)
		}
	}
}

// NAME means NAME-2 in the session that found NAME held, and its first act under a new name makes a child of that.
func TestP5_InsideANumberedSession(t *testing.T) {
	room, _ := openRoom(t, "lab", Options{})
	for session, program := range map[string]string{"s1": "10.1@b"} {
		if _, err := room.As("builder").Turn(t.Context(), mail.Turn{Moment: mail.SessionStart, Session: session,
			Process: program}); err != nil {
			t.Fatal(err)
		}
	}
	if brief, err := room.As("builder").Turn(t.Context(), mail.Turn{Moment: mail.SessionStart, Session: "s2",
		Process: "20.1@b"}); err != nil || brief.Agent != "builder-2" {
		t.Fatalf("the second is %+v, %v", brief, err)
	}
	w := check.Whence{Programs: []string{"21.1@b", "20.1@b"}}
	for says, want := range map[mail.Name]mail.Address{"builder": "agent:builder-2", "builder-2": "agent:builder-2",
		"a": "agent:a"} {
		v, err := room.From(says, w)
		if err != nil {
			t.Fatal(err)
		}
		sent, err := v.Send(t.Context(), mail.Draft{To: mail.Recipients{"user"}, Body: "x"})
		if err != nil {
			t.Fatal(err)
		}
		if it, err := room.As(mail.User).Message(t.Context(), sent.ID); err != nil || it.From != want {
			t.Errorf("%s signs as %s, %v; want %s", says, it.From, err, want)
		}
	}
	again, err := room.From("a", w)
	if err != nil {
		t.Fatalf("what the session has registered it speaks as again: %v", err)
	}
	list, _ := mail.Roster(t.Context(), again)
	if len(list) != 3 || list[0].Name != "a" || list[0].Parent != "builder-2" {
		t.Errorf("the roster: %+v", list)
	}
}

// A session binds its program even if compaction has taken the event that recorded it.
func TestP5_InsideASessionAfterCompaction(t *testing.T) {
	now := time.UnixMilli(1_000_000_000_000)
	room, _ := openRoom(t, "lab", Options{Now: func() time.Time { return now }})
	user := room.As(mail.User)
	for _, turn := range []mail.Turn{{Session: "s1", Process: "10.1@b"}, {Session: "s2", Process: "20.1@b"}} {
		turn.Moment = mail.SessionStart // the second time after a restart: it no longer runs in the first program
		if _, err := room.As("builder").Turn(t.Context(), turn); err != nil {
			t.Fatal(err)
		}
		now = now.Add(30 * 24 * time.Hour)
	}
	if _, err := user.Register(t.Context(), mail.Presence{Name: "other"}); err != nil {
		t.Fatal(err)
	}
	speak := func(program string) mail.Code {
		_, err := room.From("other", check.Whence{Programs: []string{"99.1@b", program}})
		return mail.CodeOf(err)
	}
	for _, when := range []string{"before", "after"} {
		if first, second := speak("10.1@b"), speak("20.1@b"); first != "" || second != mail.Denied {
			t.Errorf("%s compaction: in the program that ended %q, in the other %q", when, first, second)
		}
		if _, err := user.Send(t.Context(), mail.Draft{To: mail.Recipients{"other"}, Body: "old"}); err != nil {
			t.Fatal(err)
		}
		now = now.Add(30 * 24 * time.Hour)
		if told, err := user.Archive(t.Context()); err != nil || told.Age == 0 {
			t.Fatalf("Archive = %+v, %v", told, err)
		}
	}
}

// A session binds its program until that ends, whatever says that the session has ended; a connection only while it
// lasts.
func TestP5_InsideAnEndedSession(t *testing.T) {
	room, _ := openRoom(t, "lab", Options{})
	user := room.As(mail.User)
	if _, err := user.Register(t.Context(), mail.Presence{Name: "other"}); err != nil {
		t.Fatal(err)
	}
	for _, moment := range []mail.Moment{mail.SessionStart, mail.SessionEnd} {
		turn := mail.Turn{Moment: moment, Session: "s", Process: "10.1@b"}
		if _, err := room.As("builder").Turn(t.Context(), turn); err != nil {
			t.Fatal(err)
		}
	}
	connection := mail.Presence{Session: "m", Process: "20.1@b", Join: true}
	if _, err := room.As("tried").Register(t.Context(), connection); err != nil {
		t.Fatal(err)
	}
	speak := func(program string) error {
		_, err := room.From("other", check.Whence{Programs: []string{"99.1@b", program}})
		return err
	}
	if err := speak("10.1@b"); mail.CodeOf(err) != mail.Denied {
		t.Errorf("in a program whose session has ended: %v", err)
	}
	if err := speak("20.1@b"); mail.CodeOf(err) != mail.Denied {
		t.Errorf("in a program with a connection: %v", err)
	}
	connection.End = true
	if _, err := room.As("tried").Register(t.Context(), connection); err != nil {
		t.Fatal(err)
	}
	if err := speak("20.1@b"); err != nil {
		t.Errorf("in a program whose connection has ended: %v", err)
	}
}
