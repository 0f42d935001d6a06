package load

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pennypost/internal/mail"
)

// agent is a client with a credential.
type agent struct {
	name  mail.Name
	token string
}

// watcher reads the room's events on a connection of its own.
type watcher struct {
	body   io.ReadCloser
	stop   context.CancelFunc
	free   func()
	closed atomic.Bool

	messages, events atomic.Int64
	problem          string // once read has returned
}

// watch opens the events after a sequence number.
func (p *place) watch(t *testing.T, from mail.Seq) *watcher {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s/api/v1/rooms/load/events?after=%d",
		p.http, from), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+p.token)
	transport := &http.Transport{}
	resp, err := transport.RoundTrip(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("events: %v, %v", resp, err)
	}
	return &watcher{body: resp.Body, stop: stop, free: transport.CloseIdleConnections}
}

// read counts until the stream ends. Sequence numbers must rise.
func (w *watcher) read() {
	lines := bufio.NewReaderSize(w.body, 16<<10)
	var last uint64
	for {
		line, err := lines.ReadSlice('\n')
		if err == bufio.ErrBufferFull {
			continue // the rest of data, which is not needed
		}
		if err != nil {
			if !w.closed.Load() {
				w.problem = "the stream ended: " + err.Error()
			}
			return
		}
		if seq, ok := bytes.CutPrefix(line, []byte("id: ")); ok {
			n, err := strconv.ParseUint(string(bytes.TrimSpace(seq)), 10, 64)
			if err != nil || n <= last {
				w.problem = fmt.Sprintf("%s behind %d", line, last)
			}
			last = n
			w.events.Add(1)
		}
		if bytes.Equal(line, []byte("event: message\n")) {
			w.messages.Add(1)
		}
	}
}

func (w *watcher) close() {
	w.closed.Store(true)
	w.stop()
	w.body.Close()
	w.free()
}

// session is one MCP session that sends requests, waits and reads until ctx ends, and is then deleted.
func (p *place) session(ctx context.Context, t *testing.T, a agent, calls *int64) {
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	c := mcp.NewClient(&mcp.Implementation{Name: "load", Version: "1"}, nil)
	s, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: p.http + "/mcp", HTTPClient: &http.Client{Transport: bearer{a.token, transport}},
	}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"}) // the last revision with sessions
	if err != nil {
		t.Errorf("%s: %v", a.name, err)
		return
	}
	defer s.Close()
	for ctx.Err() == nil {
		for _, tool := range []string{"read_messages", "list_agents"} {
			res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool})
			if err != nil || res.IsError {
				t.Errorf("%s: %s: %v", a.name, tool, err)
				return
			}
			atomic.AddInt64(calls, 1)
		}
		sleep(ctx, 2*time.Second)
	}
}

// bearer adds a token to each request.
type bearer struct {
	token string
	on    http.RoundTripper
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.on.RoundTrip(r)
}

// send sends to a room's sink over the Unix socket.
func (p *place) send(ctx context.Context, in mail.RoomName, from mail.Name, body string) (mail.ID, error) {
	room, err := p.office.Room(ctx, in, from)
	if err != nil {
		return "", err
	}
	sent, err := room.Send(ctx, mail.Draft{To: mail.Recipients{"sink"}, Body: body})
	return sent.ID, err
}
