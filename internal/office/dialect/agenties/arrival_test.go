package agenties

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pennypost/internal/mail"
)

// unread returns an agent's unread count on the roster, and the bodies that its tool shows.
func (b *fixture) unread(agent mail.Name) (int, []string) {
	b.T.Helper()
	a, _, err := mail.OneAgent(b.T.Context(), b.As(mail.User), agent)
	if err != nil {
		b.T.Fatal(err)
	}
	return a.Unread, b.bodies(agent, "")
}

// AG-25, AG-24: a message older than the document's retention is history when it arrives: unread, waking and open
// for no one, and still in its file until the post office starts again.
func TestOldLines(t *testing.T) {
	b := newFixture(t)
	if _, err := b.As(mail.User).Register(t.Context(), mail.Presence{Name: "orchestrator",
		Roles: []string{"orchestrator"}}); err != nil {
		t.Fatal(err)
	}
	line := func(id, typ, to string, age int, read bool) string {
		l := strings.Replace(aged(id, time.Duration(age)*day, read), `"custom"`, `"`+typ+`"`, 1)
		return strings.Replace(l, `"agent:ag_x1"`, `"`+to+`"`, 1)
	}
	var before string
	for i := range 40 {
		before += line(fmt.Sprintf("done_%02d", i), "task-done", "orchestrator", 30, false)
	}
	before += line("asked", "question", "orchestrator", 30, false) + line("role", "custom", "role:builder", 8, false) +
		line("direct", "custom", "agent:ag_x1", 8, false) + line("user", "custom", "user", 8, false) +
		line("was_read", "custom", "orchestrator", 8, true) + line("fresh", "task-done", "orchestrator", 6, false)
	b.write(mailboxFile, before)
	if st := b.Bridge(""); st.Imported != 46 || st.Failing != "" {
		t.Fatalf("%+v", st)
	}
	if n, bodies := b.unread("orchestrator"); n != 1 || len(bodies) != 1 || bodies[0] != "body of fresh" {
		t.Errorf("the orchestrator has %d unread: %q", n, bodies)
	}
	if n, bodies := b.unread("ag_x1"); n != 0 || len(bodies) != 0 {
		t.Errorf("ag_x1 has %d unread: %q", n, bodies)
	}
	b.Register("b1", "builder")
	if n, _ := b.unread("b1"); n != 0 {
		t.Errorf("who takes the role later has %d unread", n)
	}
	user, err := b.As(mail.User).Status(t.Context())
	if err != nil || user.Unread != 0 || user.Needs != 0 {
		t.Errorf("the user has %d unread, %d need them, %v", user.Unread, user.Needs, err)
	}
	waiting, err := b.As(mail.User).Waiting(t.Context(), mail.WaitingQuery{})
	if err != nil || len(waiting.Waiting) != 0 {
		t.Errorf("somebody waits: %+v, %v", waiting, err)
	}
	const history = `{"to":"orchestrator","unreadOnly":%v,"limit":100}`
	for unread, want := range map[bool]int{true: 1, false: 43} {
		got := ask[found](b, "orchestrator", "read_messages", fmt.Sprintf(history, unread))
		if len(got.Messages) != want {
			t.Errorf("unread only, %v: %d are shown, want %d", unread, len(got.Messages), want)
		}
	}
	if b.text(mailboxFile) != before {
		t.Errorf("the file has changed:\n%s", b.text(mailboxFile))
	}
	b.Stop()
	b.Start()
	b.Sync()
	if ids := b.ids(mailboxFile); len(ids) != 1 || ids[0] != "fresh" {
		t.Errorf("at the next start the file keeps %q", ids)
	}
	if n, _ := b.unread("orchestrator"); n != 1 {
		t.Errorf("after that %d are unread", n)
	}
}

// Mail sent here and then trimmed from its file is no longer unread, whatever its kind of recipient.
func TestTrimmedOfHere(t *testing.T) {
	b := newFixture(t)
	if _, err := b.As(mail.User).Register(t.Context(), mail.Presence{Name: "orchestrator",
		Roles: []string{"orchestrator"}}); err != nil {
		t.Fatal(err)
	}
	b.Bridge("")
	b.send("ag_x1", mail.TaskDone, "orchestrator", "")
	b.send("orchestrator", mail.Custom, "role:builder", "")
	b.Send("ag_x1", mail.Draft{To: mail.Recipients{"orchestrator"}, Type: "task-done", Body: "by another door"})
	b.Advance(6 * day)
	if n, _ := b.unread("orchestrator"); n != 2 {
		t.Errorf("after six days %d are unread", n)
	}
	b.Advance(day + 1e9)
	b.Stop()
	b.Start()
	b.Sync()
	if ids := b.ids(mailboxFile); len(ids) != 0 {
		t.Errorf("the file keeps %q", ids)
	}
	b.Register("b1", "builder")
	for _, who := range []mail.Name{"orchestrator", "b1"} {
		if n, bodies := b.unread(who); n != 0 || len(bodies) != 0 {
			t.Errorf("%s has %d unread: %q", who, n, bodies)
		}
	}
	if n := len(b.History()); n != 3 {
		t.Errorf("%d are in the history", n)
	}
}
