package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A pipe is an office on stdio.
type pipe struct {
	*office
	in    *io.PipeWriter
	out   *io.PipeReader
	ended chan error // the result of ServeStdio
}

func openPipe(t *testing.T, ctx context.Context) *pipe {
	t.Helper()
	p := newPipe()
	p.serve(t, ctx)
	return p
}

// newPipe returns an office, not served yet.
func newPipe() *pipe { return &pipe{office: newOffice(), ended: make(chan error, 1)} }

func (p *pipe) serve(t *testing.T, ctx context.Context) {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	p.in, p.out = inW, outR
	go func() {
		err := ServeStdio(ctx, p.server, inR, outW)
		outW.Close()
		p.ended <- err
	}()
	t.Cleanup(func() {
		inW.Close()
		outR.Close()
	})
}

func TestStdioRevisions(t *testing.T) {
	for _, revision := range revisions {
		t.Run(revision, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := openPipe(t, context.WithValue(t.Context(), callerKey{}, "ann"))
				cs, in := connect(t, &mcp.IOTransport{Reader: p.out, Writer: p.in}, revision)
				exercise(t, p.office, cs, in, "ann")
				cs.Close()
				if err := next(t, p.ended, "end"); err != nil {
					t.Errorf("ServeStdio = %v, want nil after its client closed", err)
				}
			})
		})
	}
}

const initializedBody = `{"jsonrpc":"2.0","method":"notifications/initialized"}`

func TestStdioMalformed(t *testing.T) {
	for _, test := range []struct {
		name, line string
		code       int
		id         string
	}{
		{"not JSON", `{"jsonrpc":`, -32700, "null"},
		{"not UTF-8 JSON", "\xff\xfe", -32700, "null"},
		{"deep", strings.Repeat("[", 100_000), -32700, "null"},
		{"not JSON-RPC", `{"id":"a","x":1}`, -32600, `"a"`},
		{"a string", `"hello"`, -32600, "null"},
		{"a batch", `[` + rawCall(2, "whoami") + `]`, -32600, "null"},
		{"too long", `{"x":"` + strings.Repeat("x", maxLine) + `"}`, -32600, "null"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := openPipe(t, t.Context())
				r := bufio.NewReader(p.out)
				go fmt.Fprintf(p.in, "\n%s\r\n%s\n%s\n%s\n", test.line, initializeBody, initializedBody,
					rawCall(3, "whoami"))
				var got reply
				if err := json.Unmarshal([]byte(nextLine(t, r, "{")), &got); err != nil {
					t.Fatal(err)
				}
				if got.Version != "2.0" || got.Error.Code != test.code || string(got.ID) != test.id ||
					got.Error.Message == "" {
					t.Errorf("reply %+v, want code %d, id %s and a message", got, test.code, test.id)
				}
				if s := nextLine(t, r, `{`); !strings.Contains(s, `"protocolVersion":"2025-11-25"`) {
					t.Errorf("initialize = %s, want a result", s)
				}
				if s := nextLine(t, r, `{`); !strings.Contains(s, `"id":3,"result"`) {
					t.Errorf("call = %s, want a result", s)
				}
			})
		})
	}
}

// A script that pipes its requests and ends gets every answer, in either era.
func TestStdioAnswersBeforeEnd(t *testing.T) {
	slow := func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		select {
		case <-time.After(drain / 2):
			return said("slow"), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	for name, script := range map[string][]string{
		"session":   {initializeBody, initializedBody, rawCall(2, "whoami"), rawCall(3, "slow")},
		"stateless": {modernCall(2, "whoami"), modernCall(3, "slow")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newOffice()
				o.tool("slow", slow)
				in, feed := io.Pipe()
				fed := make(chan time.Time, 1)
				go func() {
					for _, s := range script {
						time.Sleep(time.Second)
						io.WriteString(feed, s+"\n")
					}
					feed.Close()
					fed <- time.Now()
				}()
				var out bytes.Buffer
				if err := ServeStdio(t.Context(), o.server, in, &out); err != nil {
					t.Errorf("ServeStdio = %v, want nil", err)
				}
				if got := time.Since(<-fed); got != drain/2 {
					t.Errorf("ended %v after its input, want %v: with its last answer", got, drain/2)
				}
				for _, want := range []string{`"id":2,"result"`, `"id":3,"result"`} {
					if !strings.Contains(out.String(), want) {
						t.Errorf("output %s, want %s", &out, want)
					}
				}
			})
		})
	}
}

// A call that does not end does not keep the process running: it is cancelled.
func TestStdioEndsDespiteCalls(t *testing.T) {
	listen :=
		`{"jsonrpc":"2.0","id":9,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["` + testURI + `"]},` + modernMeta + `}}`
	for _, test := range []struct {
		name, script string
		after        time.Duration
	}{
		{"waiting", modernCall(2, "wait"), drain},
		{"subscribed", listen, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newOffice()
				start := time.Now()
				if err := ServeStdio(t.Context(), o.server, strings.NewReader(test.script+"\n"),
					io.Discard); err != nil {
					t.Errorf("ServeStdio = %v, want nil", err)
				}
				if got := time.Since(start); got != test.after {
					t.Errorf("ended after %v, want %v", got, test.after)
				}
			})
		})
	}
}

// Cancelling the context ends the session even if the client is silent and a call waits.
func TestStdioCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		p := openPipe(t, ctx)
		go io.Copy(io.Discard, p.out)
		fmt.Fprintf(p.in, "%s\n", modernCall(2, "wait"))
		next(t, p.begun, "call")
		cancel()
		if err := next(t, p.ended, "end"); !errors.Is(err, context.Canceled) {
			t.Errorf("ServeStdio = %v, want %v", err, context.Canceled)
		}
		if err := next(t, p.office.ended, "end of the call"); !errors.Is(err, context.Canceled) {
			t.Errorf("the handler saw %v, want %v", err, context.Canceled)
		}
	})
}

func TestStdioReadError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		in := io.MultiReader(strings.NewReader(modernCall(1, "whoami")+"\n"), iotest.ErrReader(broken))
		if err := ServeStdio(t.Context(), newOffice().server, in, io.Discard); !errors.Is(err, broken) {
			t.Errorf("ServeStdio = %v, want %v", err, broken)
		}
	})
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

// A client that closed our stdout is gone; a full disk is a fault.
func TestStdioWriteError(t *testing.T) {
	full := errors.New("disk full")
	for err, want := range map[error]error{full: full, io.ErrClosedPipe: nil, syscall.EPIPE: nil} {
		synctest.Test(t, func(t *testing.T) {
			in, feed := io.Pipe()
			defer feed.Close()
			go fmt.Fprintf(feed, "%s\n", modernCall(1, "whoami"))
			if got := ServeStdio(t.Context(), newOffice().server, in, failingWriter{err}); !errors.Is(got, want) {
				t.Errorf("ServeStdio with writes failing by %v = %v, want %v", err, got, want)
			}
		})
	}
}

func TestReadLine(t *testing.T) {
	long := strings.Repeat("x", maxLine-1)
	in := "a\n\r\n  b \r\n" + long + "\n" + long + "xx\nc"
	for _, chunk := range []func(io.Reader) io.Reader{
		func(r io.Reader) io.Reader { return r }, iotest.HalfReader, iotest.DataErrReader,
	} {
		r := bufio.NewReaderSize(chunk(strings.NewReader(in)), 16)
		for _, want := range []struct {
			text string
			err  error
		}{{"a", nil}, {"", nil}, {"b", nil}, {long, nil}, {"", errLineTooLong}, {"c", nil}, {"", io.EOF}} {
			text, err := readLine(r)
			if string(text) != want.text || !errors.Is(err, want.err) {
				t.Errorf("readLine = %.20q (%d), %v, want %.20q (%d), %v", text, len(text), err, want.text,
					len(want.text), want.err)
			}
		}
	}
}

// TestP12_CallsAtOnce: a client that makes thousands of calls without waiting for their answers has maxCalls of them
// run at a time, gets an error for the others, and is served again when some have ended. It covers calls of quick
// tools and those that the SDK runs.
func TestP12_CallsAtOnce(t *testing.T) {
	const many = 5 * maxCalls
	for _, quick := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			p := newPipe()
			var running, most atomic.Int32
			end := make(chan struct{})
			slow := func(context.Context) {
				if n := running.Add(1); n > most.Load() {
					most.Store(n)
				}
				<-end
				running.Add(-1)
			}
			if quick {
				p.server.addQuick(emptyTool("slow"), func(ctx context.Context, _ *toolCall) toolAnswer {
					slow(ctx)
					return toolAnswer{text: "done"}
				})
			} else {
				p.server.AddTool(emptyTool("slow"), func(ctx context.Context, _ *mcp.CallToolRequest) (
					*mcp.CallToolResult, error) {
					slow(ctx)
					return said("done"), nil
				})
			}
			p.serve(t, t.Context())
			lines := make(chan string, 2*many)
			go func() {
				for r := bufio.NewScanner(p.out); r.Scan(); {
					lines <- r.Text()
				}
			}()
			call := func(n int) {
				t.Helper()
				fmt.Fprintf(p.in, "%s\n", modernCall(n, "slow"))
			}
			for n := range many {
				call(n)
			}
			synctest.Wait()
			if running.Load() != maxCalls || len(lines) != many-maxCalls {
				t.Errorf("quick: %v: %d calls are run, and %d were answered", quick, running.Load(), len(lines))
			}
			for range len(lines) {
				if line := <-lines; !strings.Contains(line, "Nothing was done") {
					t.Errorf("quick: %v: what is not run is answered %s", quick, line)
				}
			}
			close(end)
			synctest.Wait()
			call(many)
			synctest.Wait()
			if len(lines) != maxCalls+1 {
				t.Errorf("quick: %v: %d of %d calls were answered", quick, len(lines), maxCalls+1)
			}
			for range len(lines) {
				if line := <-lines; !strings.Contains(line, "done") || strings.Contains(line, "error") {
					t.Errorf("quick: %v: a call is answered %s", quick, line)
				}
			}
		})
	}
}
