package systemtest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pennypost/internal/mail"
)

// room is the path of the room that commands mean in a directory without a repository.
const room = "/api/v1/rooms/default"

// door is a connection to a post office over HTTP.
type door struct {
	client *http.Client
	base   string
	token  string // bearer token; empty: none
	agent  string // the agent that the peer of a Unix socket claims to act for; empty: the token's, or the user
}

// socketDoor goes to a post office's Unix socket.
func socketDoor(path, agent string) *door {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}
	return &door{client: &http.Client{Transport: &http.Transport{DialContext: dial}}, base: "http://pennypost",
		agent: agent}
}

// socket is the door to the office's own socket, wherever its post office runs. The tests do not count as the user
// there, so without an agent it shows the operator's token.
func (o *office) socket(agent string) *door {
	d := socketDoor(filepath.Join(o.home, "pennypost.sock"), agent)
	if agent == "" {
		d.token, _ = o.operatorToken() // it does not exist before the first start
	}
	return d
}

// door goes to the post office's TCP address. Each door has its own connections.
func (d *daemon) door(token string) *door {
	return &door{client: &http.Client{Transport: new(http.Transport)}, base: d.HTTP, token: token}
}

// operatorToken returns the operator's token.
func (o *office) operatorToken() (string, error) {
	b, err := os.ReadFile(filepath.Join(o.home, "token"))
	return strings.TrimSpace(string(b)), err
}

// operator is operatorToken for a test.
func (o *office) operator(t testing.TB) string {
	t.Helper()
	token, err := o.operatorToken()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// RoundTrip implements http.RoundTripper: it adds the sender's identity.
func (d *door) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if d.token != "" && r.Header.Get("Authorization") == "" {
		r.Header.Set("Authorization", "Bearer "+d.token)
	}
	if d.agent != "" {
		r.Header.Set("Pennypost-Agent", url.PathEscape(d.agent))
	}
	return d.client.Transport.RoundTrip(r)
}

// answer is a whole response.
type answer struct {
	status int
	header http.Header
	body   string
}

// do sends a request with header fields as "Name: value" and reads the answer, which must not take long.
func (d *door) do(method, path, body string, fields ...string) (answer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return d.send(ctx, method, path, strings.NewReader(body), fields...)
}

func (d *door) send(ctx context.Context, method, path string, body io.Reader, fields ...string) (answer, error) {
	resp, err := d.open(ctx, method, path, body, fields...)
	if err != nil {
		return answer{}, err
	}
	text, err := readAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(text)}, err
}

func (d *door) open(ctx context.Context, method, path string, body io.Reader, fields ...string) (*http.Response,
	error) {
	r, err := http.NewRequestWithContext(ctx, method, d.base+path, body)
	if err != nil {
		return nil, err
	}
	if method == http.MethodPost || method == http.MethodPatch {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, f := range fields {
		name, value, _ := strings.Cut(f, ": ")
		if r.Header.Set(name, value); name == "Host" {
			r.Host = value
		}
	}
	return d.RoundTrip(r)
}

// fetch makes a request whose answer must have the status, and decodes the answer.
func fetch[T any](t testing.TB, d *door, status int, method, path, body string, fields ...string) T {
	t.Helper()
	a, err := d.do(method, path, body, fields...)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	if a.status != status {
		t.Fatalf("%s %s = %d, want %d: %s", method, path, a.status, status, a.body)
	}
	if a.body == "" {
		a.body = "null"
	}
	return decode[T](t, a.body)
}

// post sends a message over HTTP, with a key unless that is empty.
func (d *door) post(draft mail.Draft, key string) (mail.Sent, error) {
	body, err := json.Marshal(draft)
	if err != nil {
		return mail.Sent{}, err
	}
	var fields []string
	if key != "" {
		fields = append(fields, "Idempotency-Key: "+key)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	a, err := d.send(ctx, http.MethodPost, room+"/messages", bytes.NewReader(body), fields...)
	if err != nil {
		return mail.Sent{}, err
	}
	switch a.status {
	case http.StatusCreated, http.StatusOK, http.StatusAccepted: // it is stored, was stored already, or is kept
	default:
		return mail.Sent{}, fmt.Errorf("send: %d %s", a.status, a.body)
	}
	var s mail.Sent
	return s, json.Unmarshal([]byte(a.body), &s)
}

// awaitWatchers waits until that many waits and watches are open, according to the metrics: a wake must not come
// before its recipient sleeps.
func (o *office) awaitWatchers(n string) error {
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		a, err := o.socket("").do(http.MethodGet, "/metrics", "")
		switch {
		case err != nil:
			return err
		case strings.Contains(a.body, "\npennypost_watchers "+n+"\n"):
			return nil
		case time.Now().After(deadline):
			return fmt.Errorf("there are not %s watchers: %s", n, a.body)
		}
	}
}

// stream is an event stream (HTML, 9.2) being read.
type stream struct {
	resp   *http.Response
	lines  *bufio.Reader
	cancel context.CancelFunc
}

// event is one server-sent event of a room.
type event struct {
	id   string
	kind string
	mail.Event
}

// events opens the room's stream after a sequence number: in the query, and in the header Last-Event-ID unless that
// is empty.
func (d *door) events(after, lastID string) (*stream, error) {
	var fields []string
	if lastID != "" {
		fields = append(fields, "Last-Event-ID: "+lastID)
	}
	ctx, cancel := context.WithCancel(context.Background())
	resp, err := d.open(ctx, http.MethodGet, room+"/events?after="+after, nil, fields...)
	if err != nil {
		cancel()
		return nil, err
	}
	s := &stream{resp, bufio.NewReader(resp.Body), cancel}
	if kind := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || kind != "text/event-stream" {
		body, _ := io.ReadAll(resp.Body)
		s.close()
		return nil, fmt.Errorf("events: %s, %s: %s", resp.Status, kind, body)
	}
	return s, nil
}

func (s *stream) close() {
	s.cancel()
	s.resp.Body.Close()
}

// next returns the next event, io.EOF at the end of a stream that was closed properly.
func (s *stream) next() (event, error) {
	timeout := time.AfterFunc(patience, s.cancel)
	defer timeout.Stop()
	var e event
	for data := ""; ; {
		line, err := s.lines.ReadString('\n')
		if err != nil {
			return e, err
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch {
		case name == "id":
			e.id = value
		case name == "event":
			e.kind = value
		case name == "data":
			data += value
		case line == "\n" && data != "":
			return e, json.Unmarshal([]byte(data), &e.Event)
		}
	}
}
