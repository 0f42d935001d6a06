package mcpserver

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"pennypost/internal/office/dialect"
)

// TestBesideLate: tools added while a server serves are announced and can be used.
func TestBesideLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipe()
		p.serve(t, t.Context())
		out := bufio.NewReader(p.out)
		say := func(line string) { go fmt.Fprintln(p.in, line) }
		say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
			`"capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
		nextLine(t, out, "{")
		say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		synctest.Wait()
		p.server.Beside(Mailbox{Log: slog.New(slog.DiscardHandler)}, dialect.Endpoint{Tools: []dialect.Tool{{
			Name: "late", Input: `{"type":"object"}`,
			Run: func(context.Context, *dialect.Call) (any, error) { return "here", nil },
		}}})
		if line := nextLine(t, out, "{"); !strings.Contains(line, "notifications/tools/list_changed") {
			t.Errorf("the client is told %s", line)
		}
		say(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"late","arguments":{}}}`)
		if line := nextLine(t, out, "{"); !strings.Contains(line, "here") {
			t.Errorf("the tool answers %s", line)
		}
	})
}
