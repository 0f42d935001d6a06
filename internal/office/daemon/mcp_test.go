package daemon

import (
	"encoding/json"
	"net/http"
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

// Over HTTP the token says who speaks, and in which room; the operator's says the user, in the room that is asked for.
func TestMCPOverHTTP(t *testing.T) {
	r := start(t, Options{Config: testConfig(t)})
	r.register(t, "a", "bob")
	token, err := r.room(t, "a", mail.User).Token(t.Context(), "bob")
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
