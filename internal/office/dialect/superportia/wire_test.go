package superportia

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
	"pennypost/internal/office/dialect/dialecttest"
)

// TestFixtures decodes the document's answers into our types and encodes them again.
func TestFixtures(t *testing.T) {
	again := func(t *testing.T, data []byte, v any) string {
		t.Helper()
		if err := jsonx.UnmarshalStrict(data, v); err != nil {
			t.Fatal(err)
		}
		out, err := jsonx.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	t.Run("SP-06 the answer to a send", func(t *testing.T) {
		data := fixture(t, "superportia-send-response.json")
		if diff := cmp.Diff(strings.TrimSpace(string(data)), again(t, data, new(sent))); diff != "" {
			t.Errorf("(-document +again):\n%s", diff)
		}
	})
	t.Run("SP-10 P1 the answer to a check, but for the body", func(t *testing.T) {
		data := fixture(t, "superportia-check-response.json")
		got := strings.Replace(again(t, data, new(listing)), `,"body":""`, "", 1)
		if diff := cmp.Diff(strings.TrimSpace(string(data)), got); diff != "" {
			t.Errorf("(-document +again):\n%s", diff)
		}
	})
}

func TestStatus(t *testing.T) {
	now := mail.TimeOf(dialecttest.Began)
	for name, c := range map[string]struct {
		silent time.Duration
		task   string
		state  mail.State
		want   string
	}{
		"P10 just seen":         {0, "", mail.Idle, statusOnline},
		"P10 with a task":       {0, "x", mail.Working, statusWorking},
		"P10 at the limit":      {15 * time.Minute, "", mail.Idle, statusOnline},
		"P10 past the limit":    {15*time.Minute + 1e6, "x", mail.Idle, statusOffline},
		"P10 not stale yet":     {24*time.Hour - 1e6, "x", mail.Idle, statusOffline},
		"P10 stale":             {24 * time.Hour, "x", mail.Idle, statusStale},
		"P10 stale wants tasks": {24 * time.Hour, "", mail.Idle, statusOffline},
		"at a dialog":           {0, "x", mail.Asking, statusWorking},
		"at a dialog, no task":  {0, "", mail.Asking, statusOnline},
		"P10 gone":              {0, "x", mail.Gone, statusOffline},
	} {
		t.Run(name, func(t *testing.T) {
			if got := statusOf(mail.Agent{Seen: now.Add(-c.silent), Task: c.task, State: c.state},
				now); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
	if got := statusOf(mail.Agent{Task: "x", State: mail.Idle}, now); got != statusOffline {
		t.Errorf("never seen: %s", got)
	}
}

func TestLetterOf(t *testing.T) {
	const ann, bob mail.Name = "ann", "bob"
	now := mail.TimeOf(dialecttest.Began)
	message := func(from mail.Address, to ...mail.Address) mail.Message {
		return mail.Message{ID: "msg_1", From: from, To: to, Body: "b", Sent: now.Add(-8 * 24 * time.Hour)}
	}
	by := func(n mail.Name, s mail.DeliveryState) []mail.Delivery {
		return []mail.Delivery{{Agent: n, State: s}}
	}
	for name, c := range map[string]struct {
		it                           mail.Item
		ok, read, archived, notKnown bool
	}{
		"hot, queued": {it: mail.Item{Message: message("agent:bob", "agent:ann"), State: mail.Queued},
			ok: true, notKnown: true},
		"hot, presented": {it: mail.Item{Message: message("agent:bob", "agent:ann"), State: mail.Presented},
			ok: true},
		"hot, dead": {it: mail.Item{Message: message("agent:bob", "agent:ann"), State: mail.Dead},
			ok: true},
		"hot, read": {it: mail.Item{Message: message("agent:bob", "agent:ann"), State: mail.Read,
			Read: true}, ok: true, read: true},
		"hot, archived unread": {it: mail.Item{Message: message("agent:bob", "agent:ann"), State: mail.Archived},
			ok: true, archived: true},
		"hot, expired": {it: mail.Item{Message: message("agent:bob", "all"), State: mail.Expired},
			ok: true, archived: true},
		"hot, sent by the owner": {it: mail.Item{Message: message("agent:ann", "agent:bob")}},
		"cold, unread, no expiry": {it: mail.Item{Message: func() mail.Message {
			m := message("agent:bob", "agent:ann")
			m.TTLSeconds = lifeSeconds
			return m
		}()}, ok: true},
		"cold, unread, expired": {it: mail.Item{Message: message("agent:bob", "agent:ann")}, ok: true,
			archived: true},
		"cold, for a role, unread": {it: mail.Item{Message: message("agent:bob", "role:x"),
			Deliveries: by(ann, mail.Presented)}, ok: true},
		"cold, read": {it: mail.Item{Message: message("agent:bob", "all"),
			Deliveries: by(ann, mail.Read)}, ok: true, read: true},
		"cold, archived": {it: mail.Item{Message: message("agent:bob", "all"),
			Deliveries: by(ann, mail.Archived)}, ok: true, read: true, archived: true},
		"cold, another's": {it: mail.Item{Message: message("agent:ann", "agent:bob"),
			Deliveries: by(bob, mail.Read), Read: true}},
	} {
		t.Run(name, func(t *testing.T) {
			l, ok := letterOf(c.it, ann, now)
			if ok != c.ok || l.Read != c.read || l.archived() != c.archived || l.fresh != c.notKnown {
				t.Errorf("ok %t, read %t, archived %t, fresh %t", ok, l.Read, l.archived(), l.fresh)
			}
		})
	}
	l, _ := letterOf(mail.Item{Message: message("user", "user")}, mail.User, now)
	if e := entryOf(&l.Item, signer{}); e.From != mail.User {
		t.Errorf("mail of the person is from %q", e.From)
	}
}

func TestForeignMail(t *testing.T) {
	m := mail.Message{Body: "text", ReplyTo: "msg_9", Docs: []mail.Doc{{Path: "docs/a.md", Revision: "3"},
		{Path: "b"}}}
	if got, want := body(m), "text\n\nIn reply to msg_9\nDocument: docs/a.md\nDocument: b"; got != want {
		t.Errorf("body = %q, want %q", got, want)
	}
	m.Body = ""
	if got, want := body(m), "In reply to msg_9\nDocument: docs/a.md\nDocument: b"; got != want {
		t.Errorf("body without text = %q, want %q", got, want)
	}
	if got, want := recipients([]mail.Address{"agent:Mac CLI 小克", "role:x", "orchestrator",
		"all"}, signer{}), "Mac CLI 小克, role:x, orchestrator, all"; got != want {
		t.Errorf("recipients = %q, want %q", got, want)
	}
	e := entry{Body: "\n  \x1b[2J" + strings.Repeat("克", 90) + "\nmore"}
	if got := oneLine(headline(e)); !strings.HasPrefix(got, "\ufffd[2J克") || !strings.HasSuffix(got, "克…") ||
		strings.Contains(got, "\n") {
		t.Errorf("headline = %q", got)
	}
}

// FuzzArguments calls every tool with arbitrary arguments: it answers or refuses, without an internal error.
func FuzzArguments(f *testing.F) {
	for _, args := range []string{
		``, `{}`, `null`, `[]`, `{"to":"夏哥","subject":"s","body":"b","priority":"urgent","from_agent":"Mac CLI 小克"}`,
		`{"to":["夏哥"]}`, `{"to":"all","subject":"s","body":"b"}`,
		`{"to":"user","subject":"s\n","body":" "}`, `{"to":null,"subject":"s","body":"b"}`, `{"limit":-1}`,
		`{"limit":1000,"unread_only":true}`, `{"msg_id":"x","read":null}`, `{"msg_id":"","read":1}`,
		`{"agent_name":"\u0000"}`, `{"current_task":"a\nb"}`, "{\"to\":\"\xff\"}",
	} {
		f.Add([]byte(args))
	}
	b := dialecttest.New(f, Dialect())
	if err := loadFile(b, []byte(fleet)); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, args []byte) {
		for _, tool := range b.Dialect.Endpoints[0].Tools {
			out, err := tool.Run(t.Context(), &dialect.Call{Service: b.As(cli), Caller: cli, Room: dialecttest.Room,
				Args: args, Now: b.Now()})
			if err == nil {
				_, err = jsonx.Marshal(out)
			}
			if mail.CodeOf(err) == mail.Internal {
				t.Errorf("%s(%q): %v", tool.Name, args, err)
			}
		}
	})
}
