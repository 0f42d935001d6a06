package daemon

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/office/caller"
	"pennypost/internal/office/rooms"
)

// A call that names a program, to be taken for that program's hook or MCP server, is checked against its real
// origin.
func TestP5_ForgedProcess(t *testing.T) {
	for place, relay := range map[string]bool{"here": false, "at a relay": true} {
		t.Run(place, func(t *testing.T) {
			cfg := testConfig(t)
			o := newOffice(&cfg, slog.New(slog.DiscardHandler), rooms.NewMetrics())
			defer o.Set.Close()
			if relay {
				newFleet(t).relay(t, o)
			}
			forge(t, o)
		})
	}
}

func forge(t *testing.T, o *caller.Rooms) {
	const lead, builder = "10.1@b", "20.1@b"
	room := func(name mail.Name, programs ...string) mail.Service {
		t.Helper()
		svc, err := o.Room(below(t, name, programs...), "a", name)
		if err != nil {
			t.Fatal(err)
		}
		return svc
	}
	for name, program := range map[mail.Name]string{"lead": lead, "builder": builder} {
		turn := mail.Turn{Moment: mail.SessionStart, Session: "s-" + string(name), Process: program}
		if brief, err := room(name, program).Turn(t.Context(), turn); err != nil || brief.Agent != name {
			t.Fatalf("%s begins: %+v, %v", name, brief, err)
		}
	}
	forger := room("lead", builder)
	for what, do := range map[string]func() error{
		"a send": func() error {
			_, err := forger.Send(t.Context(), mail.Draft{To: mail.Recipients{"user"}, Body: "x"})
			return err
		},
		"a hook of lead's program": func() error {
			_, err := forger.Turn(t.Context(), mail.Turn{Moment: mail.TurnStart, Session: "s-lead", Process: lead})
			return err
		},
		"a hook of no program": func() error {
			_, err := forger.Turn(t.Context(), mail.Turn{Moment: mail.TurnStart, Session: "s-lead"})
			return err
		},
		"a server of lead's program": func() error {
			_, err := forger.Register(t.Context(), mail.Presence{Session: "m", Process: lead, Join: true})
			return err
		},
		"a server that takes over": func() error {
			_, err := forger.Register(t.Context(), mail.Presence{Session: "m", Process: builder, TakeOver: true})
			return err
		},
		"a look":  func() error { _, err := forger.Inbox(t.Context(), mail.InboxQuery{}); return err },
		"a watch": func() error { _, err := forger.Watch(t.Context(), 0); return err },
		"an export": func() error {
			for _, err := range forger.Export(t.Context()) {
				return err
			}
			return nil
		},
		"a line": func() error {
			return o.Listen(below(t, "lead", builder), "a", "lead", mail.Listener{Door: mail.MonitorDoor}, 0,
				func(*mail.Rung) error { return nil })
		},
		"a bridge": func() error { _, err := forger.AddBridge(t.Context(), mail.Bridge{}); return err },
	} {
		if o.Far != nil && what == "a bridge" {
			continue // no one can add one there
		}
		if err := do(); mail.CodeOf(err) != mail.Denied {
			t.Errorf("%s as lead from within builder's session: %v", what, err)
		}
	}
	// Its own hook of that name remains a session of its own agent.
	if brief, err := forger.Turn(t.Context(), mail.Turn{Moment: mail.SessionStart, Session: "s2",
		Process: builder}); err != nil || brief.Agent != "builder-2" {
		t.Errorf("another session, which says that it is lead, is %+v, %v", brief, err)
	}
}

// MCP over the Unix socket makes the same check for every request: servers are shared by all callers of the same
// name.
func TestP5_InsideOverMCP(t *testing.T) {
	cfg := testConfig(t)
	o := newOffice(&cfg, slog.New(slog.DiscardHandler), rooms.NewMetrics())
	defer o.Set.Close()
	d := &daemon{office: o}
	d.gate = testGate(t, "pp-operator.ABCDEFGHIJKLMNOPQRSTUVWXYZ", &cfg, o)
	caller := func(name string, programs ...string) (mail.Caller, error) {
		r := httptest.NewRequest(http.MethodPost, "/mcp?room=a", nil)
		return entrance{d}.caller(r.WithContext(below(t, mail.Name(name), programs...)))
	}
	const builder = "20.1@b"
	svc, err := o.Room(below(t, "builder", builder), "a", "builder")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := svc.Turn(t.Context(), mail.Turn{Moment: mail.SessionStart, Session: "s",
		Process: builder}); err != nil {
		t.Fatal(err)
	}
	if c, err := caller("lead"); err != nil || c.Name != "lead" { // a person's program
		t.Errorf("outside: %+v, %v", c, err)
	}
	if c, err := caller("lead", builder); mail.CodeOf(err) != mail.Denied {
		t.Errorf("inside, as lead: %+v, %v", c, err)
	}
	for _, name := range []mail.Name{"builder", "new"} {
		if c, err := caller(string(name), builder); err != nil || c.Name != name {
			t.Errorf("inside, as %s: %+v, %v", name, c, err)
		}
	}
	list, err := mail.Roster(t.Context(), svc)
	if err != nil || len(list) != 3 || list[2].Name != "new" || list[2].Parent != "builder" {
		t.Errorf("the roster: %+v, %v", list, err)
	}
}
