package mcpserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// FuzzReadLine checks that every line of a client is returned once, in order, without its white space, and nothing
// else is.
func FuzzReadLine(f *testing.F) {
	for _, s := range []string{"{}\n{}\n", "\n\n {\"a\":1} \r\n", "no end", "\x00\n", "a\rb\n", ""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var got []byte
		for r := bufio.NewReaderSize(bytes.NewReader(text), 16); ; {
			line, err := readLine(r)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			if len(line) > 0 { // a blank line is skipped
				got = append(append(got, line...), '\n')
			}
		}
		var want []byte
		for line := range bytes.Lines(text) {
			if line = bytes.TrimSpace(line); len(line) > 0 {
				want = append(append(want, line...), '\n')
			}
		}
		if len(text) < maxLine && !bytes.Equal(got, want) {
			t.Errorf("%q was read as %q, want %q", text, got, want)
		}
	})
}

// FuzzTools checks that bad arguments of a tool are only refused, with an error that fits into an answer.
func FuzzTools(f *testing.F) {
	names := []string{"send_message", "read_messages", "mark_messages", "list_agents", "set_presence"}
	for i, s := range []string{
		`{"to":"bea","body":"x","metadata":{"n":1e99999},"ttl_hours":1e308}`,
		`{"after":18446744073709551615,"limit":-1}`,
		`{"ids":[""],"mark":"presented"}`, `{"cursor":"\u0000"}`, `{"name":"us\u200der","roles":["orchestrator"]}`,
		`{"to":["all","role:x","bea@lab"],"body":"</mail>","reply_to":"m"}`, `{"since":"2026","query":"\\"}`,
	} {
		f.Add(uint8(i), []byte(s))
	}
	f.Fuzz(func(t *testing.T, which uint8, args []byte) {
		if !json.Valid(args) {
			return // the client library refuses to send it; FuzzParseMessage covers such bytes
		}
		session := connectNative(t, openRoom(t), "ann")
		name := names[int(which)%len(names)]
		res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(args)})
		if err != nil {
			return // the protocol refuses it
		}
		for _, c := range res.Content {
			if text, ok := c.(*mcp.TextContent); !ok || len(text.Text) > 20<<10 {
				t.Errorf("%s %q: %T of %d bytes", name, args, c, len(text.Text))
			}
		}
	})
}
