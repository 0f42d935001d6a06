package room_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/office/web/room"
	"pennypost/internal/office/web/sitetest"
)

// nothingStuck is the page's text when nothing is stuck.
const nothingStuck = "Nothing is stuck."

func TestStuckNothing(t *testing.T) {
	b := newFixture(t)
	b.Get("/@shop/stuck").Want(t, http.StatusOK, nothingStuck, `aria-current="page" aria-keyshortcuts="g s"`)
	b.Register(mail.Presence{Name: "builder-1", State: mail.Working},
		mail.Presence{Name: "builder-2", State: mail.Idle})
	// it looks when its turn ends
	b.Send("builder-2", mail.Draft{To: mail.Recipients{"builder-1"}, Type: "question"})
	b.Send("builder-1", mail.Draft{To: mail.Recipients{"builder-2"}, Type: "status"})           // wakes no one
	b.Send("builder-1", mail.Draft{To: mail.Recipients{"user"}, Type: "question"})              // in the inbox
	b.Send("builder-1", mail.Draft{To: mail.Recipients{"project:none"}, Priority: "urgent"})    // no carriers
	read := b.Send("builder-3", mail.Draft{To: mail.Recipients{"builder-2"}, Type: "question"}) // read below
	_, err := b.As("builder-2").Mark(t.Context(), mail.Marking{IDs: []mail.ID{read}, Mark: mail.MarkRead})
	if err != nil {
		t.Fatal(err)
	}
	b.Register(mail.Presence{Name: "gone", State: mail.Gone})
	for _, to := range []string{"role:nobody", "gone"} { // withdrawn
		q := b.Send("builder-1", mail.Draft{To: mail.Recipients{to}, Type: "question"})
		if err := b.As("builder-1").Withdraw(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	b.Get("/@shop/stuck").Want(t, http.StatusOK, nothingStuck).Without(t, `data-count="stuck"`)
}

// stuckFixture is a room with stuck mail of most kinds.
func stuckFixture(t *testing.T) *fixture {
	b := newFixture(t)
	b.Register(
		mail.Presence{Name: "lead", State: mail.Working}, mail.Presence{Name: "idler", State: mail.Idle,
			Client: "claude-code/2.1"},
		mail.Presence{Name: "paused", State: mail.Idle}, mail.Presence{Name: "leaver", State: mail.Idle},
		mail.Presence{Name: "retired", State: mail.Idle},
	)
	b.Send("lead", mail.Draft{To: mail.Recipients{"idler"}, Type: "task-assigned", Subject: "For the idler"})
	b.Send("lead", mail.Draft{To: mail.Recipients{"paused"}, Type: "question", Subject: "For the paused"})
	b.Send("lead", mail.Draft{To: mail.Recipients{"leaver"}, Type: "task-assigned", Subject: "For the leaver"})
	b.Send("lead", mail.Draft{To: mail.Recipients{"leaver"}, Type: "question", Subject: "Once more for the leaver"})
	b.Send(mail.User, mail.Draft{To: mail.Recipients{"retired"}, Subject: "For the retired"})
	b.Send("lead", mail.Draft{To: mail.Recipients{"role:designer"}, Type: "review-request", Subject: "For a designer"})
	b.Register(mail.Presence{Name: "paused", State: mail.Frozen}, mail.Presence{Name: "leaver", State: mail.Gone})
	if err := b.As(mail.User).Retire(t.Context(), "retired"); err != nil {
		t.Fatal(err)
	}
	return b
}

func TestStuckKinds(t *testing.T) {
	b := stuckFixture(t)
	b.Get("/@shop/stuck").Want(t, http.StatusOK,
		"No agent has the role", "No agent has the role designer.", "For a designer", `action="/@shop/stuck/role"`,
		"Dead letters", "It has been gone since ", "For the leaver", "Once more for the leaver", "2 messages",
		"Tell the sender",
		"It is no longer on the roster", "For the retired", `action="/@shop/delete"`,
		"Not seen", "It has been idle since ", "cannot be woken", "For the idler", "pennypost install claude",
		"It has been paused since ", "For the paused", "Resume it",
		"5 things", `data-count="stuck">5</b>`, `<option value="lead">`,
		`href="/@shop/agents/leaver"`,
	).Without(t, `<option value="leaver">`, nothingStuck)
	part := b.Part("/@shop/stuck", "stuck-groups").Want(t, http.StatusOK, "For a designer")
	if strings.Contains(part.Body, "<html") || !strings.HasPrefix(part.Body, `<section id="stuck-groups"`) {
		t.Errorf("the part is %.200s", part.Body)
	}
	b.Get("/@shop/").Want(t, http.StatusOK, `data-count="stuck">5</b>`)
}

// TestStuckByTime tests which mail gets stuck by time alone.
func TestStuckByTime(t *testing.T) {
	inBubble(t, func(t *testing.T, b *fixture) {
		b.Register(mail.Presence{Name: "lead", State: mail.Working},
			mail.Presence{Name: "worker", State: mail.Working}, mail.Presence{Name: "other", State: mail.Working})
		b.Send("lead", mail.Draft{To: mail.Recipients{"worker"}, Type: "question", Subject: "Are you there?"})
		b.Send("lead", mail.Draft{To: mail.Recipients{"worker"}, TTLSeconds: 60, Subject: "Soon over"})
		seen := b.Send("lead", mail.Draft{To: mail.Recipients{"all"}, TTLSeconds: 60, Subject: "Heard by one"})
		b.Send("lead", mail.Draft{To: mail.Recipients{"all"}, TTLSeconds: 60, Subject: "Heard by nobody"})
		if _, err := b.As("other").Mark(t.Context(),
			mail.Marking{IDs: []mail.ID{seen}, Mark: mail.MarkRead}); err != nil {
			t.Fatal(err)
		}
		b.Get("/@shop/stuck").Want(t, http.StatusOK, nothingStuck)
		time.Sleep(2 * time.Minute)
		b.Get("/@shop/stuck").Want(t, http.StatusOK, "Expired unread", "Soon over", "Heard by nobody",
			"It was not read in time", "No recipient read it").Without(t, "Heard by one", "Are you there?")
		time.Sleep(15 * time.Minute)
		b.Get("/@shop/stuck").Want(t, http.StatusOK, "Are you there?", "It has been working since ",
			"looks when its turn ends")
	})
}

func TestStuckSendOn(t *testing.T) {
	b := stuckFixture(t)
	page := b.Get("/@shop/stuck")
	ids := formIDs(t, page.Body, "Once more for the leaver")
	if len(ids) != 2 {
		t.Fatalf("the form has the ids %v", ids)
	}
	form := url.Values{"id": ids, "to": {"lead"}}
	for range 2 { // pressing twice sends once
		got := b.Post("/@shop/stuck/again", form, sitetest.AsScript("form"))
		got.Want(t, http.StatusOK, "2 messages forwarded to lead")
		if got.Header.Get("HX-Retarget") != "#toasts" ||
			!strings.Contains(got.Header.Get("HX-Trigger"), "pp-resolved") {
			t.Errorf("the answer is %v", got.Header)
		}
	}
	inbox, err := b.As("lead").Inbox(t.Context(), mail.InboxQuery{})
	if err != nil || len(inbox.Messages) != 2 {
		t.Fatalf("%v %+v", err, inbox.Messages)
	}
	m := inbox.Messages[0]
	if m.From != mail.ToUser || m.Type != mail.TaskAssigned || m.Subject != "For the leaver" ||
		m.ReplyTo != mail.ID(ids[0]) ||
		!strings.HasPrefix(m.Body,
			"*Forwarded by the user: lead wrote it to leaver; it was not read.*\n\nSay what") {
		t.Errorf("%+v", m.Message)
	}
	b.Get("/@shop/stuck").Want(t, http.StatusOK, "4 things").Without(t, "Once more for the leaver")
	b.Post("/@shop/stuck/again", form).Want(t, http.StatusSeeOther)
	for _, bad := range []struct {
		form url.Values
		code int
	}{
		{url.Values{"id": ids}, 400}, {url.Values{"to": {"lead"}}, 400},
		{url.Values{"id": {"nothing"}, "to": {"lead"}}, 404}, {url.Values{"id": ids, "to": {"nobody-here"}}, 404},
		{url.Values{"id": {"\x00"}, "to": {"lead"}}, 404},
	} {
		if got := b.Post("/@shop/stuck/again", bad.form); got.Code < 400 || got.Code >= 500 {
			t.Errorf("%v: %d", bad.form, got.Code)
		}
	}
}

// formIDs returns the ids in the form below the message with a subject.
func formIDs(t *testing.T, page, subject string) []string {
	t.Helper()
	_, rest, ok := strings.Cut(page, subject)
	if !ok {
		t.Fatalf("%q is not on the page", subject)
	}
	form, _, _ := strings.Cut(rest, "</form>")
	var ids []string
	for _, part := range strings.Split(form, `name="id" value="`)[1:] {
		id, _, _ := strings.Cut(part, `"`)
		ids = append(ids, id)
	}
	return ids
}

func TestStuckTell(t *testing.T) {
	b := stuckFixture(t)
	ids := formIDs(t, b.Get("/@shop/stuck").Body, "Once more for the leaver")
	b.Post("/@shop/stuck/tell", url.Values{"id": ids}, sitetest.AsScript("form")).Want(t, http.StatusOK,
		"1 sender told")
	inbox, err := b.As("lead").Inbox(t.Context(), mail.InboxQuery{})
	if err != nil || len(inbox.Messages) != 2 || inbox.Messages[0].Subject != "Not read: For the leaver" ||
		inbox.Messages[0].Type != mail.Answer {
		t.Fatalf("%v %+v", err, inbox.Messages)
	}
	b.Get("/@shop/stuck").Without(t, "Once more for the leaver")
	mine := formIDs(t, b.Get("/@shop/stuck").Body, "For the retired")
	b.Post("/@shop/stuck/tell", url.Values{"id": mine}).Want(t, http.StatusBadRequest, "no sender was told")
}

func TestStuckRole(t *testing.T) {
	b := stuckFixture(t)
	b.Register(mail.Presence{Name: "lead", Roles: []string{"chief"}})
	for agent, want := range map[string]int{"": 404, "nobody": 404, "leaver": 409, "paused": 409} {
		if got := b.Post("/@shop/stuck/role", url.Values{"agent": {agent}, "role": {"designer"}}); got.Code != want {
			t.Errorf("the role for %q: %d, want %d", agent, got.Code, want)
		}
	}
	if got := b.Post("/@shop/stuck/role",
		url.Values{"agent": {"idler"}, "role": {"no role: <x>"}}); got.Code != http.StatusBadRequest {
		t.Errorf("a role that is none: %d", got.Code)
	}
	b.Post("/@shop/stuck/role", url.Values{"agent": {"lead"}, "role": {"designer"}}, sitetest.AsScript("form")).Want(t,
		http.StatusOK, "lead has the role designer")
	list, err := mail.Roster(t.Context(), b.As(mail.User))
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range list {
		if a.Name == "lead" && strings.Join(a.Roles, " ") != "chief designer" {
			t.Errorf("lead has the roles %v", a.Roles)
		}
	}
	b.Register(mail.Presence{Name: "idler", Roles: []string{"designer"}})
	b.Get("/@shop/stuck").Without(t, "No agent has the role")
}

func TestStuckThaw(t *testing.T) {
	b := stuckFixture(t)
	b.Post("/@shop/stuck/thaw", url.Values{"agent": {"nobody"}}).Want(t, http.StatusNotFound)
	b.Post("/@shop/stuck/thaw", url.Values{"agent": {"paused"}}, sitetest.AsScript("form")).Want(t, http.StatusOK,
		"paused resumed")
	b.Get("/@shop/stuck").Want(t, http.StatusOK, "For the paused").Without(t, "It has been paused", "Resume it")
}

// TestStuckNotices tests that a notice is listed under its kind until it no longer holds or is dismissed.
func TestStuckNotices(t *testing.T) {
	b := stuckFixture(t)
	ids := formIDs(t, b.Get("/@shop/stuck").Body, "For the idler")
	wake := func(messages, agent string) mail.Metadata {
		return mail.Metadata(`{"wake":{"agent":"` + agent + `","messages":["` + messages +
			`"],"doors":[{"door":"socket","answer":"connection refused <b>"}]}}`)
	}
	b.Send(mail.System, mail.Draft{Type: "custom", Subject: "idler cannot be woken", Metadata: wake(ids[0], "idler")})
	b.Send(mail.System, mail.Draft{Type: "custom", Subject: "somebody could not be woken",
		Metadata: wake("long-read", "x")})
	b.Send(mail.System, mail.Draft{Type: "custom", Subject: "paused is not woken for a while",
		Metadata: mail.Metadata(`{"wake_budget":{"agent":"paused","until":"2020-01-01T00:00:00Z"}}`)})
	b.Send(mail.System, mail.Draft{Type: "custom", Subject: "lead is not woken for a while",
		Metadata: mail.Metadata(`{"wake_budget":{"agent":"lead","until":"2190-01-01T00:00:00Z"}}`)})
	limit := b.Send(mail.System, mail.Draft{Type: "status", Subject: "A limit was reached",
		Body: "lead and idler answered each other 20 times."})
	b.Send("lead", mail.Draft{Subject: "A limit was reached by me", Metadata: wake(ids[0], "idler")})
	b.Get("/@shop/stuck").Want(t, http.StatusOK, "socket</span> <bdi>connection refused &lt;b&gt;",
		"Dismiss the notice", "Notices of the post office", "A limit was reached", "answered each other 20 times",
		"lead is not woken").
		Without(t, "somebody could not", "paused is not rung", "reached by me", ">idler cannot be woken")
	b.Post("/@shop/stuck/dismiss", url.Values{"id": {string(limit)}}, sitetest.AsScript("form")).Want(t, http.StatusOK,
		"Dismissed")
	b.Get("/@shop/stuck").Without(t, "answered each other")
	b.Post("/@shop/stuck/dismiss", url.Values{"id": ids}).Want(t, http.StatusBadRequest)
	b.Post("/@shop/stuck/dismiss", url.Values{"id": {"nothing"}}).Want(t, http.StatusNotFound)
}

// failingRoom is a room with failing bridges and a file with bad lines.
type failingRoom struct{ mail.Service }

func (failingRoom) Bridges(context.Context) ([]mail.BridgeStatus, error) {
	return []mail.BridgeStatus{
		{Bridge: mail.Bridge{ID: "haak", Dir: "/srv/<haak>"}, Failing: "permission denied", Since: 1},
		{Bridge: mail.Bridge{ID: "agenties", Dir: "/srv/a"}, Rejected: 2},
		{Bridge: mail.Bridge{ID: "sound", Dir: "/srv/b"}},
	}, nil
}

func (failingRoom) SyncBridge(_ context.Context, id string) (mail.BridgeStatus, error) {
	switch id {
	case "haak":
		return mail.BridgeStatus{Bridge: mail.Bridge{ID: id}, Failing: "permission denied"}, nil
	case "agenties":
		return mail.BridgeStatus{Bridge: mail.Bridge{ID: id}}, nil
	}
	return mail.BridgeStatus{}, mail.Errorf(mail.NotFound, "there is no bridge %s", id)
}

func (r failingRoom) Status(ctx context.Context) (mail.RoomStatus, error) {
	st, err := r.Service.Status(ctx)
	st.Rejected, st.Missing, st.Trouble = 3, 2, "the disk does not answer"
	st.Erasing = []mail.Erasing{{Message: "msg_secret", Machines: []mail.Machine{"tower"}}}
	return st, err
}

func (failingRoom) Verify(context.Context) (mail.Verification, error) {
	return mail.Verification{Files: 1, Lines: 9,
		Problems: []mail.Problem{{File: "mailbox.jsonl", Line: 4, Text: "it is <torn>"}}}, nil
}

func TestStuckFiles(t *testing.T) {
	b := newFixture(t)
	b.Office.Wrap = func(s mail.Service) mail.Service { return failingRoom{s} }
	b.Get("/@shop/stuck").Want(t, http.StatusOK, "permission denied. The files are in /srv/&lt;haak&gt;",
		"pennypost --room shop bridge sync haak", "2 pieces of its files cannot be understood",
		"3 lines set aside", "pennypost --room shop verify", "2 lines missing", "The room takes no mail",
		"the disk does not answer", "Not erased everywhere", "msg_secret", "on the disk of tower",
		"pennypost machines remove tower", "6 things").Without(t, "sound")
	sync := func(id string) sitetest.Answer {
		return b.Post("/@shop/stuck/sync", url.Values{"bridge": {id}}, sitetest.AsScript("form"))
	}
	sync("haak").Want(t, http.StatusOK, "haak still fails: permission denied")
	sync("agenties").Want(t, http.StatusOK, "agenties is in sync")
	sync("none").Want(t, http.StatusNotFound, "there is no bridge none")
	b.Post("/@shop/stuck/verify", nil, sitetest.AsScript("form")).Want(t, http.StatusOK, "1 bad line in 9 lines",
		"it is &lt;torn&gt;")
	b.Office.Wrap = nil
	b.Post("/@shop/stuck/verify", nil).Want(t, http.StatusSeeOther)
}

// TestStuckHostile tests that hostile names and mail appear as text.
func TestStuckHostile(t *testing.T) {
	b := newFixture(t)
	b.Register(mail.Presence{Name: "lead"})
	for _, n := range sitetest.HostileNames {
		b.Register(mail.Presence{Name: n, State: mail.Idle})
		b.Send(n, mail.Draft{To: mail.Recipients{"agent:" + string(n)}, Type: "question",
			Subject: `<img src=x onerror=alert(1)>`})
		b.Send("lead", mail.Draft{To: mail.Recipients{"agent:" + string(n)}, Type: "question",
			Subject: `" onclick="alert(1)`})
		b.Send(mail.System, mail.Draft{Subject: "<b>" + string(n), Body: "<script>alert(1)</script>"})
	}
	for _, path := range []string{"/@shop/stuck", "/@shop/palette", "/@shop/palette?q=a",
		`/@shop/palette?q=%3Cscript%3E%22`} {
		got := b.Get(path).Want(t, http.StatusOK)
		tags, err := sitetest.Scan(got.Body)
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		for _, tag := range tags {
			for name := range tag.Attrs {
				if strings.HasPrefix(name, "on") || tag.Name == "img" || tag.Name == "b" && tag.Attrs["class"] == "" {
					t.Errorf("%s: <%s %v>", path, tag.Name, tag.Attrs)
				}
			}
		}
		got.Without(t, "<script>alert", "<img")
	}
	for _, n := range sitetest.HostileNames {
		b.Register(mail.Presence{Name: n, State: mail.Gone})
	}
	b.Get("/@shop/stuck").Want(t, http.StatusOK, "Dead letters").Without(t, "<script>alert", "<img")
}

// TestTallies tests that a room is counted after changes, and less often if counting is slow.
func TestTallies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ts room.Tallies
		counted := 0
		count := func(took time.Duration) func() int {
			return func() int { counted++; time.Sleep(took); return counted }
		}
		for _, c := range []struct {
			what string
			wait time.Duration
			room mail.RoomName
			seq  mail.Seq
			want int
		}{
			{"the first", 0, "a", 1, 1}, {"the same", 0, "a", 1, 1}, {"later", room.TallyAge - 1, "a", 1, 1},
			{"much later", 1, "a", 1, 2}, {"a change", 0, "a", 2, 3}, {"another room", 0, "b", 2, 4},
			{"the first again", 0, "a", 2, 3},
		} {
			time.Sleep(c.wait)
			if got := ts.Get(c.room, c.seq, count(0)); got != c.want {
				t.Errorf("%s: %d, want %d", c.what, got, c.want)
			}
		}
		ts.Forget("a")
		if got := ts.Get("a", 2, count(10*room.TallyFree)); got != 5 {
			t.Errorf("forgotten: %d", got)
		}
		if got := ts.Get("a", 3, count(0)); got != 5 {
			t.Errorf("counting was slow: %d", got)
		}
		time.Sleep(200 * room.TallyFree)
		if got := ts.Get("a", 3, count(0)); got != 6 {
			t.Errorf("some time after counting was slow: %d", got)
		}
	})
}

// TestStuckAsking tests that an agent at its client's dialog is stuck even if no mail waits for it.
func TestStuckAsking(t *testing.T) {
	b := newFixture(t)
	svc := b.As("asker")
	if _, err := svc.Turn(t.Context(), mail.Turn{Moment: mail.TurnStart, Session: "s1"}); err != nil {
		t.Fatal(err)
	}
	if err := svc.Dialog(t.Context(), mail.DialogChange{Session: "s1", Dialog: mail.Dialog{ID: "d-1",
		Kind: mail.AsksPermission, Tool: "Bash", Sum: strings.Repeat("0f", 32)}}); err != nil {
		t.Fatal(err)
	}
	b.Get("/@shop/stuck").Want(t, http.StatusOK, "Asking you", "since ", `href="/@shop/agents/asker"`)
	b.Send("lead", mail.Draft{To: mail.Recipients{"asker"}, Type: "question", Subject: "Are you there?"})
	b.Get("/@shop/stuck").Want(t, http.StatusOK, "Are you there?")
}
