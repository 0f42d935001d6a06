package superportia

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect/dialecttest"
	"pennypost/internal/office/dialect/superportia/contracttest"
)

func TestScripts(t *testing.T) { dialecttest.Scripts(t, Dialect()) }

// direct is a session in process.
type direct struct {
	*dialecttest.Fixture
	as mail.Name
}

func (d direct) Tools() (names []string, err error) {
	for _, tool := range d.Dialect.Endpoints[0].Tools {
		names = append(names, tool.Name)
	}
	return names, nil
}

func (d direct) Call(tool string, args []byte) ([]byte, error) {
	out, err := d.Fixture.Call(d.as, tool, string(args))
	return []byte(out), err
}

func TestContract(t *testing.T) {
	contracttest.Run(t, func(t *testing.T, identities []byte) contracttest.Connect {
		b := newFixture(t, identities)
		return func(_ *testing.T, identity string) contracttest.Session { return direct{b, mail.Name(identity)} }
	})
}

// newFixture returns a fixture whose room has the identities.
func newFixture(t *testing.T, identities []byte) *dialecttest.Fixture {
	t.Helper()
	b := dialecttest.New(t, Dialect())
	if err := loadFile(b, identities); err != nil {
		t.Fatal(err)
	}
	return b
}

func loadFile(b *dialecttest.Fixture, identities []byte) error {
	b.T.Helper()
	if err := os.WriteFile(filepath.Join(b.Dir, "identities.json"), identities, 0o600); err != nil {
		b.T.Fatal(err)
	}
	_, _, err := b.Verb("identities", "load", "identities.json")
	return err
}

// fleet is a few identities, for tests that need no particular ones.
const fleet = `[
	{"identity":"Mac CLI 小克","ship":"SS1","platform":"Claude Code CLI","role":"Engineer","id":"mac-cli"},
	{"identity":"Mac App 小克","ship":"SS1","platform":"Desktop","role":"Engineer"},
	{"identity":"夏哥","ship":"Any","platform":"Captain","role":"Captain"}]`

const (
	cli     mail.Name = "Mac CLI 小克"
	captain mail.Name = "夏哥"
)

func fleetFixture(t *testing.T) *dialecttest.Fixture { return newFixture(t, []byte(fleet)) }

// must calls a tool that must succeed and decodes its answer.
func must[T any](b *dialecttest.Fixture, as mail.Name, tool, args string) (out T) {
	b.T.Helper()
	if as == captain {
		as = mail.User // no one else speaks as them
	}
	answer, err := b.Call(as, tool, args)
	if err == nil {
		err = jsonx.UnmarshalStrict([]byte(answer), &out)
	}
	if err != nil {
		b.T.Fatalf("%s %s as %s: %v", tool, args, as, err)
	}
	return out
}

func box(b *dialecttest.Fixture, as mail.Name, args string) listing {
	b.T.Helper()
	return must[listing](b, as, "check_agent_mailbox", args)
}

func post(b *dialecttest.Fixture, from, to mail.Name, subject string) mail.ID {
	b.T.Helper()
	return must[sent](b, from, "send_agent_message", fmt.Sprintf(`{"to":%q,"subject":%q,"body":"b"}`, to, subject)).ID
}

// fixture reads one of the project's example files, which are not part of the repository.
func fixture(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../../../../../shared/fixtures/seed-examples", name))
	if err != nil {
		t.Skip("the examples are not here: ", err)
	}
	return data
}

func TestTimes(t *testing.T) {
	b := fleetFixture(t)
	b.Advance(987 * time.Millisecond)
	t.Run("SP-06 SP-10 whole seconds, and the same in both answers", func(t *testing.T) {
		s := must[sent](b, captain, "send_agent_message", `{"to":"Mac CLI 小克","subject":"s","body":"b"}`)
		if got := box(b, cli, ``).Messages[0].At; got.text() != s.At.text() || got.text() != "2026-05-10T14:00:00Z" {
			t.Errorf("sent at %s, listed as of %s", s.At.text(), got.text())
		}
	})
}

func (s stamp) text() string {
	b, _ := s.MarshalText()
	return string(b)
}

func TestSchemas(t *testing.T) {
	type property struct {
		Type    string   `json:"type"`
		Enum    []string `json:"enum"`
		Default any      `json:"default"`
		Const   any      `json:"const"`
	}
	type schema struct {
		Required   []string            `json:"required"`
		Additional *bool               `json:"additionalProperties"`
		Properties map[string]property `json:"properties"`
	}
	text, flag := property{Type: "string"}, property{Type: "boolean", Default: false}
	want := map[string]schema{
		"SP-04 send_agent_message": {Required: []string{"to", "subject", "body"}, Properties: map[string]property{
			"to": text, "subject": text, "body": text, "from_agent": text,
			"priority": {Type: "string", Enum: []string{"normal", "urgent"}, Default: "normal"},
		}},
		"SP-08 check_agent_mailbox": {Properties: map[string]property{
			"agent_name": text, "unread_only": flag, "include_archived": flag,
			"limit": {Type: "integer", Default: float64(30)},
		}},
		"SP-11 mark_message": {Required: []string{"msg_id"}, Properties: map[string]property{"msg_id": text,
			"read": {Type: "boolean", Default: true}}},
		"SP-12 archive_message": {Required: []string{"msg_id"}, Properties: map[string]property{"msg_id": text}},
		"SP-14 agent_heartbeat": {Properties: map[string]property{"current_task": text}},
	}
	tools := Dialect().Endpoints[0].Tools
	if len(tools) != len(want) {
		t.Errorf("there are %d tools, want %d", len(tools), len(want))
	}
	for name, w := range want {
		t.Run(name, func(t *testing.T) {
			_, name, _ := strings.Cut(name, " ")
			w.Additional = new(false)
			for _, tool := range tools {
				if tool.Name != name {
					continue
				}
				var got schema
				if err := jsonx.Unmarshal([]byte(tool.Input), &got); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(w, got); diff != "" {
					t.Errorf("input (-want +got):\n%s", diff)
				}
				return
			}
			t.Error("there is no such tool")
		})
	}
}

func TestPresented(t *testing.T) {
	b := fleetFixture(t)
	id := post(b, captain, cli, "s")
	state := func() mail.DeliveryState {
		it, err := b.As(captain).Message(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return it.Deliveries[0].State
	}
	box(b, captain, `{"agent_name":"Mac CLI 小克"}`)
	if got := state(); got != mail.Queued {
		t.Errorf("after another looked into the mailbox: %s", got)
	}
	box(b, cli, `{}`)
	if got := state(); got != mail.Presented {
		t.Errorf("after its owner did: %s", got)
	}
}

func TestManyMessages(t *testing.T) {
	b := fleetFixture(t)
	const n = mail.MaxLimit + 20
	for i := range n {
		if id := post(b, captain, cli, fmt.Sprint(i)); i%2 == 0 {
			must[marked](b, cli, "mark_message", fmt.Sprintf(`{"msg_id":%q,"read":true}`, id))
		}
	}
	t.Run("SP-10 counts beyond one page of the room", func(t *testing.T) {
		got := box(b, cli, `{"limit":1}`)
		if got.Total != n || got.Unread != n/2 || got.Messages[0].Subject != fmt.Sprint(n-1) {
			t.Errorf("total %d, unread %d, newest %q", got.Total, got.Unread, got.Messages[0].Subject)
		}
	})
}

// SP-08, SP-10: a mailbox of thirty long messages is listed whole, an older urgent one first; cut bodies say so, a
// single message is not cut, and only messages shown whole count as presented.
func TestLongMessages(t *testing.T) {
	b := fleetFixture(t)
	send := func(subject, priority string) mail.ID {
		id := must[sent](b, captain, "send_agent_message", fmt.Sprintf(`{"to":%q,"subject":%q,"body":%q,"priority":%q}`,
			cli, subject, strings.Repeat("b", maxBody), priority)).ID
		b.Advance(time.Minute)
		return id
	}
	read := send("read", "urgent")
	must[marked](b, cli, "mark_message", fmt.Sprintf(`{"msg_id":%q}`, read))
	urgent := send("urgent", "urgent")
	for i := range 33 {
		send(fmt.Sprint("normal ", i), "normal")
	}
	got := box(b, cli, `{}`)
	if got.Unread != 34 || got.Total != 35 || len(got.Messages) != 30 || got.More != 5 ||
		!strings.Contains(got.Note, "unread_only") {
		t.Errorf("unread %d, total %d, listed %d, more %d, %q", got.Unread, got.Total, len(got.Messages), got.More,
			got.Note)
	}
	first := got.Messages[0]
	if first.ID != urgent || len(first.Body) != maxBody {
		t.Errorf("the first is %q with %d bytes", first.Subject, len(first.Body))
	}
	for i, m := range got.Messages[1:] {
		if m.Subject != fmt.Sprint("normal ", 32-i) {
			t.Errorf("%d: %q", i, m.Subject)
		}
	}
	last := got.Messages[29]
	if !strings.HasSuffix(last.Body, "of 4096 bytes. The whole: pennypost read "+string(last.ID)+
		" --as 'Mac CLI 小克']") {
		t.Errorf("the last body is %q", last.Body)
	}
	state := func(id mail.ID) mail.DeliveryState {
		it, err := b.As(mail.User).Message(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return it.Deliveries[0].State
	}
	if u, l := state(urgent), state(last.ID); u != mail.Presented || l != mail.Queued {
		t.Errorf("the whole one is %s, the last %s", u, l)
	}
	if all := box(b, cli, `{"limit":1000}`); len(all.Messages) != 35 || all.More != 0 {
		t.Errorf("of all are listed %d, more %d", len(all.Messages), all.More)
	}
}

// A message of another dialect that is longer than an answer comes whole when it is alone.
func TestLongForeignMessage(t *testing.T) {
	b := fleetFixture(t)
	long := strings.Repeat("diff <b>\n", 4000)
	b.Send(mail.User, mail.Draft{To: mail.Recipients{"agent:" + string(cli)}, Body: long})
	if got := box(b, cli, `{}`).Messages[0].Body; got != long {
		t.Errorf("alone it has %d bytes: %.80q", len(got), got)
	}
	post(b, captain, cli, "newer")
	if got := box(b, cli, `{}`).Messages[1].Body; !strings.Contains(got, "[Cut: ") || len(got) < 2000 {
		t.Errorf("beside another it has %d bytes: %.80q", len(got), got)
	}
}

func TestAges(t *testing.T) {
	b := fleetFixture(t)
	read, unread, hidden := post(b, captain, cli, "read"), post(b, captain, cli, "unread"), post(b, captain, cli,
		"hidden")
	must[marked](b, cli, "mark_message", fmt.Sprintf(`{"msg_id":%q}`, read))
	must[archived](b, cli, "archive_message", fmt.Sprintf(`{"msg_id":%q}`, hidden))
	before := box(b, cli, `{"include_archived":true}`)
	b.Advance(400 * 24 * time.Hour)

	t.Run("SP-13 mail does not expire", func(t *testing.T) {
		if diff := cmp.Diff(before, box(b, cli, `{"include_archived":true}`)); diff != "" {
			t.Errorf("after a year (-before +after):\n%s", diff)
		}
	})
	t.Run("SP-13 retention takes nothing out of a mailbox", func(t *testing.T) {
		if _, err := b.As(mail.User).Archive(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := box(b, cli, `{"include_archived":true}`)
		if it, err := b.As(cli).Message(t.Context(), hidden); err != nil {
			t.Fatal(err)
		} else if it.State == "" {
			before.Messages[0].Read = true // archived mail counts as read in the room's archive
		}
		if diff := cmp.Diff(before, got); diff != "" {
			t.Errorf("after retention (-before +after):\n%s", diff)
		}
	})
	t.Run("SP-11 SP-12 marks on mail that retention moved", func(t *testing.T) {
		if it, err := b.As(cli).Message(t.Context(), unread); err != nil || it.State != "" {
			t.Skip("the room keeps it at hand: ", it.State, err)
		}
		for _, c := range []struct {
			as   mail.Name
			tool string
			args string
			want mail.Code
		}{
			{cli, "mark_message", fmt.Sprintf(`{"msg_id":%q,"read":true}`, read), ""},
			{cli, "mark_message", fmt.Sprintf(`{"msg_id":%q,"read":true}`, unread), mail.Conflict},
			{cli, "mark_message", fmt.Sprintf(`{"msg_id":%q,"read":false}`, unread), ""},
			{cli, "archive_message", fmt.Sprintf(`{"msg_id":%q}`, hidden), ""},
			{cli, "archive_message", fmt.Sprintf(`{"msg_id":%q}`, read), mail.Conflict},
			{captain, "archive_message", fmt.Sprintf(`{"msg_id":%q}`, hidden), mail.Denied},
		} {
			if _, err := b.Call(c.as, c.tool, c.args); mail.CodeOf(err) != c.want {
				t.Errorf("%s %s as %s: %v, want %q", c.tool, c.args, c.as, err, c.want)
			}
		}
	})
}

func TestUnarchive(t *testing.T) {
	b := fleetFixture(t)
	id := post(b, captain, cli, "s")
	must[archived](b, cli, "archive_message", fmt.Sprintf(`{"msg_id":%q}`, id))
	t.Run("P7 the verb brings back what was archived, once or again", func(t *testing.T) {
		for _, words := range [][]string{{"unarchive", string(id), "--as", string(cli)},
			{"unarchive", "--json", string(id), "--as", string(cli)}} {
			if _, _, err := b.Verb(words...); err != nil {
				t.Errorf("%q: %v", words, err)
			}
		}
		if got := box(b, cli, ``); got.Unread != 1 || got.Messages[0].Archived {
			t.Errorf("the mailbox: %+v", got)
		}
	})
	t.Run("P5 but nobody else's", func(t *testing.T) {
		if _, _, err := b.Verb("unarchive", string(id), "--as", string(captain)); mail.CodeOf(err) != mail.Denied {
			t.Errorf("as the captain: %v", err)
		}
	})
}

func TestPerson(t *testing.T) {
	b := fleetFixture(t)
	id := post(b, captain, cli, "s")
	t.Run("P5 the person is told how to mark in an owner's name", func(t *testing.T) {
		_, err := b.Call(mail.User, "archive_message", fmt.Sprintf(`{"msg_id":%q}`, id))
		if mail.CodeOf(err) != mail.Denied ||
			!strings.Contains(err.Error(), "pennypost mark "+string(id)+" --archived --as") {
			t.Errorf("archiving another's mail: %v", err)
		}
	})
	t.Run("without a Captain the person is no identity", func(t *testing.T) {
		b := dialecttest.New(t, Dialect())
		if _, err := b.Call(mail.User, "agent_heartbeat", ``); mail.CodeOf(err) != mail.Invalid ||
			!strings.Contains(err.Error(), agentID) {
			t.Errorf("heartbeat: %v", err)
		}
	})
}

// TestCaptainOfBefore: mail that waits for a Captain who is an agent, as in earlier versions, goes to the desk when
// the file is loaded.
func TestCaptainOfBefore(t *testing.T) {
	b := dialecttest.New(t, Dialect())
	b.Register(captain, captainRole)
	b.Register(cli)
	id := post(b, cli, "夏哥", "from before")
	if err := loadFile(b, []byte(fleet)); err != nil {
		t.Fatal(err)
	}
	page, err := b.As(mail.User).Inbox(t.Context(), mail.InboxQuery{})
	if err != nil || len(page.Messages) != 1 || page.Messages[0].ID != id {
		t.Errorf("the person's inbox: %+v, %v", page.Messages, err)
	}
	if got := box(b, captain, `{"agent_name":"夏哥"}`); got.Unread != 1 {
		t.Errorf("the Captain's mailbox: %+v", got)
	}
}

// TestCaptain: the identity with the role Captain is the person. Mail to it is on the desk, the person's mail is
// from it, and no one else speaks as it.
func TestCaptain(t *testing.T) {
	b := fleetFixture(t)
	id := must[sent](b, cli, "send_agent_message",
		`{"to":"夏哥","subject":"fire","body":"on deck 2","priority":"urgent"}`)
	if id.To != captain {
		t.Errorf("sent to %q", id.To)
	}
	desk, err := b.As(mail.User).Desk(t.Context(), mail.DeskQuery{})
	if err != nil || len(desk.Needs) != 1 || desk.Needs[0].Subject != "fire" {
		t.Errorf("the desk: %+v, %v", desk, err)
	}
	for _, as := range []mail.Name{cli, mail.User} {
		got := box(b, as, `{"agent_name":"夏哥"}`)
		if got.Unread != 1 || got.Messages[0].To != string(captain) || got.Messages[0].From != cli {
			t.Errorf("the Captain's mailbox for %s: %+v", as, got)
		}
	}
	post(b, captain, cli, "well done")
	if got := box(b, cli, ``); got.Messages[0].From != captain {
		t.Errorf("the answer: %+v", got)
	}
	if got := must[presence](b, captain, "agent_heartbeat", ``); got.ID != captain || got.Ship != "Any" {
		t.Errorf("the Captain is %+v", got)
	}
	if _, err := b.Call(captain, "send_agent_message", `{"to":"Mac CLI 小克","subject":"s","body":"b"}`); mail.CodeOf(
		err) != mail.Denied {
		t.Errorf("an agent sends as the Captain: %v", err)
	}
}
