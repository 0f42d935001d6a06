package httpapi

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// pipes is a listener whose connections are net.Pipes, so that tests run on synctest's time.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	c, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (p pipes) Close() error   { close(p); return nil }
func (p pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

func (p pipes) dial(context.Context, string, string) (net.Conn, error) {
	here, there := net.Pipe()
	p <- there
	return here, nil
}

// testServer is a real HTTP server in a bubble.
type testServer struct {
	*testing.T
	pipes  pipes
	office *fakeOffice
	client *http.Client
	close  context.CancelFunc // begins to stop
}

func inBubble(t *testing.T, run func(*testServer)) {
	synctest.Test(t, func(t *testing.T) {
		closing, cancel := context.WithCancel(t.Context())
		h, office := newTestAPI(t, Options{Closing: closing})
		s := &testServer{T: t, pipes: make(pipes), office: office, close: cancel}
		transport := &http.Transport{DialContext: s.pipes.dial}
		s.client = &http.Client{Transport: transport}
		server := &http.Server{Handler: Pace(h)}
		done := make(chan error)
		go func() { done <- server.Serve(s.pipes) }()
		run(s)
		cancel()
		transport.CloseIdleConnections()
		server.Close()
		<-done
	})
}

// open requests a path and returns the response.
func (s *testServer) open(ctx context.Context, path string, header ...string) *http.Response {
	s.Helper()
	return s.do(ctx, http.MethodGet, path, "", header...)
}

func (s *testServer) ask(ctx context.Context, method, path string, header ...string) *http.Response {
	s.Helper()
	return s.do(ctx, method, path, "", header...)
}

func (s *testServer) post(ctx context.Context, path, body string) *http.Response {
	s.Helper()
	return s.do(ctx, http.MethodPost, path, body, "Content-Type", wire.JSON)
}

func (s *testServer) do(ctx context.Context, method, path, body string, header ...string) *http.Response {
	s.Helper()
	r, err := http.NewRequestWithContext(ctx, method, "http://pennypost"+wire.Base+path, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := s.client.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	return resp
}

func (s *testServer) send(body string) {
	room := s.office.room("lab")
	room.add(mail.Event{Message: &mail.Message{ID: mail.ID(fmt.Sprint("m", len(room.events)+1)),
		To: []mail.Address{"all"}, Body: body}})
}

func (s *testServer) watching() int {
	room := s.office.room("lab")
	room.mu.Lock()
	defer room.mu.Unlock()
	return room.watching
}

// field reads lines until one begins with name, and returns its rest.
func field(t *testing.T, lines *bufio.Reader, name string) string {
	t.Helper()
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("while looking for %q: %v", name, err)
		}
		if rest, ok := strings.CutPrefix(line, name); ok {
			return strings.TrimSpace(rest)
		}
	}
}

func TestEvents(t *testing.T) {
	inBubble(t, func(s *testServer) {
		s.send("one")
		s.send("two\nlines")
		ctx, cancel := context.WithCancel(s.Context())
		resp := s.open(ctx, "/rooms/lab/events?after=0", "Last-Event-ID", "1")
		if got := resp.Header.Get("Content-Type"); got != wire.Events {
			t.Errorf("Content-Type = %q", got)
		}
		lines := bufio.NewReader(resp.Body)
		if id, event := field(t, lines, "id: "), field(t, lines, "event: "); id != "2" || event != "message" {
			t.Errorf("id %s, event %s, want 2, message", id, event)
		}
		var e mail.Event
		if err := json.Unmarshal([]byte(field(t, lines, "data: ")), &e); err != nil || e.Message.Body != "two\nlines" {
			t.Errorf("event = %+v, %v", e, err)
		}
		began := time.Now()
		field(t, lines, "") // end of the event
		field(t, lines, ":")
		field(t, lines, "")
		field(t, lines, ":")
		if d := time.Since(began); d != 2*defaultKeepAlive {
			t.Errorf("two comments after %v, want %v", d, 2*defaultKeepAlive)
		}
		s.office.room("lab").add(mail.Event{Agent: &mail.AgentChange{Name: "ann"}})
		if id, event := field(t, lines, "id: "), field(t, lines, "event: "); id != "3" || event != "agent" {
			t.Errorf("id %s, event %s, want 3, agent", id, event)
		}
		cancel()
		resp.Body.Close()
		synctest.Wait()
		if n := s.watching(); n != 0 {
			t.Errorf("%d watches are open after the client left", n)
		}
	})
}

// TestDeskEvents holds that the stream says at its start to look, then names the rooms that change, and is for the
// user only.
func TestDeskEvents(t *testing.T) {
	inBubble(t, func(s *testServer) {
		ctx, cancel := context.WithCancel(s.Context())
		resp := s.open(ctx, "/desk/events")
		lines := bufio.NewReader(resp.Body)
		for _, want := range []mail.DeskChange{{}, {Room: "lab", Seq: 7, Needs: 1, Unread: 2}} {
			var got mail.DeskChange
			if event := field(t, lines, "event: "); event != "desk" {
				t.Errorf("event %s, want desk", event)
			}
			if err := json.Unmarshal([]byte(field(t, lines, "data: ")), &got); err != nil || got != want {
				t.Errorf("change = %+v, %v; want %+v", got, err, want)
			}
		}
		field(t, lines, "")
		field(t, lines, ":") // a sign of life
		cancel()
		resp.Body.Close()
	})
	h, _ := newTestAPI(t, Options{})
	for _, path := range []string{"/desk", "/desk/events", "/rooms/lab/desk"} {
		want{path: path, as: "ann", status: 403, detail: "only the user"}.check(t, h, nil)
	}
}

func TestEventsEndWhenThePostOfficeStops(t *testing.T) {
	inBubble(t, func(s *testServer) {
		resp := s.open(s.Context(), "/rooms/lab/events")
		s.close()
		if rest, err := io.ReadAll(resp.Body); err != nil || strings.Contains(string(rest), "data:") {
			t.Errorf("rest of the stream: %q, %v", rest, err)
		}
	})
}

// TestMetadataWithLineBreaks holds that no event can break out of its data field.
func TestMetadataWithLineBreaks(t *testing.T) {
	inBubble(t, func(s *testServer) {
		s.office.room("lab").add(mail.Event{Message: &mail.Message{ID: "m1",
			Metadata: mail.Metadata("{\n\"a\":\r\n\n1}")}})
		resp := s.open(s.Context(), "/rooms/lab/events")
		defer resp.Body.Close()
		data := field(t, bufio.NewReader(resp.Body), "data: ")
		if !strings.HasSuffix(data, "}") || !strings.Contains(data, `"metadata":{"a":1}`) {
			t.Errorf("data = %s", data)
		}
	})
}

func TestSlowReader(t *testing.T) {
	inBubble(t, func(s *testServer) {
		slow, err := s.pipes.dial(s.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer slow.Close()
		fmt.Fprintf(slow, "GET %s/rooms/lab/events HTTP/1.1\r\nHost: pennypost\r\n\r\n", wire.Base)
		quick := s.open(s.Context(), "/rooms/lab/events")
		defer quick.Body.Close()
		lines := bufio.NewReader(quick.Body)
		for i := range 100 {
			s.send(strings.Repeat("x", 10_000))
			if id := field(t, lines, "id: "); id != fmt.Sprint(i+1) {
				t.Fatalf("the quick reader got %s, want %d", id, i+1)
			}
		}
		if n := s.watching(); n != 2 {
			t.Errorf("%d watches, want 2", n)
		}
		go io.Copy(io.Discard, lines) // it ends with the body
		time.Sleep(defaultWriteTimeout + time.Second)
		synctest.Wait()
		if n := s.watching(); n != 1 {
			t.Errorf("%d watches after the write timeout, want 1", n)
		}
	})
}

// TestSlowReaderOfAPage holds that an answer that is not read does not stay in memory.
func TestSlowReaderOfAPage(t *testing.T) {
	inBubble(t, func(s *testServer) {
		for range 20 {
			s.send(strings.Repeat("x", 10_000))
		}
		slow, err := s.pipes.dial(s.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer slow.Close()
		fmt.Fprintf(slow, "GET %s/rooms/lab/inbox HTTP/1.1\r\nHost: pennypost\r\n\r\n", wire.Base)
		time.Sleep(defaultWriteTimeout + time.Second)
		if n, err := slow.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("after the write timeout: %d bytes, %v, want the connection closed", n, err)
		}
	})
}

func TestWait(t *testing.T) {
	inBubble(t, func(s *testServer) {
		began := time.Now()
		time.AfterFunc(40*time.Second, func() { s.send("at last") })
		resp := s.open(s.Context(), "/rooms/lab/wait?timeout=10m")
		if d := time.Since(began); d != defaultKeepAlive || resp.Header.Get("Content-Type") != wire.JSON {
			t.Errorf("header after %v with %v, want a sign of life after %v", d, resp.Header, defaultKeepAlive)
		}
		body, err := io.ReadAll(resp.Body)
		var it mail.Item
		if err := json.Unmarshal(body, &it); err != nil || it.Body != "at last" {
			t.Errorf("body = %q, %v", body, err)
		}
		if d := time.Since(began); err != nil || d != 40*time.Second {
			t.Errorf("answered after %v, %v", d, err)
		}
	})
}

func TestWaitIsOver(t *testing.T) {
	inBubble(t, func(s *testServer) {
		began := time.Now()
		body, err := io.ReadAll(s.open(s.Context(), "/rooms/lab/wait").Body)
		if d := time.Since(began); strings.TrimSpace(string(body)) != "null" || err != nil || d != defaultWait {
			t.Errorf("after %v: %q, %v; want null after %v", d, body, err, defaultWait)
		}
	})
}

// TestWaitIsAnsweredAtOnce holds that an answer before the first sign of life declares its length, so that the
// client need not wait for its end.
func TestWaitIsAnsweredAtOnce(t *testing.T) {
	inBubble(t, func(s *testServer) {
		time.AfterFunc(time.Second, func() { s.send("hello") })
		resp := s.open(s.Context(), "/rooms/lab/wait")
		body, err := io.ReadAll(resp.Body)
		if err != nil || !strings.Contains(string(body), "hello") || resp.ContentLength != int64(len(body)) {
			t.Errorf("%d bytes said to be %d, %v: %s", len(body), resp.ContentLength, err, body)
		}
	})
}

func TestWaitEndsWithItsClient(t *testing.T) {
	inBubble(t, func(s *testServer) {
		ctx, cancel := context.WithTimeout(s.Context(), time.Second)
		defer cancel()
		r, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://pennypost"+wire.Base+"/rooms/lab/wait", nil)
		if _, err := s.client.Do(r); err == nil {
			t.Error("a wait ended without its client")
		}
		synctest.Wait() // a handler that still runs fails the bubble
	})
}

// TestWaitWhenThePostOfficeStops holds that a wait then ends as if its time were over: a client that still waits
// asks again.
func TestWaitWhenThePostOfficeStops(t *testing.T) {
	// before the first sign of life, and after it
	for _, after := range []time.Duration{time.Second, 20 * time.Second} {
		inBubble(t, func(s *testServer) {
			time.AfterFunc(after, s.close)
			resp := s.open(s.Context(), "/rooms/lab/wait")
			if body, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != 200 ||
				strings.TrimSpace(string(body)) != "null" {
				t.Errorf("stopped after %v: %d %q, %v; want 200 null", after, resp.StatusCode, body, err)
			}
		})
	}
}

// TestWaitFails holds that an immediate error has its own status.
func TestWaitFails(t *testing.T) {
	h, office := newTestAPI(t, Options{})
	office.room("lab").fail = mail.Errorf(mail.NotFound, "there is no agent %q", "ann")
	want{path: "/rooms/lab/wait", status: 404, detail: "no agent"}.check(t, h, nil)
}

// TestRing holds that a client that waits to be rung gets signs of life, and is answered when it is rung, when the
// time is over, and when the post office stops.
func TestRing(t *testing.T) {
	for _, c := range []struct {
		query, want string
		stop, after time.Duration
	}{
		{"door=rewake", `{"id":"ring_rewake","text":"mail for user"}`, 0, 0},
		{"session=zzz", `{"id":"ring_monitor","text":"mail for user"}`, 0, 3 * defaultKeepAlive},
		{"door=rewake&session=zzzzzz", "null", 0, defaultWait},
		{"door=rewake&session=zzzzzz&timeout=40s", "null", 0, 40 * time.Second},
		{"door=rewake&session=zzzzzz", "null", 20 * time.Second, 20 * time.Second},
	} {
		inBubble(t, func(s *testServer) {
			if c.stop > 0 {
				time.AfterFunc(c.stop, s.close)
			}
			began := time.Now()
			body, err := io.ReadAll(s.ask(s.Context(), http.MethodPost, "/rooms/lab/ring?"+c.query).Body)
			if d := time.Since(began); strings.TrimSpace(string(body)) != c.want || err != nil || d != c.after {
				t.Errorf("%s: %q after %v, %v; want %s after %v", c.query, body, d, err, c.want, c.after)
			}
		})
	}
	h, _ := newTestAPI(t, Options{})
	// the request takes a ring, which is more than reading
	want{path: "/rooms/lab/ring?door=monitor", status: 405}.check(t, h, nil)
	want{method: "POST", path: "/rooms/lab/ring?door=tmux", status: 400, detail: "rewake, monitor, channel"}.check(t,
		h, nil)
}

// TestHook holds that a client's input, and its place, reach the code that answers it, and that a hook that waits is
// answered when it is rung, when the time is over, and when the post office stops.
func TestHook(t *testing.T) {
	h, _ := newTestAPI(t, Options{})
	in := wire.Hook{Dir: "/srv/a b", As: "小克", Environ: []string{"TMUX=a,b c", "SECRET=x", "PENNYPOST_ROOM=lab"}}
	header := in.Header()
	header.Set("Content-Type", wire.JSON)
	want{method: "POST", path: "/hooks/claude/Stop", header: header, body: `{"a":1}`, status: 200,
		has: `claude Stop {\"a\":1} in /srv/a b as 小克, [\"TMUX=a,b c\" \"PENNYPOST_ROOM=lab\"]","ticket":"T1"`}.check(
		t, h, nil)
	want{method: "POST", path: "/hooks/nobody/Stop", body: `{}`, status: 200,
		has: `"out":"{}","why":"the client is not known"`}.check(t, h, nil)
	want{method: "POST", path: "/taken/T2", status: 404, detail: "no such ticket"}.check(t, h, nil)
	h, _ = newTestAPI(t, Options{Local: func(*http.Request) bool { return false }})
	want{method: "POST", path: "/hooks/claude/Stop", body: `{}`, status: 403, detail: "Unix socket only"}.check(t, h,
		nil)
	want{method: "POST", path: "/taken/T1", status: 403, detail: "Unix socket only"}.check(t, h, nil)
	for _, c := range []struct {
		said, want  string
		stop, after time.Duration
	}{
		{"", `{"err":"mail for ann","exit":2}`, 0, 0},
		{"zzz", `{"err":"mail for ann","exit":2}`, 0, 3 * defaultKeepAlive},
		{"zzzzzz", `{"wait":true}`, 0, hookWait},
		{"zzzzzz", `{"wait":true}`, 20 * time.Second, 20 * time.Second},
	} {
		inBubble(t, func(s *testServer) {
			if c.stop > 0 {
				time.AfterFunc(c.stop, s.close)
			}
			began := time.Now()
			body, err := io.ReadAll(s.post(s.Context(), "/hooks/claude/wait", c.said).Body)
			if d := time.Since(began); strings.TrimSpace(string(body)) != c.want || err != nil || d != c.after {
				t.Errorf("%s: %q after %v, %v; want %s after %v", c.said, body, d, err, c.want, c.after)
			}
		})
	}
}

// TestHookThatMayAsk holds that a client whose hook may wait for its person still gets to its own dialog: a slow
// post office delays it only until the delay is noticed, a fault not at all. A hook that waits gets signs of life.
func TestHookThatMayAsk(t *testing.T) {
	for _, c := range []struct {
		said, want string
		signs      int
		after      time.Duration
	}{
		{"{}", `"out":"claude PermissionRequest {} in`, 1, 0},
		{"slow", `{"why":"the post office is slow"}`, 1, askTime},
		{"asked", `"out":"claude PermissionRequest asked in`, 4, 3*askSign + askSign/2},
		{"broken", `{"why":"the post office failed in this hook"}`, 1, 0},
	} {
		inBubble(t, func(s *testServer) {
			began := time.Now()
			body, err := io.ReadAll(s.post(s.Context(), "/hooks/claude/PermissionRequest", c.said).Body)
			answer := strings.TrimLeft(string(body), "\n")
			if d, signs := time.Since(began), len(body)-len(answer); err != nil || d != c.after || signs != c.signs ||
				!strings.Contains(answer, c.want) {
				t.Errorf("%s: %q after %v, %v; want %s after %v and %d signs", c.said, body, d, err, c.want, c.after,
					c.signs)
			}
		})
	}
}

func TestExportBreaks(t *testing.T) {
	inBubble(t, func(s *testServer) {
		for range 20 {
			s.send(strings.Repeat("x", 4000))
		}
		s.send("unreadable")
		resp := s.open(s.Context(), "/rooms/lab/export")
		if body, err := io.ReadAll(resp.Body); err == nil || resp.StatusCode != 200 || len(body) < chunk {
			t.Errorf("%d, %d bytes, %v: want a part and then a broken connection", resp.StatusCode, len(body), err)
		}
	})
	inBubble(t, func(s *testServer) {
		s.send("unreadable")
		if resp := s.open(s.Context(), "/rooms/lab/export"); resp.StatusCode != 500 {
			t.Errorf("an export that fails at once: %d, want 500", resp.StatusCode)
		}
	})
}

// TestSlowWork holds that the deadline of a body does not expire while the handler works on it.
func TestSlowWork(t *testing.T) {
	inBubble(t, func(s *testServer) {
		s.office.room("lab").slow = 10 * bodyGrace
		resp, err := s.client.Post("http://pennypost"+wire.Base+"/rooms/lab/import", wire.Lines,
			strings.NewReader("{}\n"))
		if err != nil || resp.StatusCode != 200 {
			t.Errorf("import = %v, %v, want 200", resp, err)
		}
		resp.Body.Close()
	})
}

// TestSlowBody holds that the server does not wait for a body that does not arrive.
func TestSlowBody(t *testing.T) {
	inBubble(t, func(s *testServer) {
		began := time.Now()
		never, writer := io.Pipe()
		defer writer.Close()
		resp, err := s.client.Post("http://pennypost"+wire.Base+"/rooms/lab/marks", wire.JSON, never)
		if d := time.Since(began); err != nil || resp.StatusCode != 408 || d != bodyGrace {
			t.Errorf("after %v: %v, %v; want 408 after %v", d, resp, err, bodyGrace)
		}
		resp.Body.Close()
	})
}

// A body that trickles in ends when it is later than its size allows; a steady one may take long.
func TestTrickledBody(t *testing.T) {
	for _, test := range []struct {
		name   string
		chunk  int
		pause  time.Duration
		status int
		least  time.Duration
	}{
		{"a byte a second", 1, time.Second, 408, bodyGrace},
		{"twice the slowest rate", 32 << 10, time.Second, 400, 20 * time.Second}, // not JSON, but read to its end
	} {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, func(s *testServer) {
				began := time.Now()
				body, writer := io.Pipe()
				wrote := make(chan struct{})
				go func() {
					defer close(wrote)
					for range 25 {
						time.Sleep(test.pause)
						if _, err := writer.Write(bytes.Repeat([]byte(" "), test.chunk)); err != nil {
							return
						}
					}
					writer.Close()
				}()
				resp, err := s.client.Post("http://pennypost"+wire.Base+"/rooms/lab/marks", wire.JSON, body)
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				body.Close()
				<-wrote
				if d := time.Since(began); resp.StatusCode != test.status || d < test.least ||
					d > test.least+10*time.Second {
					t.Errorf("after %v: %d; want %d after %v", d, resp.StatusCode, test.status, test.least)
				}
			})
		})
	}
}

// The deadline of a body must not end a much later answer, nor the next request.
func TestLongAnswerBehindABody(t *testing.T) {
	inBubble(t, func(s *testServer) {
		r, err := http.NewRequestWithContext(s.Context(), http.MethodGet, "http://pennypost"+wire.Base+
			"/rooms/lab/wait?timeout=2m&after=9", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			resp, err := s.client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(resp.Body)
			if err != nil || strings.TrimSpace(string(text)) != "null" {
				t.Errorf("the wait ended with %q, %v", text, err)
			}
			r.Body = io.NopCloser(strings.NewReader("{}"))
		}
	})
}
