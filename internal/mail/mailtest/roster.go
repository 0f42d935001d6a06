package mailtest

import (
	"strings"

	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pennypost/internal/mail"
)

func registerAndSessions(s *suite) {
	task := "parsing"
	got, err := s.as("ann").Register(s.ctx, mail.Presence{Roles: []string{"builder", "builder"},
		Tags: []string{"project:x"}, State: mail.Working, Task: &task, Client: "test/1", Session: "s1"})
	if err != nil {
		s.Fatal(err)
	}
	want := mail.Agent{Name: "ann", Roles: []string{"builder"}, Tags: []string{"project:x"}, State: mail.Working,
		Task: task, Client: "test/1", Session: "s1"}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(mail.Agent{}, "Since", "Registered", "Seen")); diff != "" {
		s.Errorf("registered (-want +got):\n%s", diff)
	}
	second, err := s.as("ann").Register(s.ctx, mail.Presence{Session: "s2"})
	if err != nil || second.Name != "ann-2" {
		s.Errorf("a second session got %q, %v; want ann-2", second.Name, err)
	}
	if again, err := s.as("ann-2").Register(s.ctx, mail.Presence{Session: "s2"}); err != nil || again.Name != "ann-2" {
		s.Errorf("its heartbeat got %q, %v", again.Name, err)
	}
	third, err := s.as("ann").Register(s.ctx, mail.Presence{Session: "s3", TakeOver: true})
	if err != nil || third.Name != "ann" {
		s.Errorf("taking over got %q, %v; want ann", third.Name, err)
	}
	if evicted, err := s.as("ann").Register(s.ctx, mail.Presence{Session: "s1"}); err != nil || evicted.Name == "ann" {
		s.Errorf("the evicted session got %q, %v", evicted.Name, err)
	}
	if ended, err := s.as("ann").Register(s.ctx, mail.Presence{Session: "s3", End: true}); err != nil ||
		ended.State != mail.Gone || ended.Session != "" {
		s.Errorf("after the end: %+v, %v; want gone", ended, err)
	}
	if fresh, err := s.as("ann").Register(s.ctx, mail.Presence{Session: "s4"}); err != nil || fresh.Name != "ann" ||
		fresh.State != mail.Idle || len(fresh.Roles) != 1 {
		s.Errorf("the next session: %+v, %v; want ann with its role", fresh, err)
	}
	if outside, err := s.as(mail.User).Register(s.ctx, mail.Presence{Name: "ann"}); err != nil ||
		outside.Name == "ann" {
		s.Errorf("the name of a live session was shared: %+v, %v", outside, err)
	}
	_, err = s.as(mail.User).Register(s.ctx, mail.Presence{Name: "nobody", Update: true})
	s.wantCode(err, mail.NotFound)
	for _, bad := range []mail.Presence{{Name: "user"}, {Name: "all"}, {Name: "agent:x"}, {Name: " x"}, {Name: "a\nb"},
		{Name: "x", Tags: []string{"foo:bar"}}, {Name: "x", Roles: []string{"a:b"}}, {Name: "x", State: "asleep"}} {
		if _, err := s.as(mail.User).Register(s.ctx, bad); err == nil {
			s.Errorf("Register(%+v) succeeded", bad)
		}
	}
}

func renameAndRetire(s *suite) {
	s.register("ann", "builder")
	s.register("bea")
	s.send("bea", mail.Draft{To: mail.Recipients{"ann"}, Body: "one"})
	if a, err := s.as(mail.User).Rename(s.ctx, "ann", "anna"); err != nil || a.Name != "anna" || a.Unread != 1 {
		s.Fatalf("Rename = %+v, %v", a, err)
	}
	s.send("bea", mail.Draft{To: mail.Recipients{"ann"}, Body: "two"}) // the old name still leads there
	s.wantBodies("anna", "one", "two")
	_, err := s.as(mail.User).Rename(s.ctx, "anna", "bea")
	s.wantCode(err, mail.Conflict)
	_, err = s.as("bea").Rename(s.ctx, "anna", "x")
	s.wantCode(err, mail.Denied)
	if err := s.as(mail.User).Retire(s.ctx, "anna"); err != nil {
		s.Fatal(err)
	}
	roster, err := mail.Roster(s.ctx, s.as(mail.User))
	if err != nil || len(roster) != 1 || roster[0].Name != "bea" {
		s.Errorf("roster after retiring: %+v, %v", roster, err)
	}
	_, err = s.as("bea").Send(s.ctx, mail.Draft{To: mail.Recipients{"anna"}, Body: "three"})
	s.wantCode(err, mail.NotFound)
	page, err := s.as(mail.User).History(s.ctx, mail.HistoryQuery{})
	if err != nil || len(page.Messages) != 2 {
		s.Fatalf("history: %+v, %v", page, err)
	}
	if d := s.delivery(page.Messages[0].ID, "anna"); d.State != mail.Dead {
		s.Errorf("mail of a retired agent is %s, want dead", d.State)
	}
}

func rosterPages(s *suite) {
	for _, n := range []mail.Name{"dan", "bea", "ann", "cid"} {
		s.register(n, "builder", "project:shop")
	}
	s.register("eve", "scout")
	for _, n := range []mail.Name{"w-10", "w-9", "w-2", "w-1"} {
		s.register(n, "project:count")
	}
	if _, err := s.as(mail.User).Register(s.ctx, mail.Presence{Name: "cid", Update: true, State: mail.Gone,
		Task: new("Paint the DOOR")}); err != nil {
		s.Fatal(err)
	}
	for _, c := range []struct {
		q     mail.RosterQuery
		want  string
		total int
		more  bool
	}{
		{mail.RosterQuery{}, "ann bea cid dan eve w-1 w-2 w-9 w-10", 9, false},
		{mail.RosterQuery{Limit: 2}, "ann bea", 9, true},
		{mail.RosterQuery{Limit: 2, After: "bea"}, "cid dan", 9, true},
		{mail.RosterQuery{Limit: 4, After: "dan"}, "eve w-1 w-2 w-9", 9, true},
		{mail.RosterQuery{Limit: 4, After: "w-9"}, "w-10", 9, false},
		{mail.RosterQuery{States: []mail.State{mail.Idle, mail.Working}, Limit: 3}, "ann bea dan", 8, true},
		{mail.RosterQuery{Tag: "project:count"}, "w-1 w-2 w-9 w-10", 4, false},
		{mail.RosterQuery{Role: "builder", States: []mail.State{mail.Gone}}, "cid", 1, false},
		{mail.RosterQuery{Tag: "project:shop", After: "ann"}, "bea cid dan", 4, false},
		{mail.RosterQuery{Search: "door"}, "cid", 1, false},
		{mail.RosterQuery{Search: "SCOUT"}, "eve", 1, false},
		{mail.RosterQuery{Search: "nothing"}, "", 0, false},
		{mail.RosterQuery{Name: "bea"}, "bea", 1, false},
		{mail.RosterQuery{Name: "bea", Role: "scout"}, "", 0, false},
		{mail.RosterQuery{Name: "nobody"}, "", 0, false},
	} {
		page, err := s.as(mail.User).Agents(s.ctx, c.q)
		if err != nil {
			s.Fatal(err)
		}
		var names []string
		for _, a := range page.Agents {
			names = append(names, string(a.Name))
		}
		if got := strings.Join(names, " "); got != c.want || page.Total != c.total || page.More != c.more ||
			page.More && string(page.Next) != names[len(names)-1] {
			s.Errorf("Agents(%+v) = %s, %d in all, more %t after %q; want %s, %d, %t", c.q, got, page.Total, page.More,
				page.Next, c.want, c.total, c.more)
		}
		if c.q.Role == "builder" && (page.States[mail.Gone] != 1 || page.States[mail.Idle] != 3) {
			s.Errorf("the builders are counted as %v", page.States)
		}
	}
	for _, q := range []mail.RosterQuery{{Limit: mail.MaxLimit + 1}, {Limit: -1}, {States: []mail.State{"asleep"}}} {
		_, err := s.as(mail.User).Agents(s.ctx, q)
		s.wantCode(err, mail.Invalid)
	}
}

func token(s *suite) {
	s.register("ann")
	one, err := s.as(mail.User).Token(s.ctx, "ann")
	if err != nil {
		s.Fatal(err)
	}
	two, err := s.as(mail.User).Token(s.ctx, "ann")
	if err != nil || one == two || len(two) < 30 {
		s.Errorf("tokens %q and %q, %v", one, two, err)
	}
	if guests, err := s.as(mail.User).GuestToken(s.ctx, "ann"); err != nil || !strings.HasPrefix(guests, "pp-guest.") {
		s.Errorf("a guest's token is %q, %v", guests, err)
	}
	_, err = s.as(mail.User).Token(s.ctx, "nobody")
	s.wantCode(err, mail.NotFound)
}

func erase(s *suite) {
	s.register("ann")
	s.register("bea")
	id := s.send("ann", mail.Draft{To: mail.Recipients{"bea"}, Body: "secret"}).ID
	s.send("ann", mail.Draft{To: mail.Recipients{"bea"}, Body: "kept"})
	s.wantCode(s.as("ann").Erase(s.ctx, id), mail.Denied)
	if err := s.as(mail.User).Erase(s.ctx, id); err != nil {
		s.Fatal(err)
	}
	s.wantBodies("bea", "kept")
	_, err := s.as(mail.User).Message(s.ctx, id)
	s.wantCode(err, mail.NotFound)
	s.wantCode(s.as(mail.User).Erase(s.ctx, id), mail.NotFound)
}

func exportImport(s *suite) {
	s.register("ann")
	s.register("bea")
	id := s.send("ann", mail.Draft{To: mail.Recipients{"bea"}, Subject: "s", Body: "one",
		Metadata: mail.Metadata(`{"k":1}`)}).ID
	s.mark("bea", mail.MarkRead, id)
	s.send("bea", mail.Draft{To: mail.Recipients{"ann", "user"}, Body: "two", ReplyTo: id})
	items := s.export(s.as(mail.User))
	if len(items) != 2 || len(items[0].Deliveries) != 1 || items[0].Deliveries[0].State != mail.Read {
		s.Fatalf("exported %+v", items)
	}
	other, err := s.office.Room(s.ctx, "other", mail.User)
	if err != nil {
		s.Fatal(err)
	}
	for i, want := range []mail.Imported{{Added: 2}, {Skipped: 2}} {
		if got, err := other.Import(s.ctx, items); err != nil || got != want {
			s.Errorf("import %d = %+v, %v; want %+v", i+1, got, err, want)
		}
	}
	ignore := cmpopts.IgnoreFields(mail.Item{}, "Seq", "Expires")
	state := cmpopts.IgnoreFields(mail.Delivery{}, "At", "State", "Wake") // the other room has no such agents
	if diff := cmp.Diff(items, s.export(other), ignore, state); diff != "" {
		s.Errorf("round trip (-exported +exported after import):\n%s", diff)
	}
	bad := items[0]
	bad.ID, bad.From = "x1", "ann"
	_, err = other.Import(s.ctx, []mail.Item{bad})
	s.wantCode(err, mail.Invalid, "agent:NAME")
	_, err = s.as("ann").Import(s.ctx, items)
	s.wantCode(err, mail.Denied)
}

func (s *suite) export(v mail.Service) []mail.Item {
	s.Helper()
	var out []mail.Item
	for it, err := range v.Export(s.ctx) {
		if err != nil {
			s.Fatal(err)
		}
		out = append(out, it)
	}
	return out
}

func status(s *suite) {
	s.register("ann")
	sent := s.send("ann", mail.Draft{To: mail.Recipients{"user"}, Body: "look"})
	st, err := s.as(mail.User).Status(s.ctx)
	if err != nil || st.Name != room || st.Seq < sent.Seq || st.Messages != 1 || st.Agents != 1 || st.Unread != 1 ||
		st.Last < s.inbox(mail.User, mail.InboxQuery{}).Messages[0].Sent {
		s.Errorf("Status = %+v, %v", st, err)
	}
	if v, err := s.as(mail.User).Verify(s.ctx); err != nil || len(v.Problems) != 0 {
		s.Errorf("Verify = %+v, %v", v, err)
	}
	if v, err := s.as(mail.User).Repair(s.ctx); err != nil || v.Repaired != 0 || len(v.Problems) != 0 {
		s.Errorf("Repair of a sound room = %+v, %v", v, err)
	}
	if _, err := s.as("ann").Repair(s.ctx); mail.CodeOf(err) != mail.Denied {
		s.Errorf("Repair by an agent = %v, want %s", err, mail.Denied)
	}
	if _, err := s.as(mail.User).Archive(s.ctx); err != nil {
		s.Errorf("Archive: %v", err)
	}
	if kept, err := s.as(mail.User).Status(s.ctx); err != nil || kept.Last != st.Last {
		s.Errorf("upkeep counts as news: last %s, before %s (%v)", kept.Last, st.Last, err)
	}
	s.wantBodies(mail.User, "look")
	rooms, err := s.office.Rooms(s.ctx)
	if err != nil || len(rooms) != 1 || rooms[0].Name != room {
		s.Errorf("Rooms = %+v, %v", rooms, err)
	}
}

var _ testing.TB = (*suite)(nil)
