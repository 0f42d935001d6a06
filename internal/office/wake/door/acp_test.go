package door

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"log/slog"

	"pennypost/internal/base/kept"
	"pennypost/internal/mail"
	"pennypost/internal/office/acp"
	"pennypost/internal/office/acp/acptest"
	"pennypost/internal/office/wake"
	"pennypost/internal/office/wake/sessions"
)

// overACP returns a door whose agent behaves as how says, and a function that reads the agent's notes.
func overACP(t *testing.T, how string) (*ACP, func() string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	notes := filepath.Join(dir, "notes")
	return &ACP{Argv: acptest.Command(t, how, notes), Env: append(os.Environ(), "PENNYPOST_AGENT=somebody-else"),
			Dir: dir, Home: "/home/of/pennypost", Program: "/no/such/program", Timeout: 20 * time.Second,
			Log: slog.New(slog.DiscardHandler), Sessions: new(sessions.List),
			Turns: NewTurns(filepath.Join(dir, "acp.json"), slog.New(slog.DiscardHandler))},
		func() string {
			text, _ := os.ReadFile(notes)
			return string(text)
		}
}

func goneRing() wake.Ring {
	r := testRing()
	r.State = mail.Gone
	return r
}

func TestACP(t *testing.T) {
	x, notes := overACP(t, "new")
	r := goneRing()
	r.Known = true // of a session that is not resumed
	if err := x.Ring(t.Context(), r); err != nil {
		t.Fatalf("Ring = %v", err)
	}
	r.Known = false
	for _, want := range []string{"dir " + x.Dir + "\n", "PENNYPOST_HOME=/home/of/pennypost\n", "PENNYPOST_ROOM=lab\n",
		"PENNYPOST_AGENT=小克\n", "PENNYPOST_ROLE=orchestrator\n", "PENNYPOST_UNREAD=2\n", "PENNYPOST_URGENT=1\n",
		r.Pointer(), `"name":"pennypost"`, `"args":["mcp"],"command":"/no/such/program"`,
		`{"name":"PENNYPOST_AGENT","value":"小克"}`, `{"name":"PENNYPOST_ROOM","value":"lab"}`,
	} {
		if !strings.Contains(notes(), want) {
			t.Errorf("the agent was not told %q:\n%s", want, notes())
		}
	}
}

// The same program in the same directory resumes the session, even after a restart.
func TestACPLoads(t *testing.T) {
	x, notes := overACP(t, "new")
	begun := func() int { return strings.Count(notes(), "session/new") }
	for i, want := range []int{1, 1, 2, 3} {
		switch i {
		case 1:
			x.Turns = NewTurns(x.Turns.file, x.Log)
		case 2:
			x.Dir = t.TempDir()
		case 3:
			if err := os.WriteFile(x.Turns.file, []byte("{torn"), 0o600); err != nil {
				t.Fatal(err)
			}
			x.Turns = NewTurns(x.Turns.file, x.Log)
		}
		if err := x.Ring(t.Context(), goneRing()); err != nil || begun() != want {
			t.Fatalf("ring %d: %v, and %d sessions were begun, want %d\n%s", i, err, begun(), want, notes())
		}
	}
	x.Turns.last = make([]lastTurn, maxLast+2)
	x.Turns.keep(lastTurn{Room: "lab", Agent: "ann", Argv: []string{"x"}, Session: "s"})
	var all []lastTurn
	if err := kept.Load(x.Turns.file, &all); err != nil || len(all) != maxLast || all[maxLast-1].Agent != "ann" {
		t.Errorf("%d are kept, %v, want %d", len(all), err, maxLast)
	}
}

func TestACPRefuses(t *testing.T) {
	x, _ := overACP(t, "new")
	refused := func(what, want string, r wake.Ring) {
		t.Helper()
		if err := x.Ring(t.Context(), r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: Ring = %v, want %q", what, err, want)
		}
	}
	r := goneRing()
	r.Live = true
	refused("the room knows a session", "has a session", r)
	r = goneRing()
	r.Agent = ""
	refused("nobody has the role", "no agent has the role", r)
	s := testSession()
	x.Sessions.Put(s)
	refused("a hook told of a session", "has a session", goneRing())
	if l := x.Sessions.Look(s.Room, s.Agent); Leads(x, &l) {
		t.Error("the door leads to who has a session")
	}
	x.Sessions.Drop(s.Room, s.Agent, s.ID)
	x.Argv = append(x.Argv, "{agent}")
	r = goneRing()
	r.Agent = "--dangerously"
	refused("a name that would be an option", "PENNYPOST_AGENT", r)
	x, notes := overACP(t, "new")
	x.Dir = ""
	refused("no directory", "set dir", goneRing())
	if notes() != "" {
		t.Errorf("the agent was started:\n%s", notes())
	}
}

// A turn yields to another session of its agent, and to the shutdown of the post office.
func TestACPMakesWay(t *testing.T) {
	for how, want := range map[string]string{"yield": errOther.Error(), "stop": "the turn was cancelled"} {
		x, notes := overACP(t, "ask")
		ctx, stop := context.WithCancel(t.Context())
		asked := make(chan Asker, 1)
		x.Turns.Ask = func(ctx context.Context, who Asker, _ *acp.Question) string {
			asked <- who
			<-ctx.Done()
			return ""
		}
		done := make(chan error, 1)
		go func() { done <- x.Ring(ctx, goneRing()) }()
		who := <-asked
		if who.Room != "lab" || who.Agent != "小克" || who.Client != filepath.Base(x.Argv[0]) || who.Dir != x.Dir {
			t.Errorf("%+v asks", who)
		}
		if err := x.Ring(ctx, goneRing()); err == nil || !strings.Contains(err.Error(), "already") {
			t.Errorf("a second turn at the same time = %v", err)
		}
		if who.Process != "" && (!x.Turns.Has("lab", "小克", []string{"other", who.Process}) ||
			x.Turns.Has("lab", "小克", []string{"other"}) || x.Turns.Has("lab", "x", []string{who.Process})) {
			t.Error("it is not known whose turn runs")
		}
		x.Turns.Yield(ctx, "lab", "x")
		if how == "stop" {
			stop()
		} else {
			x.Turns.Yield(ctx, "lab", "小克")
		}
		if err := <-done; err == nil || err.Error() != want {
			t.Errorf("%s: Ring = %v, want %s", how, err, want)
		}
		if !strings.Contains(notes(), "session/cancel") {
			t.Errorf("%s: the agent was not told:\n%s", how, notes())
		}
		if x.Turns.Has("lab", "小克", []string{who.Process}) {
			t.Error("the turn runs on")
		}
		stop()
	}
}

// No turn begins while a session of the agent is beginning, or after one that began since the ring was made.
func TestACPIsBarred(t *testing.T) {
	x, notes := overACP(t, "new")
	ring := func(when, want string) {
		t.Helper()
		if err := x.Ring(t.Context(), goneRing()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: Ring = %v, want %q", when, err, want)
		}
	}
	one, two := x.Turns.Bar("lab", "小克"), x.Turns.Bar("lab", "小克")
	ring("two sessions begin", "is starting")
	one()
	ring("one of them has begun", "is starting")
	two()
	x.Turns.Lives = func(_ context.Context, room mail.RoomName, agent mail.Name) bool {
		return x.Turns.Run(room, agent) // a session that begins after this answer finds the turn, and cancels it
	}
	ring("a session has begun", "has a session")
	if notes() != "" {
		t.Errorf("the agent was started:\n%s", notes())
	}
	x.Turns.Lives = func(context.Context, mail.RoomName, mail.Name) bool { return false }
	free := x.Turns.Bar("lab", "x")
	if err := x.Ring(t.Context(), goneRing()); err != nil {
		t.Errorf("Ring = %v", err)
	}
	if free(); len(x.Turns.barred) > 0 {
		t.Errorf("%v are barred", x.Turns.barred)
	}
}
