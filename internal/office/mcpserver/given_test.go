package mcpserver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"pennypost/internal/office/dialect"
)

// A reader is a tool that marks the mail it has shown; its answers are numbers.
type reader struct {
	looked atomic.Int32
	marked chan int      // the answers that were given
	hold   chan struct{} // if not nil, marking waits for it
}

// readsIn adds a reader to a server.
func readsIn(s *Server) *reader {
	r := &reader{marked: make(chan int, 8)}
	run := Mailbox{Log: slog.New(slog.DiscardHandler)}.running(dialect.Tool{
		Name: "read",
		Run:  func(context.Context, *dialect.Call) (any, error) { return int(r.looked.Add(1)), nil },
		Given: func(ctx context.Context, _ *dialect.Call, answer any) error {
			if r.hold != nil {
				<-r.hold
			}
			r.marked <- answer.(int)
			return ctx.Err()
		},
	})
	s.addQuick(emptyTool("read"), run)
	return r
}

// TestMarkedOnceGiven checks that an answer's mail is marked once the client was given the answer, and not before.
func TestMarkedOnceGiven(t *testing.T) {
	t.Run("on stdio", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := newPipe()
			r := readsIn(p.server)
			p.serve(t, t.Context())
			go fmt.Fprintf(p.in, "%s\n%s\n", modernCall(2, "read"), modernCall(3, "read"))
			synctest.Wait()
			if n := len(r.marked); n != 0 || r.looked.Load() != 1 {
				t.Errorf("before anybody took the first answer %d are marked, and the tool ran %d times", n,
					r.looked.Load())
			}
			out := bufio.NewReader(p.out)
			for i := 1; i <= 2; i++ {
				if line := nextLine(t, out, "{"); !strings.Contains(line, fmt.Sprintf(`"text":"%d"`, i)) {
					t.Errorf("answer %d: %s", i, line)
				}
				if got := next(t, r.marked, "mark"); got != i {
					t.Errorf("marked %d, want %d", got, i)
				}
			}
		})
	})
	t.Run("not if it cannot be written", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			o := newOffice()
			r := readsIn(o.server)
			in, feed := io.Pipe()
			defer feed.Close()
			go fmt.Fprintf(feed, "%s\n", modernCall(1, "read"))
			full := errors.New("disk full")
			if err := ServeStdio(t.Context(), o.server, in, failingWriter{full}); !errors.Is(err, full) {
				t.Error(err)
			}
			if r.looked.Load() != 1 || len(r.marked) != 0 {
				t.Errorf("the tool ran %d times, and %d answers are marked", r.looked.Load(), len(r.marked))
			}
		})
	})
	t.Run("over HTTP, when it is under way", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			o := openOffice(t, HTTPOptions{}, &http.Server{})
			r := readsIn(o.server)
			r.hold = make(chan struct{})
			got := do(t, o.client(t, "ann"), newRequest(t, "POST", "http://office/mcp", modernCall(2, "read"),
				headerVersion, stateless, "Mcp-Method", "tools/call", "Mcp-Name", "read"))
			if !strings.Contains(got.Body, `"text":"1"`) || len(r.marked) != 0 {
				t.Errorf("answer %q; %d marked", got.Body, len(r.marked))
			}
			close(r.hold)
			next(t, r.marked, "mark")
		})
	})
	t.Run("through the SDK", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := newPipe()
			r := readsIn(p.server)
			calls := countSDK(p.server)
			p.serve(t, t.Context())
			go io.Copy(io.Discard, p.out)
			go fmt.Fprintf(p.in, "%s\n", strings.Replace(modernCall(2, "read"), `"name":`, `"more":1,"name":`, 1))
			if next(t, r.marked, "mark"); calls.Load() != 1 {
				t.Errorf("%d calls through the SDK", calls.Load())
			}
		})
	})
}
