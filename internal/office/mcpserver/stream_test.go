package mcpserver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// listen opens a raw subscription and returns it once acknowledged: the server cannot write any byte that the test
// does not read.
func (o *office) listen(t *testing.T) *bufio.Reader {
	t.Helper()
	body :=
		`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["` + testURI + `"]},` + modernMeta + `}}`
	conn, err := o.dial(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: office\r\nContent-Type: application/json\r\n"+
		"Accept: application/json, text/event-stream\r\nMcp-Protocol-Version: %s\r\nMcp-Method: "+
		"subscriptions/listen\r\n"+
		"Content-Length: %d\r\n\r\n%s", stateless, len(body), body)
	r := bufio.NewReaderSize(conn, 16)
	if got := nextLine(t, r, "data:"); !strings.Contains(got, "notifications/subscriptions/acknowledged") {
		t.Fatalf("listen = %s, want an acknowledgement", got)
	}
	return r
}

// A subscriber that stops reading does not delay the others, not even for a moment, and is cut off after the write
// timeout (go-sdk issue 1227).
func TestStalledSubscriber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := openOffice(t, HTTPOptions{}, &http.Server{})
		stalled := o.listen(t)
		cs, in := o.connect(t, "ann", "2026-07-28")
		legacy, inLegacy := o.connect(t, "ann", "2025-11-25")
		for _, s := range []*mcp.ClientSession{cs, legacy} {
			if err := s.Subscribe(t.Context(), &mcp.SubscribeParams{URI: testURI}); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()

		start := time.Now()
		for range 500 {
			o.update(t)
			next(t, in.updates, "update")
			next(t, inLegacy.updates, "update in 2025-11-25")
		}
		if waited := time.Since(start); waited != 0 {
			t.Errorf("healthy subscribers waited %v for a stalled one, want 0", waited)
		}
		time.Sleep(defaultWriteTimeout + time.Second)
		if got := sessionCount(o); got != 2 {
			t.Errorf("%d sessions after the write timeout, want 2: the stalled one is to be cut off", got)
		}
		if _, err := io.Copy(io.Discard, stalled); err != nil {
			t.Errorf("the stalled subscriber's connection: %v, want its end", err)
		}
		o.update(t)
		next(t, in.updates, "update")
	})
}

// A client that does not read does not delay the closing of the office.
func TestCloseWithStalledSubscriber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := openOffice(t, HTTPOptions{}, &http.Server{})
		o.listen(t)
		o.update(t)
		synctest.Wait() // until its writer is blocked
		start := time.Now()
		o.handler.Close()
		if got := time.Since(start); got > farewell {
			t.Errorf("Close took %v, want no more than %v", got, farewell)
		}
	})
}

// A subscriber with a full queue blocks its writer, but no longer than the write timeout.
func TestFullQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := openOffice(t, HTTPOptions{}, &http.Server{})
		o.listen(t)
		start := time.Now()
		for i := 0; sessionCount(o) > 0; i++ {
			if i > 10*maxPending/100 {
				t.Fatalf("%d updates queued for one that does not read", i)
			}
			o.update(t)
		}
		if waited := time.Since(start); waited != defaultWriteTimeout {
			t.Errorf("cut off after %v, want %v", waited, defaultWriteTimeout)
		}
	})
}

// A stream outlives the server's timeouts (go-sdk issue 1262), is kept alive by comments (issue 1229) before its
// first answer, and then answers.
func TestLongCall(t *testing.T) {
	for _, session := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			o := openOffice(t, HTTPOptions{},
				&http.Server{ReadTimeout: 2 * time.Second, WriteTimeout: 2 * time.Second})
			const length = 10*defaultKeepAlive + time.Second
			o.tool("sleep", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				select {
				case <-time.After(length):
					return said("rested"), nil
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			})
			c := o.client(t, "ann")
			r := newRequest(t, "POST", "http://office/mcp", modernCall(1, "sleep"),
				headerVersion, stateless, "Mcp-Method", "tools/call", "Mcp-Name", "sleep")
			if session {
				r = newRequest(t, "POST", "http://office/mcp", rawCall(1, "sleep"), headerSession, initialize(t, c))
			}
			start := time.Now()
			resp, err := c.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if got := time.Since(start); got > defaultKeepAlive {
				t.Errorf("first byte after %v, want %v", got, defaultKeepAlive)
			}
			for name, want := range map[string]string{"Content-Type": "text/event-stream", "X-Accel-Buffering": "no"} {
				if got := resp.Header.Get(name); got != want {
					t.Errorf("%s = %q, want %q", name, got, want)
				}
			}
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatalf("reading the stream: %v", err)
			}
			if got := strings.Count(string(body), keepAliveComment); got != 10 {
				t.Errorf("%d comments, want 10", got)
			}
			if !strings.Contains(string(body), `"text":"rested"`) {
				t.Errorf("stream %q, want the answer", body)
			}
		})
	}
}

// A body longer than a slow client takes within the timeout is sent while the client takes each chunk in time.
func TestSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := openOffice(t, HTTPOptions{}, &http.Server{})
		const size = 10 * maxChunk
		o.tool("big", answer(text(strings.Repeat("x", size))))
		c := o.client(t, "ann")
		c.Transport.(bearer).ReadBufferSize = 4 << 10
		resp, err := c.Do(newRequest(t, "POST", "http://office/mcp", rawCall(1, "big"), headerSession,
			initialize(t, c)))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		n, buf := 0, make([]byte, maxChunk)
		for {
			time.Sleep(defaultWriteTimeout - time.Second)
			m, err := io.ReadFull(resp.Body, buf)
			n += m
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				break
			}
			if err != nil {
				t.Fatalf("after %d bytes: %v", n, err)
			}
		}
		if n < size {
			t.Errorf("read %d bytes, want more than %d", n, size)
		}
	})
}

// A client that stops reading in the middle of a long answer is cut off too.
func TestStalledReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := openOffice(t, HTTPOptions{}, &http.Server{})
		o.tool("big", answer(text(strings.Repeat("x", 10*maxChunk))))
		c := o.client(t, "ann")
		c.Transport.(bearer).ReadBufferSize = 4 << 10
		resp, err := c.Do(newRequest(t, "POST", "http://office/mcp", rawCall(1, "big"), headerSession,
			initialize(t, c)))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		time.Sleep(defaultWriteTimeout + time.Second)
		if n, err := io.Copy(io.Discard, resp.Body); !errors.Is(err, io.ErrUnexpectedEOF) || n > maxChunk {
			t.Errorf("read %d bytes and %v, want a few and %v", n, err, io.ErrUnexpectedEOF)
		}
	})
}

// HTTP/2 deadlines are timers that end a stream even if no one writes: neither the server's nor ours may remain set
// in a silence.
func TestLongCallHTTP2(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h2 http.Protocols
		h2.SetUnencryptedHTTP2(true)
		o := openOffice(t, HTTPOptions{KeepAlive: 24 * time.Hour},
			&http.Server{Protocols: &h2, WriteTimeout: 2 * time.Second})
		o.tool("step", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			time.Sleep(time.Hour)
			err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: 1, Progress: 1})
			time.Sleep(time.Hour)
			return said("stepped"), err
		})
		c := o.client(t, "ann")
		c.Transport.(bearer).Protocols = &h2
		got := do(t, c, newRequest(t, "POST", "http://office/mcp", modernCall(1, "step"),
			headerVersion, stateless, "Mcp-Method", "tools/call", "Mcp-Name", "step"))
		if !strings.Contains(got.Body, "notifications/progress") || !strings.Contains(got.Body, `"text":"stepped"`) {
			t.Errorf("stream %q, want progress and the answer", got.Body)
		}
	})
}

// brokenWriter is the ResponseWriter of a client that is gone.
type brokenWriter struct{ discard }

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

var errBroken = errors.New("broken")

// A client that cannot be written to ends its request, and the SDK gets the error.
func TestStreamBroken(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := newStream(brokenWriter{}, exchange{ctx: ctx, cancel: cancel, keepAlive: time.Hour, timeout: time.Hour})
	if _, err := s.Write([]byte("first")); err != nil {
		t.Errorf("Write = %v, want nil: it does not wait", err)
	}
	<-ctx.Done()
	if _, err := s.Write([]byte("second")); !errors.Is(err, errBroken) {
		t.Errorf("Write to a client that is gone = %v, want %v", err, errBroken)
	}
	s.end()
}

// Output after the end is dropped, because net/http has taken its writer back.
func TestStreamEnded(t *testing.T) {
	rec := httptest.NewRecorder()
	s := newStream(rec, exchange{ctx: t.Context(), cancel: func() {}, keepAlive: time.Hour, timeout: time.Hour})
	s.WriteHeader(http.StatusTeapot)
	if _, err := s.Write([]byte("kept")); err != nil {
		t.Errorf("Write: %v", err)
	}
	s.end()
	if _, err := s.Write([]byte("lost")); !errors.Is(err, errStreamEnded) {
		t.Errorf("Write after end = %v, want %v", err, errStreamEnded)
	}
	if rec.Code != http.StatusTeapot || rec.Body.String() != "kept" {
		t.Errorf("sent %d %q, want 418 %q", rec.Code, rec.Body, "kept")
	}
}
