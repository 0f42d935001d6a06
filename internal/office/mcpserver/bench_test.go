package mcpserver

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pennypost/internal/mail"
)

// BenchmarkRead is read_messages of 20 unread messages, over MCP in memory and as a direct call of the room.
func BenchmarkRead(b *testing.B) {
	room := openRoom(b)
	for range 20 {
		if _, err := room.As(mail.User).Send(b.Context(), mail.Draft{To: mail.Recipients{"ann"},
			Body: strings.Repeat("A line of some thirty characters. ", 12)}); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("mcp", func(b *testing.B) {
		session := connectNative(b, room, "ann")
		for b.Loop() {
			res, err := session.CallTool(b.Context(), &mcp.CallToolParams{Name: "read_messages",
				Arguments: json.RawMessage(`{}`)})
			if err != nil || res.IsError {
				b.Fatalf("%+v, %v", res, err)
			}
		}
	})
	b.Run("list_agents", func(b *testing.B) {
		session := connectNative(b, room, "ann")
		for b.Loop() {
			if _, err := session.CallTool(b.Context(), &mcp.CallToolParams{Name: "list_agents",
				Arguments: json.RawMessage(`{}`)}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("ordinary", func(b *testing.B) {
		n := NewNative(Mailbox{Service: room.As("ann"), Room: "lab", Agent: "ann", Version: "test"})
		defer n.Close()
		b.ReportAllocs()
		for b.Loop() {
			c := parseOrdinary([]byte(rawCall(7, "read_messages")))
			if got := n.Server.response(c, n.Server.tool(c).run(b.Context(), &c.Params)); len(got) < 20*400 {
				b.Fatalf("%s", got)
			}
		}
	})
	b.Run("room", func(b *testing.B) {
		for b.Loop() {
			if _, err := room.As("ann").Inbox(b.Context(), mail.InboxQuery{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
