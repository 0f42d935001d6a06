package claudeteams

import (
	"crypto/rand"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"pennypost/internal/base/confined"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

// leadSession is the lead's session in teams of newHQ.
const leadSession = "e515c65f-bc9c-4dec-b8ca-3b8d75e127b7"

// begin makes an agent's hooks report a session.
func (h *hq) begin(name mail.Name, session string) mail.Briefing {
	h.t.Helper()
	b, err := h.As(name).Turn(h.t.Context(), mail.Turn{Moment: mail.SessionStart, Session: session, Client: client})
	if err != nil {
		h.t.Fatal(err)
	}
	return b
}

// The lead is its session's agent, even if the bridge existed before the session was known.
func TestLeadIsItsSession(t *testing.T) {
	h := newHQ(t, "alpha")
	h.put("team-lead", entry{From: "reviewer", Text: "before", Timestamp: at(1)})
	h.Bridge("")
	wantDiff(t, []string{"before"}, h.bodies("team-lead"))
	h.begin("claude-shop", leadSession)
	h.put("team-lead", entry{From: "reviewer", Text: "before", Timestamp: at(1)},
		entry{From: "reviewer", Text: "after", Timestamp: at(2)})
	h.put("tester", entry{From: "team-lead", Text: "look", Timestamp: at(3)})
	h.Sync()
	wantDiff(t, []string{"before", "after"}, h.bodies("claude-shop"))
	if from := h.item("look").From; from != "agent:claude-shop" {
		t.Errorf("the lead signs as %s", from)
	}
	roster := strings.Join(h.agents(), "; ")
	if !strings.Contains(roster, "claude-shop idle [team-lead] [project:alpha]") ||
		strings.Contains(roster, "team-lead gone") {
		t.Errorf("the roster is %s", roster)
	}
	sent, err := h.As("reviewer").Send(t.Context(), mail.Draft{To: mail.Recipients{"team-lead"}, Body: "later"})
	if err != nil || sent.Recipients[0].Agent != "claude-shop" || sent.Recipients[0].State != mail.Queued {
		t.Errorf("mail to team-lead is told to be %+v, %v", sent.Recipients, err)
	}
}

// Each message reaches a member one way: mail within the team through its files, and mail from outside through the
// hooks of a member that has a session, else through its inbox.
func TestOneWay(t *testing.T) {
	h := newHQ(t, "alpha")
	h.Register("codex")
	h.Bridge("")
	h.begin("reviewer", "s-reviewer")
	h.Advance(time.Second)
	inside := entry{From: "tester", Text: "from inside", Timestamp: at(1)}
	h.put("reviewer", inside)
	h.Sync()
	send := func(to, body string) mail.Item {
		h.Send("codex", mail.Draft{To: mail.Recipients{to}, Type: "question", Body: body})
		h.Sync()
		return h.item(body)
	}
	state := func(it mail.Item, want mail.DeliveryState, door string) {
		t.Helper()
		if d := it.Deliveries[0]; d.State != want || d.Door != door {
			t.Errorf("%q is %+v, want %s by %q", it.Body, d, want, door)
		}
	}
	state(h.item("from inside"), mail.Notified, mail.InboxDoor)
	state(send("reviewer", "to a session"), mail.Queued, "")
	state(send("tester", "to an inbox"), mail.Notified, mail.InboxDoor)
	if strings.Contains(h.read(h.inbox("reviewer")), "to a session") ||
		!strings.Contains(h.read(h.inbox("tester")), "to an inbox") {
		t.Error("an inbox has what it should not have, or has not what it should have")
	}
	b, err := h.As("reviewer").Turn(t.Context(), mail.Turn{Moment: mail.TurnStart, Session: "s-reviewer"})
	if err != nil || len(b.Items) != 1 || b.Items[0].Body != "to a session" {
		t.Errorf("the hook is to tell %+v, %v", b.Items, err)
	}
	// When the team is gone, its undelivered mail is ordinary mail.
	if err := os.RemoveAll(h.Dir); err != nil {
		t.Fatal(err)
	}
	h.Sync()
	state(h.item("from inside"), mail.Queued, "")
}

// TestHookedLead: a lead whose hooks report its session immediately gets in its inbox the mail that does not wake
// it, as a lead without hooks does, and its hooks stay silent about it. An entry left unread for too long is taken
// back, and the hooks report it, even after a restart.
func TestHookedLead(t *testing.T) {
	h := newHQ(t, "alpha")
	h.Register("codex")
	h.begin("claude-shop", leadSession)
	h.Bridge("")
	h.Advance(time.Second)
	h.Sync()
	send := func(body string) mail.Item {
		t.Helper()
		h.Send("codex", mail.Draft{To: mail.Recipients{"claude-shop"}, Type: "status", Body: body})
		h.Sync()
		if !strings.Contains(h.read(h.inbox("team-lead")), body) {
			t.Errorf("the lead's inbox is without %q", body)
		}
		if d := h.item(body).Deliveries[0]; d.State != mail.Notified || d.Door != mail.InboxDoor {
			t.Errorf("%q is %+v", body, d)
		}
		return h.item(body)
	}
	send("half of it is done")
	b, err := h.As("claude-shop").Turn(t.Context(), mail.Turn{Moment: mail.TurnStart, Session: leadSession})
	if err != nil || len(b.Items) != 0 || len(b.Counted) != 0 {
		t.Errorf("the hooks tell %+v, %v", b, err)
	}
	h.swap(h.inbox("team-lead"), "[]") // as after Claude Code delivers it
	h.Sync()
	if d := h.item("half of it is done").Deliveries[0]; d.State != mail.Read {
		t.Errorf("what was handed over is %+v", d)
	}

	send("all of it is done")
	h.Advance(inboxPatience)
	h.Sync()
	if d := h.item("all of it is done").Deliveries[0]; d.State != mail.Queued {
		t.Errorf("what was taken back is %+v", d)
	}
	wantDiff(t, "[]", h.read(h.inbox("team-lead")))
	h.Stop()
	h.Start()
	h.Sync()
	if d := h.item("all of it is done").Deliveries[0]; d.State != mail.Queued {
		t.Errorf("after a restart, what was taken back is %+v", d)
	}
}

// TestInboxIsAWay: the sender of mail to a member whose client shows it its inbox is told so. A member with a
// session of its own, or whose team is gone, has no such way.
func TestInboxIsAWay(t *testing.T) {
	h := newHQ(t, "alpha")
	h.Register("codex")
	h.Bridge("")
	h.begin("reviewer", "s-reviewer")
	h.Sync()
	wants := func(to mail.Name, inbox bool) {
		t.Helper()
		sent, err := h.As("codex").Send(t.Context(), mail.Draft{To: mail.Recipients{string(to)}, Type: "question",
			Body: rand.Text()})
		if err != nil || len(sent.Recipients) != 1 || (sent.Recipients[0].Wake == mail.InboxDoor) != inbox {
			t.Errorf("the sender to %s is told %+v, %v", to, sent.Recipients, err)
		}
		h.Sync()
	}
	wants("tester", true)
	wants("reviewer", false)
	if err := os.RemoveAll(h.Dir); err != nil {
		t.Fatal(err)
	}
	h.Sync()
	wants("tester", false)
}

// TestVanishesWhileRead: an inbox that vanishes between listing and reading was not read. One that returns without
// an entry proves that the entry was read.
func TestVanishesWhileRead(t *testing.T) {
	h := newHQ(t, "alpha")
	h.put("tester", entry{From: "reviewer", Text: "unread", Timestamp: at(1)})
	opened, err := open(dialect.FilesOptions{Dir: confined.At(h.Dir), State: t.TempDir(), Service: h.As(mail.User),
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	f := opened.(*files)
	if news, err := f.Read(t.Context()); err != nil || len(news.Items) != 1 {
		t.Fatalf("the files say %+v, %v", news, err)
	}
	look := func() []mail.Receipt {
		b := f.box("tester")
		if err := b.load(); err != nil {
			t.Fatal(err)
		}
		var n dialect.News
		f.compare(t.Context(), b, &n)
		return n.Receipts
	}
	if err := os.Remove(h.inbox("tester")); err != nil {
		t.Fatal(err)
	}
	if got := look(); len(got) != 0 {
		t.Errorf("of an inbox that has just gone the files say %+v", got)
	}
	h.put("tester")
	if got := look(); len(got) != 1 || got[0].Mark != mail.MarkRead {
		t.Errorf("of an inbox from which an entry was taken the files say %+v", got)
	}
}
