package systemtest

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pennypost/internal/mail"
)

// mcpDoor is an office with an agent that has a token for its /mcp.
type mcpDoor struct {
	*office
	daemon *daemon
	token  string
}

func newMCPDoor(t *testing.T) *mcpDoor {
	t.Helper()
	o := newOffice(t)
	d := o.mustServe(t, loopback)
	o.must(t, "agents", "register", "小克 builder")
	return &mcpDoor{o, d, strings.TrimSpace(o.must(t, "agents", "token", "小克 builder"))}
}

func (m *mcpDoor) connect(t *testing.T, era, token string) *agent {
	t.Helper()
	a, err := agentHTTP(era, m.daemon.MCP, &http.Client{Transport: m.daemon.door(token)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.session.Close() })
	return a
}

// TestMCPDay is an agent's day over streamable HTTP and over stdio: it reads, marks, writes, waits with signs of
// life, and is told of changes in its mailbox.
func TestMCPDay(t *testing.T) {
	t.Parallel()
	for _, era := range eras() {
		t.Run("http_"+era, func(t *testing.T) {
			t.Parallel()
			m := newMCPDoor(t)
			m.day(t, m.connect(t, era, m.token))
		})
		t.Run("stdio_"+era, func(t *testing.T) {
			t.Parallel()
			m := newMCPDoor(t)
			m.day(t, m.mustAgent(t, era, "--as", "小克 builder"))
		})
	}
}

func (m *mcpDoor) day(t *testing.T, a *agent) {
	if got := must[struct{ You mail.Name }](t, a, "list_agents", nil).You; got != "小克 builder" {
		t.Errorf("the agent is %q", got)
	}
	task := ask[mail.Sent](t, m.office, "send", "--to", "小克 builder", "--type", "task-assigned", "--body", "Write it.")
	if got, end := a.read(t, "read_messages", nil); len(got) != 1 || got[0].ID != task.ID ||
		got[0].Body != "Write it." {
		t.Fatalf("read_messages: %+v %s, want %s", got, end, task.ID)
	}
	m.wantState(t, task.ID, mail.Presented)
	must[any](t, a, "mark_messages", map[string]any{"ids": []mail.ID{task.ID}})
	m.wantState(t, task.ID, mail.Read)
	done := must[mail.Sent](t, a, "send_message", map[string]any{"to": []string{"user"}, "type": "task-done",
		"body": "Done.", "reply_to": task.ID})
	inbox := ask[mail.Page](t, m.office, "inbox").Messages
	if len(inbox) != 1 || inbox[0].ID != done.ID || inbox[0].From != "agent:小克 builder" || inbox[0].Thread != task.ID {
		t.Errorf("the user's inbox: %+v", inbox)
	}
	m.waits(t, a)
	m.subscribes(t, a)
}

func (m *mcpDoor) wantState(t *testing.T, id mail.ID, want mail.DeliveryState) {
	t.Helper()
	it := ask[mail.Page](t, m.office, "read", string(id)).Messages[0]
	if len(it.Deliveries) != 1 || it.Deliveries[0].State != want {
		t.Errorf("%s is %+v, want %s", id, it.Deliveries, want)
	}
}

// waits blocks in wait_for_messages. The client hears that the call lives, and then gets the message.
func (m *mcpDoor) waits(t *testing.T, a *agent) {
	t.Helper()
	params := &mcp.CallToolParams{Name: "wait_for_messages", Arguments: map[string]any{"timeout_seconds": 30,
		"types": []string{"answer"}}}
	params.SetProgressToken("p")
	type outcome struct {
		text string
		err  error
	}
	waited := make(chan outcome, 1)
	go func() {
		text, err := a.callParams(context.Background(), params)
		waited <- outcome{text, err}
	}()
	select {
	case <-a.progress:
	case o := <-waited:
		t.Fatalf("the wait ended before it began: %+v", o)
	case <-time.After(patience):
		t.Fatal("no progress was reported")
	}
	m.must(t, "send", "--to", "小克 builder", "--type", "status", "--body", "not an answer")
	answer := ask[mail.Sent](t, m.office, "send", "--to", "小克 builder", "--type", "answer", "--body", "Yes.")
	o := <-waited
	if o.err != nil || !strings.Contains(o.text, string(answer.ID)) || strings.Contains(o.text, "not an answer") {
		t.Errorf("the wait ended with %+v, want %s", o, answer.ID)
	}
	if text, err := a.call(context.Background(), "wait_for_messages",
		map[string]any{"timeout_seconds": 0.2, "types": []string{"cancel"}}); err != nil ||
		!strings.Contains(text, "No mail came") {
		t.Errorf("a wait for what does not come: %s, %v", text, err)
	}
}

// subscribes gets notices of new mail, and none of mail that concerns others.
func (m *mcpDoor) subscribes(t *testing.T, a *agent) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	list, err := a.session.ListResources(ctx, nil)
	if err != nil || len(list.Resources) != 1 {
		t.Fatalf("resources: %+v, %v", list, err)
	}
	uri := list.Resources[0].URI
	if err := a.session.Subscribe(ctx, &mcp.SubscribeParams{URI: uri}); err != nil {
		t.Fatal(err)
	}
	if m.must(t, "send", "--as", "小克 builder", "--to", "user", "--body", "for somebody else"); len(a.updated) > 0 {
		t.Errorf("told of %q for the mail of another", <-a.updated)
	}
	sent := ask[mail.Sent](t, m.office, "send", "--to", "小克 builder", "--body", "for the subscriber")
	select {
	case got := <-a.updated:
		if got != uri {
			t.Errorf("told of %q, subscribed to %q", got, uri)
		}
	case <-ctx.Done():
		t.Fatal("the subscriber was told nothing")
	}
	res, err := a.session.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
	if err != nil || len(res.Contents) != 1 || !strings.Contains(res.Contents[0].Text, string(sent.ID)) {
		t.Errorf("the mailbox reads %+v, %v; want %s in it", res, err, sent.ID)
	}
	if _, err := a.session.ReadResource(ctx, &mcp.ReadResourceParams{URI: "mailbox://another/user"}); err == nil {
		t.Error("the mailbox of another room could be read")
	}
	if err := a.session.Unsubscribe(ctx, &mcp.UnsubscribeParams{URI: uri}); err != nil {
		t.Error(err)
	}
}

// Requests as sent: the first of a session, and one without a session.
const (
	initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
	listTools  = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
)

// post sends a request of MCP.
func (m *mcpDoor) post(token, query, body string, fields ...string) (answer, error) {
	return m.daemon.door(token).do(http.MethodPost, "/mcp"+query, body,
		append(fields, "Accept: application/json, text/event-stream")...)
}

// mcpCaller is a client that calls /mcp.
type mcpCaller struct {
	name, token string
	status      int
	fields      []string
	query       string
}

func (m *mcpDoor) callers() []mcpCaller {
	return []mcpCaller{
		{"no credential", "", 401, nil, ""},
		{"wrong token", "wrong", 401, nil, ""},
		{"the token and more", m.token + "x", 401, nil, ""},
		{"another scheme", "", 401, []string{"Authorization: Basic dXNlcjpwYXNz"}, ""},
		{"a name without proof", "", 401, []string{"Pennypost-Agent: other"}, ""},
		{"another page", m.token, 403, []string{"Origin: https://evil.example.org"}, ""},
		{"a page from no origin", m.token, 403, []string{"Origin: null"}, ""},
		{"another host", m.token, 403, []string{"Host: evil.example.org"}, ""},
		{"another room", m.token, 403, []string{"Pennypost-Room: elsewhere"}, ""},
		{"a room that is a path", m.token, 400, []string{"Pennypost-Room: ../x"}, ""},
		{"the agent", m.token, 200, nil, ""},
		{"the agent's own room", m.token, 200, []string{"Pennypost-Room: default"}, ""},
		{"the agent's own room in the query", m.token, 200, nil, "?room=default"},
		{"another room in the query", m.token, 403, nil, "?room=elsewhere"},
		{"a NUL in the room", m.token, 400, nil, "?room=a%00b"},
		{"a path for a room", m.token, 400, nil, "?room=..%2fx"},
	}
}

// TestMCPCredentials holds that /mcp accepts no caller without a credential, and lets no one into another's session.
func TestMCPCredentials(t *testing.T) {
	t.Parallel()
	m := newMCPDoor(t)
	for _, c := range m.callers() {
		for body, fields := range map[string][]string{initialize: nil, listTools: {"Mcp-Protocol-Version: 2026-07-28",
			"Mcp-Method: tools/list"}} {
			a, err := m.post(c.token, c.query, body, append(fields, c.fields...)...)
			if err != nil || a.status != c.status {
				t.Errorf("%s, %.60s…: %d %s, %v; want %d", c.name, body, a.status, a.body, err, c.status)
			}
			if c.status == 401 && a.header.Get("WWW-Authenticate") == "" {
				t.Errorf("%s: no WWW-Authenticate", c.name)
			}
		}
	}
	m.sessionBelongs(t)
	m.must(t, "agents", "retire", "小克 builder")
	if a, err := m.post(m.token, "", initialize); err != nil || a.status != 401 {
		t.Errorf("the token of an agent that was retired: %d %s, %v", a.status, a.body, err)
	}
	if found, err := grep(m.home, m.token); err != nil || len(found) > 0 ||
		strings.Contains(m.daemon.log.String(), m.token) {
		t.Errorf("the token stands in %q or in the log, %v", found, err)
	}
}

// TestMCPMalformed sends /mcp bodies that are no messages of MCP.
func TestMCPMalformed(t *testing.T) {
	t.Parallel()
	m := newMCPDoor(t)
	for _, body := range []string{"", "hello", `{"jsonrpc":"2.0","id":1,"method":`, `[]`, `7`,
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}"} {
		a, err := m.post(m.token, "", body)
		if err != nil || a.status != 400 || !strings.Contains(a.body, `"error"`) {
			t.Errorf("%q for a request: %d %s, %v; want 400 and an error", body, a.status, a.body, err)
		}
	}
	if a, err := m.post(m.token, "", initialize); err != nil || a.status != 200 {
		t.Errorf("after that: %d %s, %v", a.status, a.body, err)
	}
}

// sessionBelongs checks that a session is its opener's: to others it does not exist.
func (m *mcpDoor) sessionBelongs(t *testing.T) {
	t.Helper()
	m.must(t, "agents", "register", "other")
	other := strings.TrimSpace(m.must(t, "agents", "token", "other"))
	opened, err := m.post(m.token, "", initialize)
	id := opened.header.Get("Mcp-Session-Id")
	if err != nil || id == "" {
		t.Fatalf("no session: %+v, %v", opened, err)
	}
	const list = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list_agents"}}`
	for token, want := range map[string]int{m.token: 200, other: 404, "": 401} {
		a, err := m.post(token, "", list, "Mcp-Session-Id: "+id, "Mcp-Protocol-Version: 2025-11-25")
		if err != nil || a.status != want {
			t.Errorf("the session with another's token: %d %s, %v, want %d", a.status, a.body, err, want)
		}
	}
}
