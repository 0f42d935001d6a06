package daemon

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"pennypost/internal/config"
	"pennypost/internal/mail"
)

// person calls the routes of the inbox with the operator's token.
type person struct {
	*testing.T
	*running
}

// ask sends a request, expects a status, and returns the answer.
func (p person) ask(want int, method, path string) (string, http.Header) {
	p.Helper()
	return p.askAs(want, p.token, method, path)
}

func (p person) askAs(want int, token, method, path string) (string, http.Header) {
	p.Helper()
	return p.askWith(want, token, method, path, "")
}

func (p person) askWith(want int, token, method, path, body string) (string, http.Header) {
	p.Helper()
	req, err := http.NewRequestWithContext(p.Context(), method, p.place.HTTP+path, strings.NewReader(body))
	if err != nil {
		p.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != want {
		p.Errorf("%s %s = %d %s, %v; want %d", method, path, resp.StatusCode, text, err, want)
	}
	return string(text), resp.Header
}

// list returns the history: the room and comments of each entry, and "read" if it was read.
func (p person) list(query string) string {
	p.Helper()
	body, _ := p.ask(http.StatusOK, "GET", "/api/inbox/history?"+query)
	var page struct {
		Entries []struct {
			Room, Comments string
			ReadAt         int64
		}
		HasMore bool
	}
	if err := json.Unmarshal([]byte(body), &page); err != nil {
		p.Fatal(err)
	}
	var out []string
	for _, e := range page.Entries {
		words := e.Room + ":" + e.Comments
		if e.ReadAt > 0 {
			words += ":read"
		}
		out = append(out, words)
	}
	if page.HasMore {
		out = append(out, "…")
	}
	return strings.Join(out, " ")
}

// entry imports an entry of a workspace, sent ago seconds ago.
func (p person) entry(room mail.RoomName, workspace mail.Name, id string, ago int) {
	p.Helper()
	_, err := p.room(p.T, room, mail.User).Import(p.Context(), []mail.Item{{Message: mail.Message{
		ID: mail.ID(id), Type: mail.Custom, From: mail.AgentAddress(workspace), To: []mail.Address{mail.ToUser},
		Body: id,
		Sent: mail.TimeOf(time.Now().Add(-time.Duration(ago) * time.Second)), Subject: string(workspace),
		Metadata: mail.Metadata(`{"openalice":{"workspaceLabel":"L"}}`)}}})
	if err != nil {
		p.Fatal(err)
	}
}

// workspace adds a workspace whose directory holds one document, and returns its token.
func (p person) workspace(room mail.RoomName, id mail.Name) string {
	p.Helper()
	dir := p.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "here.md"), []byte("in "+string(room)), 0o600); err != nil {
		p.Fatal(err)
	}
	svc := p.room(p.T, room, mail.User)
	if _, err := svc.AddWorkspace(p.Context(), mail.Workspace{ID: id, Dir: dir}); err != nil {
		p.Fatal(err)
	}
	token, err := svc.Token(p.Context(), id)
	if err != nil {
		p.Fatal(err)
	}
	return token
}

// TestOneInbox: a request without a room covers all rooms that have an inbox, and one with a room covers that room.
func TestOneInbox(t *testing.T) {
	cfg := testConfig(t)
	p := person{t, start(t, Options{Config: cfg})}
	token := p.workspace("shop", "ws-shop")
	p.workspace("lab", "ws-lab")
	p.workspace("lab", "ws-two")
	p.workspace("shop", "ws-two")
	p.register(t, "plain", "ann")
	for i, at := range []struct {
		room mail.RoomName
		ws   mail.Name
		id   string
	}{{"shop", "ws-shop", "f"}, {"lab", "ws-lab", "e"}, {"lab", "ws-two", "d"}, {"shop", "ws-two", "c"},
		{"lab", "ws-lab", "b"}, {"bridged", "ws-far", "a"}} {
		p.entry(at.room, at.ws, at.id, 10*(i+1))
	}
	const all = "shop:f lab:e lab:d shop:c lab:b bridged:a"
	for query, want := range map[string]string{
		"": all, "room=lab": "lab:e lab:d lab:b", "room=default": "", "workspaceId=ws-two": "lab:d shop:c",
		"limit=2": "shop:f lab:e …", "limit=2&before=e": "lab:d shop:c …", "limit=2&before=c": "lab:b bridged:a",
		"before=nobody": "", "room=lab&before=f": "",
		"before=" + strconv.FormatInt(time.Now().Add(-45*time.Second).UnixMilli(), 10): "lab:b bridged:a",
	} {
		if got := p.list(query); got != want {
			t.Errorf("history?%s = %q, want %q", query, got, want)
		}
	}
	t.Run("pages stay in step while mail comes in", func(t *testing.T) {
		p := person{t, p.running}
		p.entry("plain", "ann", "new", 1) // in a room that had no entries
		if got := p.list("limit=3&before=e"); got != "lab:d shop:c lab:b …" {
			t.Errorf("behind the first page is %q", got)
		}
		if got := p.list("limit=1"); got != "plain:new …" {
			t.Errorf("the newest is %q", got)
		}
		p.ask(http.StatusNoContent, "DELETE", "/api/inbox/new")
	})
	t.Run("ids lead to their rooms", func(t *testing.T) {
		p := person{t, p.running}
		p.ask(http.StatusOK, "PUT", "/api/inbox/c/read")
		p.ask(http.StatusOK, "PUT", "/api/inbox/e/read")
		p.ask(http.StatusOK, "DELETE", "/api/inbox/e/read")
		p.ask(http.StatusNoContent, "DELETE", "/api/inbox/d")
		for _, path := range []string{"/api/inbox/d", "/api/inbox/nobody/read", "/api/inbox/f?room=lab"} {
			p.ask(http.StatusNotFound, "DELETE", path)
		}
		if got, want := p.list(""), "shop:f lab:e shop:c:read lab:b bridged:a"; got != want {
			t.Errorf("the inbox is %q, want %q", got, want)
		}
	})
	t.Run("one entry in two rooms is one", func(t *testing.T) {
		p := person{t, p.running}
		at := mail.TimeOf(time.Now())
		for _, room := range []mail.RoomName{"lab", "shop"} {
			if _, err := p.room(t, room, mail.User).Import(t.Context(), []mail.Item{{Message: mail.Message{ID: "twice",
				Type: mail.Custom, From: "agent:ws-two", To: []mail.Address{mail.ToUser}, Body: "twice",
				Sent: at}}}); err != nil {
				t.Fatal(err)
			}
		}
		p.ask(http.StatusOK, "PUT", "/api/inbox/twice/read")
		if got := p.list("limit=2"); got != "lab:twice:read shop:f …" {
			t.Errorf("the inbox is %q", got)
		}
		if got := p.list("limit=1&room=shop"); got != "shop:twice:read …" {
			t.Errorf("in the other room it is %q", got)
		}
		p.ask(http.StatusNoContent, "DELETE", "/api/inbox/twice")
		if got := p.list("limit=1"); got != "shop:f …" {
			t.Errorf("after its deletion the inbox is %q", got)
		}
	})
	t.Run("documents", func(t *testing.T) {
		p := person{t, p.running}
		if got, _ := p.ask(http.StatusOK, "GET", "/api/workspaces/ws-lab/file?path=here.md"); got != "in lab" {
			t.Errorf("the document says %q", got)
		}
		p.ask(http.StatusConflict, "GET", "/api/workspaces/ws-two/file?path=here.md")
		if got, _ := p.ask(http.StatusOK, "GET",
			"/api/workspaces/ws-two/file?path=here.md&room=shop"); got != "in shop" {
			t.Errorf("the document says %q", got)
		}
		p.ask(http.StatusNotFound, "GET", "/api/workspaces/ws-nobody/file?path=here.md")
	})
	t.Run("only the person sees it", func(t *testing.T) {
		p := person{t, p.running}
		for _, r := range [][2]string{{"GET", "/api/inbox/history"}, {"GET", "/api/inbox/history?room=shop"},
			{"PUT", "/api/inbox/f/read"}, {"DELETE", "/api/inbox/f/read"}, {"DELETE", "/api/inbox/f"},
			{"GET", "/api/workspaces/ws-shop/file?path=here.md"}} {
			p.askAs(http.StatusForbidden, token, r[0], r[1])
			p.askAs(http.StatusUnauthorized, "pp.wrong", r[0], r[1])
		}
	})
	t.Run("a room that does not open keeps nobody from the others", func(t *testing.T) {
		p := person{t, p.running}
		if err := os.MkdirAll(filepath.Join(cfg.Home.Rooms(), "broken", "mailbox.jsonl"), 0o700); err != nil {
			t.Fatal(err)
		}
		_, h := p.ask(http.StatusOK, "GET", "/api/inbox/history")
		if h.Get("X-Inbox-Incomplete") != "true" || !strings.HasPrefix(p.list(""), "shop:f lab:e") {
			t.Errorf("the inbox is %q, %v", p.list(""), h)
		}
		p.ask(http.StatusOK, "PUT", "/api/inbox/f/read")
		p.ask(http.StatusServiceUnavailable, "DELETE", "/api/inbox/nobody") // it may be in there
	})
}

// TestOneInboxLooksOnce: a room without entries is not opened on each request.
func TestOneInboxLooksOnce(t *testing.T) {
	cfg := testConfig(t)
	cfg.RoomIdle = config.Duration(500 * time.Millisecond)
	p := person{t, start(t, Options{Config: cfg})}
	p.register(t, "plain", "ann")
	open := func() bool { // asking keeps no room open
		_, figures := p.get(t, "/metrics", p.token)
		return !strings.Contains(figures, "\npennypost_rooms_open 0\n")
	}
	p.list("")
	eventually(t, "a look at the inbox leaves a room closed that has not changed", func() bool {
		eventually(t, "the room is closed", func() bool { return !open() })
		p.list("") // the first request may arrive while the room is being closed
		return !open()
	})
}

// TestSeedGoesToTheFile: a seed that names no room is written to the bridged entries.jsonl, as in the original,
// whichever room its workspace is in.
func TestSeedGoesToTheFile(t *testing.T) {
	p := person{t, start(t, Options{Config: testConfig(t), Dev: true})}
	p.workspace("shop", "ws-shop")
	dir := t.TempDir()
	if _, err := p.room(t, "thesis", mail.User).AddBridge(t.Context(), mail.Bridge{Dialect: "openalice",
		Dir: dir}); err != nil {
		t.Fatal(err)
	}
	seed := func(query, workspace, comments string) {
		t.Helper()
		body := `{"workspaceId":"` + workspace + `","comments":"` + comments + `"}`
		p.askWith(http.StatusOK, p.token, "POST", "/api/inbox/seed"+query, body)
	}
	seed("", "ws-new", "of nobody")
	seed("", "ws-shop", "of a shop")
	seed("?room=shop", "ws-shop", "as told")
	if got := p.list(""); got != "shop:as told thesis:of a shop thesis:of nobody" {
		t.Errorf("the inbox is %q", got)
	}
	eventually(t, "the file has the seeds", func() bool {
		text, _ := os.ReadFile(filepath.Join(dir, "data", "inbox", "entries.jsonl"))
		return strings.Count(string(text), "\n") == 2 && strings.Contains(string(text), "of nobody") &&
			strings.Contains(string(text), "of a shop")
	})
}
