package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pennypost/internal/mail"
)

// countSDK counts the calls that a server answers through the SDK.
func countSDK(s *Server) *atomic.Int32 {
	n := new(atomic.Int32)
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "tools/call" {
				n.Add(1)
			}
			return next(ctx, method, req)
		}
	})
	return n
}

// callsOfBothKinds returns ordinary and odd calls, in both eras.
func callsOfBothKinds() (ordinary, odd []string) {
	const client = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientCapabilities":{"roots":{}},"progressToken":7,` +
		`"io.modelcontextprotocol/clientInfo":{"name":"x","version":"1","icons":[]}}`
	call := func(params string) string {
		return `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{` + params + `}}`
	}
	ordinary = []string{
		rawCall(2, "whoami"), modernCall(2, "whoami"), call(`"name":"whoami"`), call(`"name":"whoami",` + client),
		call(`"name":"whoami","_meta":{"progressToken":"p"}`), rawCall(2, "fails"), modernCall(2, "fails"),
		call(`"name":"echo","arguments":{"text":"<&>\u2028 \"\\ 小克 \u0007"}`),
	}
	odd = []string{
		rawCall(2, "nothing"), modernCall(2, "nothing"), call(`"name":"whoami","more":1`), call(``),
		call(`"name":"wait","name":"whoami"`), call(`"name":7`), call(`"name":"whoami","arguments":7,"_meta":[]`),
		strings.ReplaceAll(modernCall(2, "whoami"), stateless, "2999-01-01"),
		strings.ReplaceAll(modernCall(2, "whoami"), `"io.modelcontextprotocol/clientCapabilities":{}`, `"x":{}`),
		strings.ReplaceAll(modernCall(2, "whoami"), `Capabilities":{}`, `Capabilities":[]`),
		strings.Replace(call(`"name":"whoami",`+client), `clientInfo":{`, `clientInfo":7,"x":{`, 1),
	}
	return ordinary, odd
}

// withQuick gives an office tools that are called without the SDK, or, if not quick, through it.
func withQuick(o *office, quick bool) *atomic.Int32 {
	o.server.addQuick(emptyTool("fails"), func(context.Context, *toolCall) toolAnswer {
		return toolAnswer{text: "it cannot", failed: true}
	})
	o.server.addQuick(emptyTool("echo"), func(_ context.Context, c *toolCall) toolAnswer {
		var in struct{ Text string }
		_ = json.Unmarshal(c.Arguments, &in)
		return toolAnswer{text: in.Text}
	})
	if !quick {
		o.server.tools = nil
	}
	return countSDK(o.server)
}

// TestOrdinaryCallsSkipTheSDK checks that ordinary calls bypass the SDK, that others use it, and that the answers do
// not differ.
func TestOrdinaryCallsSkipTheSDK(t *testing.T) {
	ordinary, odd := callsOfBothKinds()
	check := func(t *testing.T, ask func(t *testing.T, quick bool, body string) (response string, sdk int32)) {
		for i, body := range append(ordinary, odd...) {
			got, through := ask(t, true, body)
			want, _ := ask(t, false, body)
			if skips := through == 0; i < len(ordinary) && !skips {
				t.Errorf("%s goes through the SDK", body)
			}
			if diff := cmp.Diff(parsed(t, want), parsed(t, got)); diff != "" {
				t.Errorf("%s is answered otherwise than by the SDK (-SDK +ours):\n%s", body, diff)
			}
		}
	}
	t.Run("stdio", func(t *testing.T) {
		check(t, func(t *testing.T, quick bool, body string) (response string, sdk int32) {
			synctest.Test(t, func(t *testing.T) {
				p := newPipe()
				calls := withQuick(p.office, quick)
				p.serve(t, t.Context())
				r := bufio.NewReader(p.out)
				if !strings.Contains(body, "protocolVersion") {
					go fmt.Fprintf(p.in, "%s\n%s\n", initializeBody, initializedBody)
					nextLine(t, r, "{")
					synctest.Wait()
				}
				go fmt.Fprintf(p.in, "%s\n", body)
				response, sdk = nextLine(t, r, "{"), calls.Load()
			})
			return response, sdk
		})
	})
	t.Run("http", func(t *testing.T) {
		check(t, func(t *testing.T, quick bool, body string) (response string, sdk int32) {
			synctest.Test(t, func(t *testing.T) {
				o := openOffice(t, HTTPOptions{}, &http.Server{})
				calls := withQuick(o, quick)
				c := o.client(t, "ann")
				header := []string{headerSession, initialize(t, c)}
				if strings.Contains(body, "protocolVersion") {
					var in ordinaryCall
					_ = json.Unmarshal([]byte(body), &in)
					version, _ := in.Params.Meta[mcp.MetaKeyProtocolVersion].(string)
					header = []string{headerVersion, version, "Mcp-Method", "tools/call", "Mcp-Name", in.Params.Name}
				}
				got := do(t, c, newRequest(t, "POST", "http://office/mcp", body, header...))
				response, sdk = got.Body, calls.Load()
				for line := range strings.Lines(got.Body) {
					if data, ok := strings.CutPrefix(line, "data: {"); ok {
						response = "{" + data
					}
				}
			})
			return response, sdk
		})
	})
}

// parsed returns the value of a JSON text, or the text itself.
func parsed(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return text
	}
	return v
}

// The SDK judges a header that no client library sends.
func TestOddHeadersGoToTheSDK(t *testing.T) {
	modern := []string{headerVersion, stateless, "Mcp-Method", "tools/call", "Mcp-Name", "whoami"}
	for name, test := range map[string]struct {
		body   string
		header []string
		status int
	}{
		"another method":  {modernCall(2, "whoami"), append(modern[:2:2], "Mcp-Method", "ping", "Mcp-Name", "x"), 400},
		"another tool":    {modernCall(2, "whoami"), append(modern[:4:4], "Mcp-Name", "wait"), 400},
		"no version":      {modernCall(2, "whoami"), modern[2:], 400},
		"unknown version": {rawCall(2, "whoami"), []string{headerVersion, "2020-01-01"}, 400},
		"text":            {rawCall(2, "whoami"), []string{"Content-Type", "text/plain"}, 415},
		"no streams":      {rawCall(2, "whoami"), []string{"Accept", "application/json"}, 400},
		"resuming":        {rawCall(2, "whoami"), []string{"Last-Event-ID", "x_1"}, 400},
	} {
		synctest.Test(t, func(t *testing.T) {
			o := openOffice(t, HTTPOptions{}, &http.Server{})
			c := o.client(t, "ann")
			header := append([]string{headerSession, initialize(t, c)}, test.header...)
			if test.header[0] == headerVersion && len(test.header) > 2 || test.header[0] == "Mcp-Method" {
				header = test.header
			}
			got := do(t, c, newRequest(t, "POST", "http://office/mcp", test.body, header...))
			if got.Status != test.status {
				t.Errorf("%s: %d %s, want %d", name, got.Status, got.Body, test.status)
			}
		})
	}
}

// On stdio, a client can cancel a quick call.
func TestCancelQuick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipe()
		p.server.addQuick(emptyTool("slow"), func(ctx context.Context, _ *toolCall) toolAnswer {
			p.begun <- struct{}{}
			<-ctx.Done()
			p.office.ended <- ctx.Err()
			return toolAnswer{text: "late"}
		})
		p.serve(t, t.Context())
		go io.Copy(io.Discard, p.out)
		go fmt.Fprintf(p.in, "%s\n", withID(modernCall(2, "slow"), "2.5"))
		next(t, p.begun, "call")
		go fmt.Fprintf(p.in, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2.5}}`+"\n")
		if err := next(t, p.office.ended, "end of the call"); !errors.Is(err, context.Canceled) {
			t.Errorf("the handler saw %v, want %v", err, context.Canceled)
		}
	})
}

// sendLine is a send as a front forwards it, under a key.
func sendLine(key, body string) string {
	return key + ` {"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"send_message",` +
		`"arguments":{"to":"bea","body":"` + body + `"}}}` + "\n"
}

// TestServeCalls checks the promises of a connection for calls: an answer by key, an empty one for a call that is not
// served there, and one message a key.
func TestServeCalls(t *testing.T) {
	room := openRoom(t)
	box := Mailbox{Service: room.As("ann"), Room: "lab", Agent: "ann", Version: "test"}
	var out bytes.Buffer
	for _, in := range []string{sendLine("k1", "one"), sendLine("k1", "one"), sendLine("k2", "two"),
		"k3 " + rawCall(3, "nothing") + "\n", "k4 nonsense\n", "k5\n"} {
		ServeCalls(t.Context(), box, bufio.NewReader(io.MultiReader(strings.NewReader(in), deadline{})), &out)
	}
	got := make(map[string][]string)
	for line := range strings.Lines(out.String()) {
		key, response, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		got[key] = append(got[key], response)
	}
	if len(got["k1"]) != 2 || got["k1"][0] != got["k1"][1] || !strings.HasPrefix(got["k1"][0],
		`{"jsonrpc":"2.0","id":"a","result":{"content":`) {
		t.Errorf("a call that came twice under one key is answered %q", got["k1"])
	}
	for _, key := range []string{"k3", "k4"} {
		if diff := cmp.Diff([]string{""}, got[key]); diff != "" {
			t.Errorf("%s, which is not served, is answered %q", key, got[key])
		}
	}
	if n := unread(t, room.As("bea")); n != 2 {
		t.Errorf("%d messages came of two sends, one of which came twice", n)
	}
}

// deadline is the end of an input whose deadline has passed.
type deadline struct{}

func (deadline) Read([]byte) (int, error) { return 0, os.ErrDeadlineExceeded }

func unread(t *testing.T, s mail.Service) int {
	t.Helper()
	page, err := s.Inbox(t.Context(), mail.InboxQuery{})
	if err != nil {
		t.Fatal(err)
	}
	return page.Unread
}

// TestForward checks that a front forwards ordinary calls unchanged, and itself runs one that was lost on the way,
// under the same key: the room has one message.
func TestForward(t *testing.T) {
	room := openRoom(t)
	there := Mailbox{Service: room.As("ann"), Room: "lab", Agent: "ann", Version: "test"}
	lost := errors.New("the connection broke")
	for name, fate := range map[string]struct {
		carried bool
		err     error
	}{"answered": {true, nil}, "carried out and lost": {true, lost}, "lost": {false, lost},
		"not served": {false, nil}} {
		t.Run(name, func(t *testing.T) {
			before := unread(t, room.As("bea"))
			here, handed := there, ""
			here.Forward = func(ctx context.Context, _ bool, key string, call []byte, answered func([]byte, error)) {
				handed = string(call)
				var out bytes.Buffer
				if fate.carried {
					in := io.MultiReader(strings.NewReader(key+" "+handed+"\n"), deadline{})
					ServeCalls(ctx, there, bufio.NewReader(in), &out)
				}
				_, response, _ := strings.Cut(strings.TrimSpace(out.String()), " ")
				if fate.err != nil {
					response = ""
				}
				answered([]byte(response), fate.err)
			}
			n := NewNative(here)
			defer n.Close()
			_, call, _ := strings.Cut(sendLine("", strings.ReplaceAll(name, " ", "-")), " ")
			call = strings.Replace(call, `"params":{`, `"params":{`+modernMeta+",", 1)
			var out bytes.Buffer
			if err := ServeStdio(t.Context(), n.Server, strings.NewReader(call), &out); err != nil {
				t.Fatal(err)
			}
			if handed != strings.TrimSpace(call) {
				t.Errorf("handed on %s, want %s", handed, call)
			}
			if !strings.Contains(out.String(), `"id":"a","result"`) || strings.Contains(out.String(), "isError") ||
				strings.Contains(out.String(), "duplicate") {
				t.Errorf("answered %s", &out)
			}
			if got := unread(t, room.As("bea")) - before; got != 1 {
				t.Errorf("%d messages came of one call", got)
			}
		})
	}
}
