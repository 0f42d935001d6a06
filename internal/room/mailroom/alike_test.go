package mailroom

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pennypost/internal/mail"
)

// No one comes onto the roster under a name that a person takes for another's: not by registering, nor by a first
// message, a first turn or a new name. The content of foreign files is taken as it is.
func TestP5_AlikeNames(t *testing.T) {
	room, _ := openRoom(t, "lab", Options{})
	user := room.As(mail.User)
	for _, n := range []mail.Name{"ann", "小克", "ﬁn", "ｗide", "👩‍💻"} {
		if _, err := user.Register(t.Context(), mail.Presence{Name: n}); err != nil {
			t.Fatal(err)
		}
	}
	for bad, want := range map[mail.Name]mail.Code{
		"carol@lab": mail.Invalid, "far:carol": mail.Invalid,
		"us\u200der": mail.Invalid, "user\u034f": mail.Invalid, "\u115fuser": mail.Invalid, "us\u00ader": mail.Invalid,
		"user\U000e0041": mail.Invalid,
		"USER":           mail.Denied, "User": mail.Denied, "uѕer": mail.Denied, "υser": mail.Denied,
		"ｕｓｅｒ": mail.Denied,
		"ᴜꜱᴇʀ": mail.Denied, "𝓾𝓼𝓮𝓻": mail.Denied,
		"System": mail.Denied, "ѕуѕtем": mail.Denied, "systern": mail.Denied, "Orchestrator": mail.Denied,
		"0rchestrator": mail.Denied, "οrchestrator": mail.Denied,
		"ALL": mail.Denied, "aІl": mail.Denied, "aII": mail.Denied, "Broadcast": mail.Denied, "brоadcast": mail.Denied,
		"fin": mail.Conflict, "wiԁe": mail.Conflict, "ᴡide": mail.Conflict, "wіde": mail.Conflict,
		"ꓢystem":       mail.Denied,
		"ᴏrchestrator": mail.Denied,
		"wide":         mail.Conflict, "👩💻": mail.Conflict, "a\u200dnn": mail.Invalid,
	} {
		act := map[string]func() error{
			"register": func() error {
				_, err := user.Register(t.Context(), mail.Presence{Name: bad})
				return err
			},
			"say who it is": func() error {
				_, err := room.As(bad).Register(t.Context(), mail.Presence{})
				return err
			},
			"send": func() error {
				_, err := room.As(bad).Send(t.Context(), mail.Draft{To: mail.Recipients{"user"}, Body: "x"})
				return err
			},
			"begin a session": func() error {
				_, err := room.As(bad).Turn(t.Context(), mail.Turn{Moment: mail.SessionStart, Session: "s"})
				return err
			},
			"rename":        func() error { _, err := user.Rename(t.Context(), "ann", bad); return err },
			"rename itself": func() error { _, err := room.As("ann").Rename(t.Context(), "ann", bad); return err },
		}
		for what, do := range act {
			err := do()
			if code := mail.CodeOf(err); code != want {
				t.Errorf("%s %q: %v, want %s", what, bad, err, want)
			}
		}
	}
	if list, _ := mail.Roster(t.Context(), user); len(list) != 5 {
		t.Errorf("the roster is %+v", list)
	}
	for _, good := range []mail.Name{"Ann", "ANN", "annn", "user-1", "users", "ail", "a11", "小克 2", "ånn", "ørn",
		"orn", "orchestrator",
		"Wide"} {
		if _, err := user.Register(t.Context(), mail.Presence{Name: good}); err != nil {
			t.Errorf("register %q: %v", good, err)
		}
	}
	for _, foreign := range []mail.Name{"lead@team", "USER", "a\u200db", "Ⅸ"} {
		if _, err := room.ForFiles().Register(t.Context(), mail.Presence{Name: foreign}); err != nil {
			t.Errorf("a file's %q: %v", foreign, err)
		}
		if _, err := room.As(foreign).Send(t.Context(),
			mail.Draft{To: mail.Recipients{"user"}, Body: "x"}); err != nil {
			t.Errorf("%q sends: %v", foreign, err)
		}
	}
}

// Of names that cannot be told apart and are claimed at the same time, only one is given.
func TestP5_AlikeNamesAtOnce(t *testing.T) {
	room, _ := openRoom(t, "lab", Options{})
	errs := make(chan error)
	names := []mail.Name{"wide", "ｗide", "wｉde", "wiｄe", "widｅ", "ｗｉde", "ｗｉｄe", "ｗｉｄｅ"}
	for _, n := range names {
		go func() {
			_, err := room.As(n).Send(t.Context(), mail.Draft{To: mail.Recipients{"user"}, Body: "x"})
			errs <- err
		}()
	}
	given := 0
	for range names {
		switch err := <-errs; {
		case err == nil:
			given++
		case mail.CodeOf(err) != mail.Conflict:
			t.Error(err)
		}
	}
	if list, _ := mail.Roster(t.Context(), room.As(mail.User)); given != 1 || len(list) != 1 {
		t.Errorf("%d of %d were given: %+v", given, len(names), list)
	}
}

// A token agent renamed itself carol@lab, and the user's answer to the real carol of room lab went to it. Now the two
// are told apart, and an answer goes to the room.
func TestP5_FarSender(t *testing.T) {
	o := newOffice(t, Options{})
	ctx := t.Context()
	carol, _ := o.Room(ctx, "lab-1.ü", "carol")
	here, _ := o.Room(ctx, "home", mail.User)
	forger, _ := o.Room(ctx, "home", "forger")
	for _, v := range []mail.Service{carol, forger} {
		if _, err := v.Register(ctx, mail.Presence{}); err != nil {
			t.Fatal(err)
		}
	}
	if a, err := forger.Rename(ctx, "forger", "carol@lab-1.ü"); err == nil {
		t.Errorf("it is called %s", a.Name)
	}
	if _, err := carol.Send(ctx, mail.Draft{To: mail.Recipients{"user@home", "forger@home"},
		Body: "a question"}); err != nil {
		t.Fatal(err)
	}
	page, err := here.Inbox(ctx, mail.InboxQuery{From: "carol@lab-1.ü"})
	if err != nil || len(page.Messages) != 1 || page.Messages[0].From != "far:carol@lab-1.ü" {
		t.Fatalf("the user's inbox: %+v, %v", page, err)
	}
	it := page.Messages[0]
	user, _ := o.Room(ctx, "home", mail.User)
	for _, to := range []string{string(it.From), "carol@lab-1.ü", "agent:carol@lab-1.ü"} {
		if _, err := user.Send(ctx, mail.Draft{To: mail.Recipients{to}, Body: "to " + to,
			ReplyTo: it.ID}); err != nil {
			t.Errorf("to %s: %v", to, err)
		}
	}
	if p, err := carol.Inbox(ctx, mail.InboxQuery{}); err != nil || len(p.Messages) != 3 ||
		p.Messages[0].From != mail.ToUser {
		t.Errorf("carol's inbox: %+v, %v", p, err)
	}
	if p, err := forger.Inbox(ctx, mail.InboxQuery{}); err != nil || len(p.Messages) != 1 {
		t.Errorf("the forger's inbox: %+v, %v", p, err)
	}
	if _, err := forger.Send(ctx, mail.Draft{To: mail.Recipients{"far:carol@lab-1.ü"},
		Body: "to the sender, as it signs"}); err != nil {
		t.Error(err)
	}
	if _, err := carol.Send(ctx, mail.Draft{To: mail.Recipients{"forger@lab-1.ü@home"},
		Body: "through home and back"}); mail.CodeOf(err) != mail.NotFound {
		t.Errorf("mail goes on from room to room: %v", err)
	}
	if _, err := here.Import(ctx,
		[]mail.Item{{Message: mail.Message{ID: "x", From: "agent:a", To: []mail.Address{"far:b@lab"}, Body: "x",
			Sent: 1}}}); mail.CodeOf(err) != mail.Invalid {
		t.Errorf("mail for an agent of another room was imported: %v", err)
	}
	if _, err := here.Import(ctx,
		[]mail.Item{{Message: mail.Message{ID: "x", From: "far:b@lab", To: []mail.Address{"user"}, Body: "x",
			Sent: 1}}}); err != nil {
		t.Errorf("mail from another room was not imported: %v", err)
	}
}

// In earlier journals agents' names have '@', and senders of other rooms read as such agents. They replay, are shown
// unchanged, and no answer goes astray.
func TestP5_OldJournalNames(t *testing.T) {
	store := newStore(t)
	j := store.Open()
	at := mail.Time(1_700_000_000_000)
	for _, e := range []mail.Event{
		{Agent: &mail.AgentChange{Name: "carol@lab", Roles: []string{"builder"}}},
		{Agent: &mail.AgentChange{Name: "me@example"}},
		{Agent: &mail.AgentChange{Name: "uѕer"}},
		{Message: &mail.Message{ID: "far", From: "agent:carol@lab", To: []mail.Address{"user"},
			Body: "of the room lab, or of an agent here?"}},
		{Message: &mail.Message{ID: "ann", From: "agent:ann@lab", To: []mail.Address{"user"},
			Body: "of the room lab"}},
		{Message: &mail.Message{ID: "own", From: "agent:uѕer", To: []mail.Address{"user"}, Body: "of an agent"}},
	} {
		e.At = at
		if _, err := j.Append(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	lab, _ := openRoom(t, "lab", Options{})
	for _, n := range []mail.Name{"ann", "carol"} {
		if _, err := lab.As(n).Register(t.Context(), mail.Presence{}); err != nil {
			t.Fatal(err)
		}
	}
	room := reopen(t, store, "home", Options{
		Exists:    func(r mail.RoomName) bool { return r == "lab" },
		Elsewhere: func(_ context.Context, _ mail.RoomName, use func(*Room) error) error { return use(lab) },
	})
	defer room.Close()
	user := room.As(mail.User)
	page, err := user.Inbox(t.Context(), mail.InboxQuery{})
	if err != nil || len(page.Messages) != 3 || page.Messages[0].From != "agent:carol@lab" ||
		page.Messages[1].From != "agent:ann@lab" || page.Messages[2].From != "agent:uѕer" {
		t.Fatalf("the inbox: %+v, %v", page, err)
	}
	send := func(to string) error {
		_, err := user.Send(t.Context(), mail.Draft{To: mail.Recipients{to}, Body: "x"})
		return err
	}
	for to, want := range map[string]mail.Code{
		"agent:carol@lab": mail.Conflict, "carol@lab": mail.Conflict, // whose answer it would be is not known
		"me@example": "", "agent:me@example": "", "uѕer": "", // there is no such room
		"far:carol@lab": "", "agent:ann@lab": "",
	} {
		if err := send(to); mail.CodeOf(err) != want {
			t.Errorf("to %s: %v, want %q", to, err, want)
		}
	}
	for _, n := range []mail.Name{"ann", "carol"} {
		if page, err := lab.As(n).Inbox(t.Context(), mail.InboxQuery{}); err != nil || page.Unread != 1 {
			t.Errorf("%s of lab got %d messages, %v; want 1", n, page.Unread, err)
		}
	}
	for _, name := range []mail.Name{"carol@lab", "me@example", "uѕer"} { // an agent with such a name keeps it
		if _, err := room.As(name).Send(t.Context(), mail.Draft{To: mail.Recipients{"user"}, Body: "x"}); err != nil {
			t.Errorf("%q sends: %v", name, err)
		}
		if _, err := room.As(name).Register(t.Context(), mail.Presence{Task: new("x")}); err != nil {
			t.Errorf("%q registers: %v", name, err)
		}
	}
	if a, err := user.Rename(t.Context(), "carol@lab", "carla"); err != nil || a.Name != "carla" {
		t.Errorf("renamed to %+v, %v", a, err)
	}
	if p, err := user.History(t.Context(), mail.HistoryQuery{From: "agent:carol@lab"}); err != nil ||
		len(p.Messages) != 2 || p.Messages[0].ID != "far" {
		t.Errorf("history of the old name: %+v, %v", p, err)
	}
}

// The configuration makes an orchestrator, whatever act brings that agent, and again when it said that it is
// something else.
func TestP5_ConfiguredOrchestrator(t *testing.T) {
	for what, act := range map[string]func(v mail.Service) error{
		"registers": func(v mail.Service) error {
			_, err := v.Register(t.Context(), mail.Presence{Roles: []string{"planner"}})
			return err
		},
		"sends": func(v mail.Service) error {
			_, err := v.Send(t.Context(), mail.Draft{To: mail.Recipients{"user"}, Body: "x"})
			return err
		},
		"begins a session": func(v mail.Service) error {
			_, err := v.Turn(t.Context(), mail.Turn{Moment: mail.SessionStart, Session: "s"})
			return err
		},
	} {
		room, _ := openRoom(t, "lab", Options{Orchestrators: []mail.Name{"lead"}})
		for _, n := range []mail.Name{"lead", "ann"} {
			for range 2 {
				if err := act(room.As(n)); err != nil {
					t.Fatalf("%s %s: %v", n, what, err)
				}
			}
		}
		list, _ := mail.Roster(t.Context(), room.As(mail.User))
		if len(list) != 2 || slices.Contains(list[0].Roles, "orchestrator") ||
			!slices.Contains(list[1].Roles, "orchestrator") {
			t.Errorf("after it %s: %+v", what, list)
		}
	}
}

// A line in a file gives no one rights in the room.
func TestP5_FilesMakeNoOrchestrator(t *testing.T) {
	room, _ := openRoom(t, "lab", Options{})
	a, err := room.ForFiles().Register(t.Context(),
		mail.Presence{Name: "ann", Roles: []string{"architect", "orchestrator"}})
	if err != nil || !slices.Equal(a.Roles, []string{"architect"}) {
		t.Errorf("a file makes %+v, %v", a, err)
	}
	if _, err := room.As(mail.User).Register(t.Context(),
		mail.Presence{Name: "ann", Roles: []string{"orchestrator"}}); err != nil {
		t.Fatal(err)
	}
	if a, err := room.ForFiles().Register(t.Context(),
		mail.Presence{Name: "ann", Roles: []string{"orchestrator", "x"}}); err != nil ||
		!slices.Equal(a.Roles, []string{"x", "orchestrator"}) {
		t.Errorf("a file that says what the person said leaves %+v, %v", a, err)
	}
}

// TestP5_RenamedOntoNobody checks that an agent can take a name that no one bears or bore, and under which no mail
// waits.
func TestP5_RenamedOntoNobody(t *testing.T) {
	room, _ := openRoom(t, "lab", Options{})
	user := room.As(mail.User)
	for _, p := range []mail.Presence{{Name: "mallory"}, {Name: "led", Roles: []string{"orchestrator"}},
		{Name: "gone", State: mail.Gone}, {Name: "moved"}, {Name: "retired"}, {Name: "there"}} {
		if _, err := user.Register(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	_, err := user.Rename(t.Context(), "moved", "moved on")
	if err = errors.Join(err, user.Retire(t.Context(), "led"), user.Retire(t.Context(), "retired")); err != nil {
		t.Fatal(err)
	}
	for _, taken := range []mail.Name{"led", "gone", "moved", "moved on", "retired", "there"} {
		if a, err := room.As("mallory").Rename(t.Context(), "mallory", taken); mail.CodeOf(err) != mail.Conflict {
			t.Errorf("mallory becomes %s: %+v, %v", taken, a, err)
		}
	}
	if a, err := room.As("mallory").Rename(t.Context(), "mallory", "free"); err != nil || a.Name != "free" {
		t.Errorf("mallory becomes free: %+v, %v", a, err)
	}
}

// TestP12_NamesAreLookedUp checks that a new name is compared with those that look like it, and not with the whole
// roster: 20,000 registrations took quadratic time with that.
func TestP12_NamesAreLookedUp(t *testing.T) {
	room, _ := openRoom(t, "lab", Options{})
	check := func(when string, most float64) {
		t.Helper()
		got := testing.AllocsPerRun(10, func() {
			room.mu.RLock()
			defer room.mu.RUnlock()
			if err := room.state.CheckNew("新しい代理人", nil); err != nil {
				t.Error(err)
			}
		})
		if got > most {
			t.Errorf("%s, a name is checked with %v allocations, want at most %v", when, got, most)
		}
	}
	const few = 40
	check("on an empty roster", few)
	for i := range 500 {
		if _, err := room.As(mail.User).Register(t.Context(), mail.Presence{
			Name: mail.Name(fmt.Sprint("代理ｎｏ", i))}); err != nil {
			t.Fatal(err)
		}
	}
	check("on a roster of 500", few)
}
