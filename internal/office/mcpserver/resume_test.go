package mcpserver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A caller is a raw client of one session that may hang up and come back.
type caller struct {
	t       *testing.T
	client  *http.Client
	session string
	hangUp  context.CancelFunc
	body    *bufio.Reader
}

func newCaller(t *testing.T, o *office) *caller {
	c := o.client(t, "ann")
	return &caller{t: t, client: c, session: initialize(t, c)}
}

// send sends a request of the session and returns the response's status.
func (c *caller) send(method, body string, headers ...string) int {
	c.t.Helper()
	ctx, cancel := context.WithCancel(c.t.Context())
	c.hangUp = cancel
	headers = append(headers, headerSession, c.session, headerVersion, "2025-11-25")
	resp, err := c.client.Do(newRequest(c.t, method, "http://office/mcp", body, headers...).WithContext(ctx))
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { cancel(); resp.Body.Close() })
	c.body = bufio.NewReader(resp.Body)
	return resp.StatusCode
}

// lastID reads the id of the next event.
func (c *caller) lastID() string {
	c.t.Helper()
	return strings.TrimPrefix(nextLine(c.t, c.body, "id: "), "id: ")
}

func (c *caller) answer() string {
	c.t.Helper()
	return nextLine(c.t, c.body, "data: {")
}

// A client whose connection broke comes back for the answer, given before or after that, and its call does not
// notice. A client that stays away loses it.
func TestResume(t *testing.T) {
	const length = resumeGrace / 2
	for _, test := range []struct {
		name    string
		away    []time.Duration // how long, each time the client hung up
		resumed bool
	}{
		{"back before the answer", []time.Duration{time.Second}, true},
		{"back after the answer", []time.Duration{length + time.Second}, true},
		{"back twice", []time.Duration{time.Second, time.Second}, true},
		{"back after long", []time.Duration{resumeGrace + time.Second}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := openOffice(t, HTTPOptions{}, &http.Server{})
				o.tool("slow", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					length := length
					if !test.resumed {
						length = time.Hour
					}
					select {
					case <-time.After(length):
						return said("slow and steady"), nil
					case <-ctx.Done():
						return nil, ctx.Err()
					}
				})
				c := newCaller(t, o)
				c.send("POST", rawCall(2, "slow"))
				id := c.lastID()
				for _, away := range test.away {
					c.hangUp()
					time.Sleep(away)
					if got := c.send("GET", "", "Last-Event-ID", id); got != http.StatusOK {
						t.Fatalf("resuming = %d, want 200", got)
					}
				}
				if got := c.answer(); strings.Contains(got, `"text":"slow and steady"`) != test.resumed {
					t.Errorf("answer %s; want it resumed: %v", got, test.resumed)
				}
			})
		})
	}
}

// A client may come back before we know that it left.
func TestResumeOverDeadConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := openOffice(t, HTTPOptions{}, &http.Server{})
		release := make(chan struct{})
		o.tool("slow", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			<-release
			return said("slow and steady"), nil
		})
		c := newCaller(t, o)
		c.send("POST", rawCall(2, "slow"))
		dead := c.body
		if got := c.send("GET", "", "Last-Event-ID", c.lastID()); got != http.StatusOK {
			t.Fatalf("resuming = %d, want 200", got)
		}
		close(release)
		if got := c.answer(); !strings.Contains(got, "slow and steady") {
			t.Errorf("answer %s, want slow and steady", got)
		}
		if rest, _ := io.ReadAll(dead); strings.Contains(string(rest), "slow and steady") {
			t.Errorf("the old connection got %q, want no answer", rest)
		}
	})
}

// Events that a client has seen are not sent again.
func TestResumeFromLastSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := openOffice(t, HTTPOptions{}, &http.Server{})
		o.tool("two", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: 1, Progress: 1})
			return said("the second"), err
		})
		c := newCaller(t, o)
		c.send("POST", rawCall(2, "two"))
		primed, progressed := c.lastID(), c.lastID()
		for id, want := range map[string]string{primed: "notifications/progress", progressed: "the second"} {
			if got := c.send("GET", "", "Last-Event-ID", id); got != http.StatusOK {
				t.Fatalf("resuming after %s = %d, want 200", id, got)
			}
			if got := c.answer(); !strings.Contains(got, want) {
				t.Errorf("after %s came %s, want %s", id, got, want)
			}
		}
	})
}

// A client that came back and hung up again gets the whole grace again.
func TestResumeThenGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := openOffice(t, HTTPOptions{}, &http.Server{})
		c := newCaller(t, o)
		c.send("POST", rawCall(2, "wait"))
		id := c.lastID()
		c.hangUp()
		time.Sleep(resumeGrace - time.Second)
		c.send("GET", "", "Last-Event-ID", id)
		time.Sleep(3 * resumeGrace)
		c.hangUp()
		start := time.Now()
		if err := next(t, o.ended, "end of the call"); !errors.Is(err, context.Canceled) {
			t.Errorf("the handler saw %v, want %v", err, context.Canceled)
		}
		if got := time.Since(start); got != resumeGrace {
			t.Errorf("cancelled after %v, want %v", got, resumeGrace)
		}
	})
}

// The last few answered calls can be asked for again; a call under way always can.
func TestKeptAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := openOffice(t, HTTPOptions{}, &http.Server{})
		o.tool("small", answer(text("ann")))
		o.tool("big", answer(text(strings.Repeat("x", maxLeftBytes))))
		c := newCaller(t, o)
		c.send("POST", rawCall(1, "wait"))
		waiting := c.lastID()
		c.hangUp()

		ask := func(tool string) string {
			c.send("POST", rawCall(2, tool))
			id := c.lastID()
			c.answer()
			synctest.Wait() // until the exchange has ended
			return id
		}
		check := func(what, id string, want int) {
			t.Helper()
			if got := c.send("GET", "", "Last-Event-ID", id); got != want {
				t.Errorf("%s: resuming = %d, want %d", what, got, want)
			}
			synctest.Wait()
		}
		var ids []string
		for range maxLeft + 1 {
			ids = append(ids, ask("small"))
		}
		check("the oldest of too many", ids[0], http.StatusBadRequest)
		check("the oldest kept", ids[1], http.StatusOK)
		if got := c.answer(); !strings.Contains(got, `"text":"ann"`) {
			t.Errorf("answered again: %s, want ann", got)
		}
		ask("small")
		check("the one asked for lately", ids[1], http.StatusOK)
		check("the oldest kept, then", ids[2], http.StatusBadRequest)
		first, second := ask("big"), ask("big")
		check("the last small one, after too many bytes", ids[maxLeft], http.StatusBadRequest)
		check("the first big one", first, http.StatusBadRequest)
		check("the last big one", second, http.StatusOK)
		check("the call under way", waiting, http.StatusOK)
		check("an unknown stream", "nope_0", http.StatusBadRequest)
	})
}

// News is not replayed: a reopened stream has new events only.
func TestStandaloneStreamReopened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := openOffice(t, HTTPOptions{}, &http.Server{})
		c := newCaller(t, o)
		c.send("POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":%q}}`,
			testURI))
		c.answer()
		var last string
		for i, headers := range [][]string{nil, nil, {"Last-Event-ID", ""}} {
			if headers != nil {
				headers[1] = last
			}
			if got := c.send("GET", "", headers...); got != http.StatusOK {
				t.Fatalf("opening %d = %d, want 200", i, got)
			}
			synctest.Wait()
			o.update(t)
			last = c.lastID()
			c.answer()
			if n := c.body.Buffered(); n > 1 { // the blank line
				t.Errorf("opening %d: %d bytes follow the only update", i, n)
			}
			c.hangUp()
			synctest.Wait()
			o.update(t) // missed
		}
	})
}
