package daemon

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"pennypost/internal/config"
	"pennypost/internal/mail"
)

// A2A admits only guests, with a guest's token for that room: neither the user nor an agent.
func TestP5_A2AGuestsOnly(t *testing.T) {
	r, _ := guestsOf(t)
	user := r.room(t, "shop", mail.User)
	agents, err := user.Token(t.Context(), "private-1")
	if err != nil {
		t.Fatal(err)
	}
	old := r.guestToken(t, "acme")
	guests := r.guestToken(t, "acme")
	r.register(t, "elsewhere", "acme")
	elsewhere, err := r.room(t, "elsewhere", mail.User).GuestToken(t.Context(), "acme")
	if err != nil {
		t.Fatal(err)
	}
	if err := user.Retire(t.Context(), "other"); err != nil {
		t.Fatal(err)
	}
	call := `{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{}}`
	const card = "/.well-known/agent-card.json"
	for _, tt := range []struct {
		name, path, token string
		header            string // Pennypost-Agent
		want              int
	}{
		{"a guest", "/a2a/shop", guests, "", 200},
		{"a guest, to who is published", builder1, guests, "", 200},
		{"nobody", "/a2a/shop", "", "", 401},
		{"the operator", "/a2a/shop", r.token, "", 403},
		{"an agent", "/a2a/shop", agents, "", 403},
		{"an agent's token made into a guest's", "/a2a/shop", strings.Replace(agents, "pp.", "pp-guest.", 1), "", 401},
		{"a guest's token made into an agent's", "/a2a/shop", strings.Replace(guests, "pp-guest.", "pp.", 1), "", 401},
		{"an older token", "/a2a/shop", old, "", 401},
		{"a token cut short", "/a2a/shop", guests[:len(guests)-1], "", 401},
		{"garbage", "/a2a/shop", "pp-guest.%%%.x", "", 401},
		{"a guest who says to be the user", "/a2a/shop", guests, "user", 403},
		{"a guest who says to be an agent", "/a2a/shop", guests, "builder-1", 403},
		{"a guest of another room", "/a2a/shop", elsewhere, "", 403},
		{"a guest, at a room that lets none in", "/a2a/elsewhere", elsewhere, "", 404},
		{"a guest, at a room that is not", "/a2a/nowhere", guests, "", 404},
		{"a guest, to who is not published", "/a2a/shop/agents/private-1", guests, "", 404},
		{"a guest, to the user", "/a2a/shop/agents/user", guests, "", 404},
		{"a guest, to nobody", "/a2a/shop/agents/nobody", guests, "", 404},
		{"a guest, by a way around", "/a2a/shop/agents/builder-1%2f..%2fprivate-1", guests, "", 404},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, method := range []string{http.MethodPost, http.MethodGet} {
				path := tt.path
				if method == http.MethodGet {
					path += card
				}
				req, err := http.NewRequestWithContext(t.Context(), method, r.place.HTTP+path, strings.NewReader(call))
				if err != nil {
					t.Fatal(err)
				}
				if tt.token != "" {
					req.Header.Set("Authorization", "Bearer "+tt.token)
				}
				if tt.header != "" {
					req.Header.Set("Pennypost-Agent", tt.header)
				}
				resp, err := http.DefaultClient.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				var answer map[string]any
				if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
					t.Error(err)
				}
				resp.Body.Close()
				if resp.StatusCode != tt.want || (answer["error"] == nil) != (tt.want == 200) {
					t.Errorf("%s: %d %v, want %d", method, resp.StatusCode, answer, tt.want)
				}
			}
		})
	}
	if st, err := r.office.Rooms(t.Context()); err != nil || len(st) != 2 {
		t.Errorf("there are the rooms %+v, %v", st, err)
	}
}

// A guest's token opens no other door: with it no one can read the room or act as an agent.
func TestP5_A2AGuestsComeInNowhereElse(t *testing.T) {
	r, _ := guestsOf(t)
	token := r.guestToken(t, "acme")
	before := r.shopSize(t)
	for _, path := range []string{"/api/v1/status", "/api/v1/rooms", "/api/v1/rooms/shop",
		"/api/v1/rooms/shop/messages", "/api/v1/rooms/shop/inbox", "/api/v1/rooms/shop/agents",
		"/api/v1/rooms/shop/events", "/api/v1/rooms/shop/export", "/api/v1/desk", "/mcp", "/mcp/acme", "/metrics",
		"/calls/shop", "/relay", "/dialect/agenties/mcp", "/dialect/haak/mcp", "/dialect/superportia/mcp"} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			status, text := r.a2aDo(t, method, path, token, `{"to":["builder-1"],"body":"x"}`)
			if status < 400 || strings.Contains(text, "builder") {
				t.Errorf("%s %s: %d %.200s", method, path, status, text)
			}
		}
	}
	if after := r.shopSize(t); after != before {
		t.Errorf("the room has %d messages, and had %d", after, before)
	}
}

// The room tells a guest nothing of mail between others: mail between agents stays there, even in the thread of the
// guest's task.
func TestP5_A2ATellsOnlyWhatIsTheGuests(t *testing.T) {
	r, _ := guestsOf(t)
	token, other := r.guestToken(t, "acme"), r.guestToken(t, "other")
	id := r.a2aSend(t, builder1, token, guestSays("m-1", "Build it")).ID
	theirs := r.a2aSend(t, builder1, other, guestSays("m-1", "Secret of the other guest")).ID
	send := func(as mail.Name, d mail.Draft) {
		t.Helper()
		if _, err := r.room(t, "shop", as).Send(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	send("builder-1", mail.Draft{To: mail.Recipients{"private-1"}, Body: "Secret 1", ReplyTo: mail.ID(id)})
	send("builder-1", mail.Draft{To: mail.Recipients{"all"}, Body: "Secret 2", ReplyTo: mail.ID(id), Type: "answer"})
	send("private-1", mail.Draft{To: mail.Recipients{"role:builder"}, Body: "Secret 3"})
	send("private-1", mail.Draft{To: mail.Recipients{"acme"}, Body: "Secret 4, of no task"})
	send(mail.User, mail.Draft{To: mail.Recipients{"builder-1"}, Body: "Secret 5", Type: "cancel",
		ReplyTo: mail.ID(theirs)})
	send("builder-1", mail.Draft{To: mail.Recipients{"acme"}, Body: "For the guest", ReplyTo: mail.ID(id)})
	for _, call := range []string{`"GetTask","params":{"id":"` + id + `"}`, `"ListTasks","params":{"historyLength":99}`} {
		_, text := r.a2aDo(t, http.MethodPost, "/a2a/shop", token, `{"jsonrpc":"2.0","id":1,"method":`+call+`}`)
		if strings.Contains(text, "Secret") || strings.Contains(text, "private-1") ||
			!strings.Contains(text, "For the guest") {
			t.Errorf("%s tells %s", call, text)
		}
	}
	// A guest who has the role of a task's recipient does not get the task either.
	if _, err := r.room(t, "shop", mail.User).Register(t.Context(), mail.Presence{Name: "acme",
		Roles: []string{"painter"}}); err != nil {
		t.Fatal(err)
	}
	p := guestSays("m-2", "Secret paint")
	p["message"].(map[string]any)["metadata"] = map[string]any{"skill": "role:painter"}
	painted := r.a2aSend(t, "/a2a/shop", other, p).ID
	for _, method := range []string{"GetTask", "CancelTask"} {
		if code, why := r.a2aCall(t, "/a2a/shop", token, method, map[string]any{"id": painted}, nil); code != -32001 {
			t.Errorf("%s of what reached the guest by its role: %d %s", method, code, why)
		}
	}
	for _, path := range []string{"/a2a/shop", builder1} {
		if _, card := r.a2aGet(t, path+"/.well-known/agent-card.json", token); strings.Contains(card, "private-1") ||
			strings.Contains(card, "acme") {
			t.Errorf("the card tells %s", card)
		}
	}
}

// The door exists only if the person configures it; and its stored state contains no secret of a token.
func TestA2AIsOff(t *testing.T) {
	cfg := testConfig(t)
	r := start(t, Options{Config: cfg})
	r.register(t, "shop", "acme")
	if status, text := r.a2aGet(t, "/a2a/shop/.well-known/agent-card.json", r.guestToken(t, "acme")); status != 404 {
		t.Errorf("a card: %d %s", status, text)
	}
	if _, err := os.Lstat(config.Home(cfg.Home).A2A()); !os.IsNotExist(err) {
		t.Errorf("its file is there: %v", err)
	}
}
