package daemon

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"pennypost/internal/mail"
	"pennypost/internal/office/gate"
	"pennypost/internal/office/hook"
	"pennypost/internal/office/rooms"
	"pennypost/internal/wire/client"
)

// ask makes a tool call over c and returns the response, or the error.
func ask(t *testing.T, c *client.Calls, key, tool, args string) string {
	t.Helper()
	answered := make(chan string, 1)
	c.Call(t.Context(), key, fmt.Appendf(nil,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, args),
		func(response []byte, err error) {
			if err != nil {
				response = []byte("error: " + err.Error())
			}
			answered <- string(response)
		})
	return <-answered
}

// TestCallsGoByOneConnection holds that an agent's calls are answered over a connection of their own, that the same
// client makes a new one after a restart, and that a key is one message on both.
func TestCallsGoByOneConnection(t *testing.T) {
	cfg := testConfig(t)
	r := start(t, Options{Config: cfg})
	r.register(t, "lab", "ann")
	r.register(t, "lab", "bob")
	c := r.office.Calls("lab", "ann", "")
	defer c.Close()
	const send = `{"to":"bob","body":"hello"}`
	if got := ask(t, c, "k", "send_message", send); !strings.Contains(got, `\"queued\"`) {
		t.Errorf("send_message: %s", got)
	}
	r.office.Close() // also closes idle connections
	before := connectionsOf(t, r)
	for range 5 {
		if got := ask(t, c, "k", "list_agents", `{}`); !strings.Contains(got, `\"you\":\"ann\"`) {
			t.Errorf("list_agents: %s", got)
		}
	}
	if after := connectionsOf(t, r); after != before {
		t.Errorf("%s connections after more calls, %s before", after, before)
	}
	r.stop(t)
	if got := ask(t, c, "k", "list_agents", `{}`); !strings.HasPrefix(got, "error: ") {
		t.Errorf("without a post office: %s", got)
	}
	r = start(t, Options{Config: cfg})
	if got := ask(t, c, "k", "send_message", send); !strings.Contains(got, `\"queued\"`) {
		t.Errorf("send_message after a restart: %s", got)
	}
	page, err := r.room(t, "lab", "bob").Inbox(t.Context(), mail.InboxQuery{})
	if err != nil || page.Unread != 1 {
		t.Errorf("%d unread, %v; want the one message of the key", page.Unread, err)
	}
	if got := ask(t, c, "k", "nothing", `{}`); got != "" {
		t.Errorf("a tool that is not there answers %s", got)
	}
}

// TestTornAnswer holds that a connection ends when its reader is too late for an answer to be written whole: the
// next answer would be taken for the rest of this one.
func TestTornAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		defer there.Close()
		go func() { _, _ = io.ReadFull(there, make([]byte, 10)) }()
		if n, err := (patient{here}).Write(make([]byte, 100)); n != 10 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("Write = %d, %v", n, err)
		}
		if _, err := there.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("the reader goes on: %v", err)
		}
	})
}

// TestWaitOutlivesRestart holds that a wait over such a connection is cancelled with its call, and otherwise
// continues after a restart of the post office.
func TestWaitOutlivesRestart(t *testing.T) {
	cfg := testConfig(t)
	r := start(t, Options{Config: cfg})
	r.register(t, "lab", "ann")
	c := r.office.Calls("lab", "ann", "")
	defer c.Close()
	wait := func(ctx context.Context) <-chan string {
		ended := make(chan string, 1)
		c.Wait(ctx, rand.Text(),
			[]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait_for_messages"}}`),
			func(response []byte, err error) { ended <- fmt.Sprint(string(response), err) })
		return ended
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancelled, ended := wait(ctx), wait(t.Context())
	cancel()
	if got := <-cancelled; !strings.Contains(got, "canceled") {
		t.Errorf("the cancelled wait ended with %s", got)
	}
	r.stop(t)
	r = start(t, Options{Config: cfg})
	if _, err := r.room(t, "lab", mail.User).Send(t.Context(), mail.Draft{To: mail.Recipients{"ann"},
		Body: "hello again"}); err != nil {
		t.Fatal(err)
	}
	if got := <-ended; !strings.Contains(got, "hello again") {
		t.Errorf("the wait ended with %s", got)
	}
}

// connectionsOf returns how many connections are open.
func connectionsOf(t *testing.T, r *running) (all string) {
	t.Helper()
	_, text := r.get(t, "/metrics", r.token)
	for line := range strings.Lines(text) {
		if n, ok := strings.CutPrefix(line, "pennypost_connections "); ok {
			all = strings.TrimSpace(n)
		}
	}
	if all == "" {
		t.Fatalf("no figure of connections in %s", text)
	}
	return all
}

// Only an agent's front gets a connection for calls.
func TestCallsAreRefused(t *testing.T) {
	r := start(t, Options{Config: testConfig(t)})
	r.register(t, "lab", "ann")
	token, err := r.room(t, "lab", mail.User).Token(t.Context(), "ann")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		path, token string
		want        int
	}{
		{"/calls/lab", "", http.StatusUnauthorized},
		{"/calls/lab", token, http.StatusUpgradeRequired},
		{"/calls/other", token, http.StatusForbidden},
		{"/calls/..%2fx", r.token, http.StatusBadRequest},
	} {
		if got, text := r.get(t, test.path, test.token); got != test.want {
			t.Errorf("%s: %d %s, want %d", test.path, got, text, test.want)
		}
	}
}

// TestCallsOfTeammates: for agents that share a process, the tool call that a request names tells who speaks.
func TestCallsOfTeammates(t *testing.T) {
	transcript := teamOf(t, "s-lead")
	cfg := testConfig(t)
	d := &daemon{opts: Options{Config: cfg}, log: slog.New(slog.DiscardHandler)}
	d.office = newOffice(&cfg, d.log, rooms.NewMetrics())
	defer d.office.Set.Close()
	d.gate = testGate(t, "operator", &cfg, d.office)
	d.calls.daemon = d
	if _, err := d.office.Own(t.Context(), "a", "lead").Turn(t.Context(),
		mail.Turn{Moment: mail.SessionStart, Session: "s-lead"}); err != nil {
		t.Fatal(err)
	}
	e := &hook.Event{ToolUse: "mate", Worker: "aresearcher-21cd83441fe1e21e", Kind: "researcher"}
	e.Session.ID, e.Session.Script = "s-lead", transcript
	d.office.ToolUses.Note("a", "lead", e)
	itself := gate.NewPeer(os.Getuid(), os.Getpid(), nil)
	r := httptest.NewRequestWithContext(asked(t, "lead", itself), "GET", "/?client=claude", nil)
	r.SetPathValue("room", "a")
	box, err := d.calls.mailbox(r)
	if err != nil {
		t.Fatal(err)
	}
	for use, want := range map[string]mail.Name{"": "lead", "mate": "researcher"} {
		if c, err := box.Of(t.Context(), map[string]any{"claudecode/toolUseId": use}); err != nil || c.Agent != want {
			t.Errorf("the use %q is %s's, %v; want %s's", use, c.Agent, err, want)
		}
	}
}
