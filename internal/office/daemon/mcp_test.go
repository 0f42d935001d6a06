package daemon

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pennypost/internal/mail"
)

// bearer adds a token and headers to each request.
type bearer struct {
	token string
	room  string
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	if b.room != "" {
		r.Header.Set(roomHeader, b.room)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// Over HTTP the token says who speaks, and in which room; the operator's means the user, in the requested room.
func TestMCPOverHTTP(t *testing.T) {
	t.Run("here", func(t *testing.T) {
		r := start(t, Options{Config: testConfig(t)})
		mcpOverHTTP(t, r, r)
	})
	t.Run("at a relay", func(t *testing.T) {
		f := newFleet(t)
		mcpOverHTTP(t, f.near, f.far)
	})
}

// mcpOverHTTP is that test for r, whose rooms are at home.
func mcpOverHTTP(t *testing.T, r, home *running) {
	r.register(t, "a", "bob")
	token, err := home.room(t, "a", mail.User).Token(t.Context(), "bob")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		as   bearer
		you  string
		room string
	}{
		{"agent", bearer{token: token}, "bob", "a"},
		{"agent in its room", bearer{token: token, room: "a"}, "bob", "a"},
		{"operator", bearer{token: r.token}, "user", "default"},
		{"operator in a room", bearer{token: r.token, room: "a"}, "user", "a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
			s, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: r.place.HTTP + "/mcp",
				HTTPClient: &http.Client{Transport: tt.as}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "list_agents"})
			if err != nil {
				t.Fatal(err)
			}
			b := res.Content[0].(*mcp.TextContent).Text
			var got struct{ You, Room string }
			if err := json.Unmarshal([]byte(b), &got); err != nil || got.You != tt.you || got.Room != tt.room {
				t.Errorf("list_agents = %s, %v, want %s in %s", b, err, tt.you, tt.room)
			}
		})
	}
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	if s, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: r.place.HTTP + "/mcp",
		HTTPClient: &http.Client{Transport: bearer{token: token, room: "b"}}}, nil); err == nil {
		s.Close()
		t.Error("a token of room a opened room b")
	}
}

// TestWorkspaceOverMCP: the address of a workspace is an MCP server, with or without a trailing slash, and a caller
// that is not let in is told so in JSON-RPC.
func TestWorkspaceOverMCP(t *testing.T) {
	p := person{t, start(t, Options{Config: testConfig(t)})}
	token, other := p.workspace("shop", "ws-abc123"), p.workspace("shop", "ws-def")
	for _, path := range []string{"/mcp/ws-abc123", "/mcp/ws-abc123/"} {
		c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
		s, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: p.place.HTTP + path,
			HTTPClient: &http.Client{Transport: bearer{token: token}}}, nil)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		tools, err := s.ListTools(t.Context(), nil)
		if err != nil || len(tools.Tools) != 1 || tools.Tools[0].Name != "inbox_push" {
			t.Errorf("%s lists %+v, %v", path, tools, err)
		}
		res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "inbox_push",
			Arguments: map[string]any{"comments": "by " + path}})
		if err != nil || !strings.HasPrefix(res.Content[0].(*mcp.TextContent).Text, `{"ok":true,"entryId":"`) {
			t.Errorf("%s: inbox_push = %+v, %v", path, res, err)
		}
		s.Close()
	}
	if got := p.list(""); got != "shop:by /mcp/ws-abc123/ shop:by /mcp/ws-abc123" {
		t.Errorf("the inbox has %q", got)
	}
	for _, tt := range []struct {
		path, token string
		status      int
		want        string
	}{
		{"/mcp/ws-nobody", token, http.StatusNotFound, "unknown workspace"},
		{"/mcp/ws/", token, http.StatusNotFound, "unknown workspace"},
		{"/mcp/ws-abc123/more", token, http.StatusNotFound, "/mcp/ID"},
		{"/mcp/ws-abc123/", other, http.StatusForbidden, "your credential belongs to ws-def"},
		{"/mcp/ws-abc123", p.token, http.StatusNotFound, "unknown workspace"}, // the room default has none
		{"/mcp/ws-abc123/?room=shop", p.token, http.StatusForbidden, "your credential belongs to user"},
		{"/mcp/ws-abc123/", "pp.wrong", http.StatusUnauthorized, "token"},
		{"/mcp/", "pp.wrong", http.StatusUnauthorized, "token"},
	} {
		body, h := p.askAs(tt.status, tt.token, "POST", tt.path)
		var got struct {
			JSONRPC string
			ID      *int
			Error   struct {
				Code    int
				Message string
			}
		}
		if err := json.Unmarshal([]byte(body), &got); err != nil || got.JSONRPC != "2.0" || got.ID != nil ||
			got.Error.Code == 0 || !strings.Contains(got.Error.Message, tt.want) ||
			h.Get("Content-Type") != "application/json" {
			t.Errorf("%s is answered with %s, %v; want %q", tt.path, body, h, tt.want)
		}
	}
}
