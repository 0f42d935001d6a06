package systemtest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
)

// The examples in the documents of the earlier systems are sent by their senders and read by their recipients, and
// come back equal in every field that Pennypost has. Their ids and times, which senders do not choose, come back
// from an import.

// seedLines decodes a file of the examples, JSON or JSON lines.
func seedLines[T any](t *testing.T, name string) []T {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(fixture(t, "seed-examples"), name))
	if err != nil {
		t.Fatal(err)
	}
	var out []T
	for d := json.NewDecoder(bytes.NewReader(text)); d.More(); {
		var v T
		if err := d.Decode(&v); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out = append(out, v)
	}
	return out
}

// importAll imports messages through the command line and returns the room's history.
func importAll(t *testing.T, o *office, room string, items []mail.Item) []mail.Message {
	t.Helper()
	var lines bytes.Buffer
	for _, it := range items {
		b, err := json.Marshal(it)
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(append(b, '\n'))
	}
	if r := o.runWith(lines.String(), nil, "import", "--room", room, "-"); r.code != 0 {
		t.Fatalf("import: %+v", r)
	}
	var out []mail.Message
	// Old and settled mail may be archived by the room's first retention at any moment.
	for _, it := range ask[mail.Page](t, o, "history", "--room", room, "--archive").Messages {
		out = append(out, it.Message)
	}
	return out
}

func messages(items []mail.Item) (out []mail.Message) {
	for _, it := range items {
		out = append(out, it.Message)
	}
	return out
}

func TestSeedAgenties(t *testing.T) {
	t.Parallel()
	type line struct {
		ID        mail.ID   `json:"id"`
		Type      mail.Type `json:"type"`
		From      string    `json:"from"`
		To        string    `json:"to"`
		Body      string    `json:"body"`
		Read      bool      `json:"read"`
		CreatedAt time.Time `json:"createdAt"`
	}
	lines := seedLines[line](t, "agenties-mailbox.jsonl")
	o := newOffice(t)
	o.must(t, "agents", "register", "orchestrator")
	for _, name := range []string{"ag_x1", "ag_x2"} {
		o.must(t, "agents", "register", name)
	}
	var items []mail.Item
	for _, l := range lines {
		reader := strings.TrimPrefix(l.To, "agent:")
		if l.To == "broadcast" {
			reader, l.To = "ag_x1", "all" // Pennypost's name for it
		}
		o.must(t, "send", "--as", strings.TrimPrefix(l.From, "agent:"), "--to", l.To, "--type", string(l.Type),
			"--body", l.Body)
		if l.Read {
			o.must(t, "mark", "--as", reader, "--all", "--read")
		}
		got := ask[mail.Page](t, o, "inbox", "--as", reader, "--all").Messages
		g := got[len(got)-1]
		back := line{l.ID, g.Type, string(g.From), string(g.To[0]), g.Body, g.Read, l.CreatedAt}
		if diff := cmp.Diff(l, back); diff != "" {
			t.Errorf("sent and read back (-sent +read):\n%s", diff)
		}
		items = append(items, mail.Item{Read: l.Read, Message: mail.Message{
			ID: l.ID, Type: l.Type, From: mail.Address(l.From), To: []mail.Address{mail.Address(l.To)}, Body: l.Body,
			Sent: mail.TimeOf(l.CreatedAt),
		}})
	}
	if diff := cmp.Diff(messages(items), importAll(t, o, "imported", items)); diff != "" {
		t.Errorf("imported and read back (-imported +read):\n%s", diff)
	}
	// The mark came with it.
	it := ask[mail.Page](t, o, "read", "--room", "imported", "msg_001").Messages[0]
	if len(it.Deliveries) != 1 || it.Deliveries[0].State != mail.Read {
		t.Errorf("msg_001 was read when it was imported, and is now %+v", it.Deliveries)
	}
}

func TestSeedHaak(t *testing.T) {
	t.Parallel()
	type line struct {
		ID        mail.ID   `json:"id"`
		Sender    string    `json:"sender"`
		Recipient string    `json:"recipient"`
		Timestamp time.Time `json:"timestamp"`
		Content   string    `json:"content"`
		TTLHours  int64     `json:"ttl_hours"`
	}
	type rosterEntry struct {
		SessionID string   `json:"session_id"`
		Tags      []string `json:"tags"`
	}
	l, r := seedLines[line](t, "haak-agent-mailbox.jsonl")[0], seedLines[rosterEntry](t,
		"haak-agent-roster-entry.json")[0]
	o := newOffice(t)
	args := []string{"agents", "register", r.SessionID, "--role", "role-name"}
	for _, tag := range r.Tags {
		args = append(args, "--tag", tag)
	}
	if ag := ask[mail.Agent](t, o, args...); string(ag.Name) != r.SessionID || !slices.Equal(ag.Tags, r.Tags) {
		t.Errorf("registered %+v, got %+v", r, ag)
	}
	// The document's recipient is one of three kinds; as one word it is a name that any agent may have.
	for _, name := range []string{"session-id", l.Recipient} {
		o.must(t, "agents", "register", name)
	}
	targets := map[string]string{"session-id": "agent:session-id", "role:role-name": "role:role-name", "all": "all",
		l.Recipient: "agent:" + l.Recipient}
	for _, tag := range r.Tags {
		targets[tag] = tag
	}
	for to, canonical := range targets {
		sent := ask[mail.Sent](t, o, "send", "--as", l.Sender, "--to", to, "--body", l.Content, "--ttl", "24h")
		it := ask[mail.Page](t, o, "read", string(sent.ID)).Messages[0]
		back := line{l.ID, string(it.From), string(it.To[0]), l.Timestamp, it.Body, it.TTLSeconds / 3600}
		want := l
		want.Sender, want.Recipient, want.TTLHours = "agent:"+l.Sender, canonical, 24
		if diff := cmp.Diff(want, back); diff != "" {
			t.Errorf("to %s (-sent +read):\n%s", to, diff)
		}
	}
	// Mail for a tag is in the mailboxes of its holders; all, the role and each tag are one copy each.
	if p := ask[mail.Page](t, o, "inbox", "--as", r.SessionID); p.Unread != 2+len(r.Tags) {
		t.Errorf("%s has %d unread messages, want %d", r.SessionID, p.Unread, 2+len(r.Tags))
	}
	items := []mail.Item{{Message: mail.Message{
		ID: l.ID, Type: mail.Custom, From: mail.Address("agent:" + l.Sender), To: []mail.Address{"agent:session-id"},
		Body: l.Content, Sent: mail.TimeOf(l.Timestamp),
	}}}
	if diff := cmp.Diff(messages(items), importAll(t, o, "imported", items)); diff != "" {
		t.Errorf("imported and read back (-imported +read):\n%s", diff)
	}
}

func TestSeedSuperportia(t *testing.T) {
	t.Parallel()
	type identity struct{ Identity, Ship, Platform, Role string }
	type header struct {
		MsgID     mail.ID   `json:"msg_id"`
		From      string    `json:"from"`
		To        string    `json:"to"`
		Subject   string    `json:"subject"`
		Priority  string    `json:"priority"`
		CreatedAt time.Time `json:"created_at"`
		Timestamp time.Time `json:"timestamp"`
	}
	identities := seedLines[[]identity](t, "superportia-identities.json")[0]
	send := seedLines[header](t, "superportia-send-response.json")[0]
	check := seedLines[struct{ Messages []header }](t, "superportia-check-response.json")[0].Messages[0]
	o := newOffice(t)
	d := o.mustServe(t, loopback)
	var want, got []identity
	for _, id := range identities {
		o.must(t, "agents", "register", id.Identity, "--role", id.Role, "--client", id.Platform, "--tag",
			"domain:"+id.Ship)
		want = append(want, id)
	}
	for _, ag := range ask[struct{ Agents []mail.Agent }](t, o, "agents").Agents {
		got = append(got, identity{string(ag.Name), strings.TrimPrefix(ag.Tags[0], "domain:"), ag.Client, ag.Roles[0]})
	}
	slices.SortFunc(want, func(a, b identity) int { return strings.Compare(a.Identity, b.Identity) })
	slices.SortFunc(got, func(a, b identity) int { return strings.Compare(a.Identity, b.Identity) })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the roster (-registered +listed):\n%s", diff)
	}
	// Everyone writes to everyone under these names, over MCP and over HTTP.
	for i, id := range identities {
		a := o.mustAgent(t, eras()[i%2], "--as", id.Identity)
		next := identities[(i+1)%len(identities)].Identity
		sent := must[mail.Sent](t, a, "send_message", map[string]any{"to": next, "body": "from " + id.Identity,
			"subject": send.Subject, "priority": check.Priority})
		it := fetch[mail.Item](t, d.door(o.operator(t)), http.StatusOK, http.MethodGet,
			room+"/messages/"+string(sent.ID), "")
		back := [...]string{string(it.From), string(it.To[0]), it.Subject, it.Body, string(it.Deliveries[0].Agent)}
		if want := [...]string{"agent:" + id.Identity, "agent:" + next, send.Subject, "from " + id.Identity,
			next}; back != want {
			t.Errorf("sent %q, read %q", want, back)
		}
	}
	if p := ask[mail.Page](t, o, "inbox", "--as", check.To); p.Unread != 1 ||
		p.Messages[0].From != mail.Address("agent:"+check.From) || p.Messages[0].Subject != check.Subject {
		t.Errorf("%s finds %+v, want what %s sent", check.To, p, check.From)
	}
	items := []mail.Item{{Message: mail.Message{
		ID: send.MsgID, Type: mail.Custom, From: mail.Address("agent:" + send.From),
		To:      []mail.Address{mail.Address("agent:" + send.To)},
		Subject: send.Subject, Body: send.Subject, Sent: mail.TimeOf(send.Timestamp),
	}}}
	if diff := cmp.Diff(messages(items), importAll(t, o, "imported", items)); diff != "" {
		t.Errorf("imported and read back (-imported +read):\n%s", diff)
	}
}

func TestSeedOpenAlice(t *testing.T) {
	t.Parallel()
	type inboxEntry struct {
		ID             mail.ID    `json:"id"`
		TS             int64      `json:"ts"`
		WorkspaceID    string     `json:"workspaceId"`
		WorkspaceLabel string     `json:"workspaceLabel"`
		Docs           []mail.Doc `json:"docs"`
		Comments       string     `json:"comments"`
	}
	type readState struct{ Read map[mail.ID]int64 }
	e, read := seedLines[inboxEntry](t, "openalice-inbox-entries.jsonl")[0], seedLines[readState](t,
		"openalice-read-state.json")[0]
	o := newOffice(t)
	sent := ask[mail.Sent](t, o, "send", "--as", e.WorkspaceID, "--to", "user", "--subject", e.WorkspaceLabel, "--doc",
		e.Docs[0].Path, "--body", e.Comments)
	it := ask[mail.Page](t, o, "read", string(sent.ID), "--mark").Messages[0]
	back := inboxEntry{e.ID, e.TS, strings.TrimPrefix(string(it.From), "agent:"), it.Subject, it.Docs, it.Body}
	if diff := cmp.Diff(e, back); diff != "" {
		t.Errorf("sent and read back (-sent +read):\n%s", diff)
	}
	items := []mail.Item{{
		Message: mail.Message{
			ID: e.ID, Type: mail.Custom, From: mail.Address("agent:" + e.WorkspaceID), To: []mail.Address{mail.ToUser},
			Subject: e.WorkspaceLabel,
			Body:    e.Comments, Docs: e.Docs, Sent: mail.Time(e.TS),
		},
		Deliveries: []mail.Delivery{{Address: mail.ToUser, Agent: mail.User, State: mail.Read,
			At: mail.Time(read.Read[e.ID])}},
	}}
	if diff := cmp.Diff(messages(items), importAll(t, o, "imported", items)); diff != "" {
		t.Errorf("imported and read back (-imported +read):\n%s", diff)
	}
	it = ask[mail.Page](t, o, "read", "--room", "imported", string(e.ID)).Messages[0]
	if len(it.Deliveries) != 1 || it.Deliveries[0].State != mail.Read ||
		it.Deliveries[0].At != mail.Time(read.Read[e.ID]) {
		t.Errorf("read at %d when it was imported, and now %+v", read.Read[e.ID], it.Deliveries)
	}
}
