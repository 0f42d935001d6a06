package mailroom

import (
	"strings"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/room/check"
	"pennypost/internal/room/fold"
)

// placed returns the name that a session with a claim gets.
func placed(t *testing.T, room *Room, c check.Entrant) mail.Name {
	t.Helper()
	if c.Free == "" {
		c.Free = "claude-x"
	}
	c.Ask, c.Dir, c.Client = true, "/x", "claude"
	name, err := room.Place(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// cards returns the open questions of the post office to the user.
func cards(t *testing.T, room *Room) []mail.Item {
	t.Helper()
	page, err := room.As(mail.User).Inbox(t.Context(), mail.InboxQuery{Open: true, All: true})
	if err != nil {
		t.Fatal(err)
	}
	return page.Messages
}

func answer(t *testing.T, room *Room, means mail.Means, q mail.Item, says string) error {
	t.Helper()
	user, err := room.From(mail.User, check.Whence{Means: means})
	if err != nil {
		t.Fatal(err)
	}
	_, err = user.Send(t.Context(), q.Choose(mail.User, says))
	return err
}

// The person is asked once for whatever a session may not have without their word, and either answer is remembered,
// over a restart and compaction too.
func TestGrants(t *testing.T) {
	now := time.UnixMilli(1_000_000_000_000)
	room, _ := openRoom(t, "lab", Options{Now: func() time.Time { return now }})
	user := room.As(mail.User)
	for _, p := range []mail.Presence{{Name: "bob"}, {Name: "lead", Roles: []string{"orchestrator"}},
		{Name: "old", Roles: []string{"orchestrator"}}} {
		if _, err := user.Register(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	if err := user.Retire(t.Context(), "old"); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		what  string
		claim check.Entrant
		want  mail.Name
		cards int
	}{
		{"no name", check.Entrant{}, "claude-x", 0},
		{"a file, a free name", check.Entrant{Agent: "painter", File: true}, "painter", 0},
		{"and again", check.Entrant{Agent: "painter", File: true}, "painter", 0},
		{"a file, the orchestrator by the name", check.Entrant{Agent: "orchestrator", File: true}, "claude-x", 0},
		{"a file, the orchestrator", check.Entrant{Agent: "lead", File: true}, "claude-x", 0},
		{"a file, the orchestrator, which somebody allowed to enter",
			check.Entrant{Agent: "lead", File: true, Meant: true},
			"claude-x", 0},
		{"a file, an orchestrator that is retired", check.Entrant{Agent: "old", File: true}, "claude-x", 0},
		{"a file, a name that looks like one", check.Entrant{Agent: "usеr", File: true}, "claude-x", 0},
		{"a command line, somebody there", check.Entrant{Agent: "bob"}, "bob", 0},
		{"a command line, the orchestrator of before", check.Entrant{Agent: "lead"}, "lead", 0},
		{"a file, the orchestrator that this directory had before", check.Entrant{Agent: "lead", File: true,
			Held: true},
			"lead", 0},
		{"a command line, a retired orchestrator", check.Entrant{Agent: "old"}, "claude-x", 1},
		{"a command line, the orchestrator by the name", check.Entrant{Agent: "orchestrator"}, "claude-x", 2},
		{"and again", check.Entrant{Agent: "orchestrator"}, "claude-x", 2},
		{"a file, somebody there", check.Entrant{Agent: "bob", File: true}, "claude-x", 3},
		{"a file, another room", check.Entrant{Agent: "bob", File: true, Room: "work"}, "claude-x", 4},
	} {
		if got := placed(t, room, tt.claim); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.what, got, tt.want)
		}
		if got := cards(t, room); len(got) != tt.cards {
			t.Fatalf("%s: %d cards, want %d", tt.what, len(got), tt.cards)
		}
	}
	all := cards(t, room)
	for i, says := range []string{"Not", "Allow", "Allow", "Not"} {
		if err := answer(t, room, mail.ByPages, all[i], says); err != nil {
			t.Fatal(err)
		}
	}
	check := func(when string) {
		t.Helper()
		for _, tt := range []struct {
			claim check.Entrant
			want  mail.Name
		}{
			{check.Entrant{Agent: "old"}, "claude-x"}, {check.Entrant{Agent: "orchestrator"}, "orchestrator"},
			{check.Entrant{Agent: "bob", File: true}, "bob"},
			{check.Entrant{Agent: "bob", File: true, Room: "work"}, "claude-x"},
		} {
			if got := placed(t, room, tt.claim); got != tt.want {
				t.Errorf("%s, %+v: %s, want %s", when, tt.claim, got, tt.want)
			}
		}
		if got := cards(t, room); len(got) != 0 {
			t.Errorf("%s somebody asks again: %+v", when, got)
		}
		elsewhere := check.Entrant{Agent: "orchestrator", Free: "codex-y", Dir: "/y", Client: "codex"}
		if got, err := room.Place(t.Context(), elsewhere); got != "codex-y" || err != nil {
			t.Errorf("%s, in another directory the orchestrator is %s, %v", when, got, err)
		}
	}
	check("after the answers")
	if room.Allows(mail.Grant{Agent: "bob", Dir: "/x", Room: "work"}) || !room.Allows(mail.Grant{Agent: "bob",
		Dir: "/x"}) {
		t.Error("what was answered is not what is allowed")
	}
	now = now.Add(60 * 24 * time.Hour)
	if _, err := user.Archive(t.Context()); err != nil {
		t.Fatal(err)
	}
	check("after compaction")
	// Taking the role away takes the grant back.
	if _, err := room.As("orchestrator").Register(t.Context(), mail.Presence{}); err != nil {
		t.Fatal(err)
	}
	if _, err := user.Grant(t.Context(), mail.Grant{Agent: "bob", Role: "orchestrator"}); err != nil {
		t.Fatal(err)
	}
	roles := func() []string {
		t.Helper()
		a, _, err := mail.OneAgent(t.Context(), user, "bob")
		if err != nil {
			t.Fatal(err)
		}
		return a.Roles
	}
	if got := roles(); len(got) != 1 {
		t.Errorf("who was granted the role has %q", got)
	}
	for _, by := range []mail.Service{user, room.As("bob")} {
		if _, err := by.Register(t.Context(),
			mail.Presence{Name: "bob", Roles: []string{}, Update: true}); err != nil {
			t.Fatal(err)
		}
		if got := roles(); len(got) != 0 {
			t.Errorf("of whom it was taken has %q", got)
		}
	}
}

// A card is answered by the person's own act, by one of its two answers, and by no one else.
func TestGrantsNeedAnAct(t *testing.T) {
	room, _ := openRoom(t, "lab", Options{})
	placed(t, room, check.Entrant{Agent: "orchestrator"})
	q := cards(t, room)[0]
	if !strings.Contains(q.Subject, "claude in /x asks to be the orchestrator") || len(q.Choices()) != 2 {
		t.Errorf("the card: %+v", q)
	}
	for _, m := range []mail.Means{mail.ByScript, mail.ByButton, mail.ByRelay, mail.ByBridge} {
		if err := answer(t, room, m, q, allow); mail.CodeOf(err) != mail.Denied {
			t.Errorf("answered by %s: %v", m, err)
		}
		user, err := room.From(mail.User, check.Whence{Means: m})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := user.Grant(t.Context(), mail.Grant{Agent: "x"}); mail.CodeOf(err) != mail.Denied {
			t.Errorf("granted by %s: %v", m, err)
		}
	}
	mallory := room.As("mallory")
	if _, err := mallory.Send(t.Context(), mail.Draft{To: mail.Recipients{"user"}, Type: "answer", ReplyTo: q.ID,
		Body: allow}); mail.CodeOf(err) != mail.Denied {
		t.Errorf("answered by an agent: %v", err)
	}
	if _, err := mallory.Grant(t.Context(), mail.Grant{Agent: "mallory", Role: "orchestrator"}); mail.CodeOf(
		err) != mail.Denied {
		t.Errorf("granted by an agent: %v", err)
	}
	if err := answer(t, room, mail.ByPages, q, "yes, perhaps"); mail.CodeOf(err) != mail.Invalid {
		t.Errorf("answered in other words: %v", err)
	}
	if got := cards(t, room); len(got) != 1 {
		t.Fatalf("the card is settled: %+v", got)
	}
	if err := answer(t, room, mail.ByTerminal, q, allow); err != nil {
		t.Fatal(err)
	}
	list, err := room.As(mail.User).Grants(t.Context())
	if err != nil || len(list) != 1 || list[0].Answer == "" || list[0].Refused {
		t.Errorf("granted is %+v, %v", list, err)
	}
	// A disk may hold any number of repositories: the person is not asked without end.
	for i := range 2 * fold.MaxCards {
		room.Place(t.Context(), check.Entrant{Agent: "bob", Free: "f", File: true, Room: "work", Ask: true,
			Dir: "/d" + string(rune('a'+i))})
	}
	if got := cards(t, room); len(got) != fold.MaxCards {
		t.Errorf("%d cards wait", len(got))
	}
}
