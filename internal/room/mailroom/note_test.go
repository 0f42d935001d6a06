package mailroom

import (
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// In foreign systems anyone with a role may read its mail first. One reader gets it, and a later one has read
// nothing.
func TestNote_RoleMail(t *testing.T) {
	room, _ := openRoom(t, "lab", Options{})
	user := room.As(mail.User)
	for _, p := range []mail.Presence{{Name: "a", Roles: []string{"architect"}},
		{Name: "b", Roles: []string{"architect"}}, {Name: "c"}} {
		if _, err := user.Register(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	sent, err := user.Send(t.Context(), mail.Draft{To: mail.Recipients{"role:architect"}, Body: "x"})
	if err != nil {
		t.Fatal(err)
	}
	holder, other := sent.Recipients[0].Agent, mail.Name("b")
	if holder == "b" {
		other = "a"
	}
	for _, c := range []struct {
		reader mail.Name
		want   int
	}{{"c", 0}, {"stranger", 0}, {other, 1}, {other, 0}, {holder, 0}} {
		n, err := room.Note(t.Context(),
			[]mail.Receipt{{Message: sent.ID, Reader: mail.AgentAddress(c.reader), Mark: mail.MarkRead}})
		if err != nil || n != c.want {
			t.Errorf("%s reads: %d marks, %v, want %d", c.reader, n, err, c.want)
		}
	}
	it, err := user.Message(t.Context(), sent.ID)
	if err != nil || len(it.Deliveries) != 1 || it.Deliveries[0].Agent != other ||
		it.Deliveries[0].State != mail.Read {
		t.Errorf("deliveries: %+v, %v, want read by %s", it.Deliveries, err, other)
	}
	if p, err := room.As(holder).Inbox(t.Context(), mail.InboxQuery{}); err != nil || p.Unread != 0 {
		t.Errorf("%s still has %d unread, %v", holder, p.Unread, err)
	}
}

// Held role mail that someone in a foreign system reads belongs to that reader, and the rest of it still waits.
func TestNote_HeldRoleMail(t *testing.T) {
	room, _ := openRoom(t, "lab", Options{})
	user := room.As(mail.User)
	if _, err := user.Register(t.Context(), mail.Presence{Name: "c"}); err != nil {
		t.Fatal(err)
	}
	var ids []mail.ID
	for _, body := range []string{"x", "y", "z"} {
		sent, err := user.Send(t.Context(), mail.Draft{To: mail.Recipients{"role:builder"}, Body: body})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, sent.ID)
	}
	n, err := room.Note(t.Context(), []mail.Receipt{{Message: ids[1], Reader: "agent:c", Mark: mail.MarkRead}})
	if err != nil || n != 1 {
		t.Errorf("c reads: %d marks, %v, want 1", n, err)
	}
	if _, err := user.Register(t.Context(), mail.Presence{Name: "d", Roles: []string{"builder"}}); err != nil {
		t.Fatal(err)
	}
	p, err := room.As("d").Inbox(t.Context(), mail.InboxQuery{})
	if err != nil || len(p.Messages) != 2 || p.Messages[0].ID != ids[0] || p.Messages[1].ID != ids[2] {
		t.Errorf("d, who has the role, has %+v, %v, want the first and the last", p.Messages, err)
	}
}

// Erased messages do not come back from a foreign file.
func TestImportErased(t *testing.T) {
	room, _ := openRoom(t, "lab", Options{})
	user := room.As(mail.User)
	items := []mail.Item{{Message: mail.Message{ID: "x1", From: "agent:a", To: []mail.Address{"user"}, Body: "x",
		Sent: 1778421600000}}}
	for i, want := range []mail.Imported{{Added: 1}, {Skipped: 1}, {Skipped: 1}} {
		got, err := user.Import(t.Context(), items)
		if err != nil || got != want {
			t.Errorf("import %d: %+v, %v, want %+v", i, got, err, want)
		}
		if i == 1 {
			if err := user.Erase(t.Context(), "x1"); err != nil {
				t.Fatal(err)
			}
			if _, err := user.Archive(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// An export during which retention takes messages has them all, each once.
func TestExportDuringRetention(t *testing.T) {
	room, _ := openRoom(t, "lab", Options{Retention: policy.Retention{Count: 2},
		Limits: policy.Limits{RepeatWindow: -1}})
	user := room.As(mail.User)
	const n = 20
	for range n {
		if _, err := user.Send(t.Context(), mail.Draft{To: mail.Recipients{"user"}, Body: "x"}); err != nil {
			t.Fatal(err)
		}
		if len(seen(t, user, nil)) == n/2 { // half of them are in the archive before
			if _, err := user.Archive(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	got := seen(t, user, func() {
		if _, err := user.Archive(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if len(got) != n {
		t.Errorf("the export has %d messages, want %d", len(got), n)
	}
	for id, times := range got {
		if times != 1 {
			t.Errorf("%s comes %d times", id, times)
		}
	}
}

// seen exports a room and counts the ids; between runs after the first message.
func seen(t *testing.T, svc mail.Service, between func()) map[mail.ID]int {
	t.Helper()
	got := make(map[mail.ID]int)
	for it, err := range svc.Export(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if len(got) == 0 && between != nil {
			between()
		}
		got[it.ID]++
	}
	return got
}
