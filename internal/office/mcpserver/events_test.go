package mcpserver

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
)

// modernMethod is a request of the era without sessions.
func modernMethod(id, method string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":{"_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},` +
		`"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"}}}}`
}

// TestStdioMethods: methods that the SDK does not know are answered on stdio, their notifications name the request,
// and a long one ends when its client cancels it or leaves.
func TestStdioMethods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipe()
		ended := make(chan struct{}, 2)
		p.server.methods = map[string]method{
			"events/poll": func(context.Context, *methodCall) (any, error) { return struct{}{}, nil },
			"events/stream": func(ctx context.Context, r *methodCall) (any, error) {
				err := r.notify("notifications/events/active", map[string]string{"cursor": "<1>"})
				<-ctx.Done()
				ended <- struct{}{}
				return struct{}{}, err
			},
		}
		p.serve(t, t.Context())
		out := bufio.NewReader(p.out)
		say := func(line string) { go fmt.Fprintln(p.in, line) }
		want := func(parts ...string) {
			t.Helper()
			line, err := out.ReadString('\n')
			for _, part := range parts {
				if err != nil || !strings.Contains(line, part) {
					t.Fatalf("got %s, %v, want %s", line, err, part)
				}
			}
		}
		for _, id := range []string{`"a"`, `-1.5`} {
			say(modernMethod(id, "events/stream"))
			want(`"method":"notifications/events/active"`, `"io.modelcontextprotocol/subscriptionId":`+id, `\u003c1`)
		}
		say(modernMethod("2", "events/poll"))
		want(`"id":2`, `"resultType":"complete"`)
		say(modernMethod("3", "events/none"))
		want(`"id":3`, `"error"`)
		say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}`)
		want(`"id":"a"`)
		<-ended
		p.in.Close()
		<-ended
		_, _ = io.Copy(io.Discard, out)
		if err := next(t, p.ended, "end"); err != nil {
			t.Errorf("ServeStdio = %v", err)
		}
	})
}
