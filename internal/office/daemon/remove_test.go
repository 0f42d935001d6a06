package daemon

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/office/gate"
)

// post sends a request over TCP and returns the status.
func (r *running) post(t *testing.T, method, path, token, body string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, r.place.HTTP+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

// A request that is refused, or that only reads, makes no room.
func TestRefusedMakesNoRoom(t *testing.T) {
	cfg := testConfig(t)
	r := start(t, Options{Config: cfg})
	const base = "/api/v1/rooms/ghost"
	for _, c := range []struct {
		method, path, token, body string
		status                    int
	}{
		{"POST", "/messages", "", `{"to":"user","body":"x"}`, 401},
		{"POST", "/messages", "pp.ghost.made-up", `{"to":"user","body":"x"}`, 401},
		{"POST", "/messages", r.token, `{"to":`, 400},
		{"POST", "/messages", r.token, `{"to":"nobody","body":"x"}`, 404},
		{"POST", "/messages", r.token, `{"to":"user","body":""}`, 400},
		{"POST", "/messages", r.token, `{"to":"user@elsewhere","body":"x"}`, 404},
		{"POST", "/marks", r.token, `{"ids":["msg_x"],"mark":"read"}`, 404},
		{"POST", "/agents", r.token, `{"name":"user"}`, 403},
		{"PATCH", "/agents/nobody", r.token, `{"task":"x"}`, 404},
		{"POST", "/agents/nobody/token", r.token, ``, 404},
		{"POST", "/bridges", r.token, `{"dialect":"none","dir":"/x"}`, 404},
		{"DELETE", "", r.token, ``, 404},
		{"GET", "/inbox", r.token, ``, 200},
		{"GET", "/agents", r.token, ``, 200},
	} {
		if got := r.post(t, c.method, base+c.path, c.token, c.body); got != c.status {
			t.Errorf("%s %s %s = %d, want %d", c.method, c.path, c.body, got, c.status)
		}
		if left, _ := filepath.Glob(filepath.Join(cfg.Home.Rooms(), "*")); len(left) > 0 {
			t.Errorf("%s %s %s made %v", c.method, c.path, c.body, left)
		}
	}
	if got := r.post(t, "POST", base+"/messages", r.token, `{"to":"user","body":"x"}`); got != 201 {
		t.Errorf("a good message = %d, want 201", got)
	}
	if _, err := os.Stat(filepath.Join(cfg.Home.Rooms(), "ghost", "mailbox.jsonl")); err != nil {
		t.Errorf("the message made no room: %v", err)
	}
}

// The first of many calls to succeed makes the room, and no refused call removes it.
func TestRefusedBesideAccepted(t *testing.T) {
	o := testOffice(t, time.Minute)
	done := make(chan error)
	user, err := o.Room(gate.Own(t.Context()), "a", mail.User)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		var err error
		for range 50 {
			if _, sent := user.Send(t.Context(), mail.Draft{To: []string{"nobody"}, Body: "x"}); mail.CodeOf(
				sent) != mail.NotFound {
				err = sent
			}
		}
		done <- err
	}()
	for range 20 {
		if _, err := user.Send(t.Context(), mail.Draft{To: []string{"user"}, Body: "x", Again: true}); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if page, err := user.Inbox(t.Context(), mail.InboxQuery{}); err != nil || page.Unread != 20 {
		t.Errorf("Inbox = %d, %v, want 20", page.Unread, err)
	}
}

func TestRemoveRoom(t *testing.T) {
	cfg := testConfig(t)
	r := start(t, Options{Config: cfg})
	project := t.TempDir()
	user, ann := r.room(t, "lab", mail.User), r.room(t, "lab", "ann")
	r.register(t, "lab", "ann")
	r.register(t, "other", "ann")
	token, err := user.Token(t.Context(), "ann")
	if err != nil {
		t.Fatal(err)
	}
	sent, err := user.Send(t.Context(), mail.Draft{To: []string{"ann"}, Body: "kept"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := user.AddBridge(t.Context(), mail.Bridge{Dialect: "agenties", Dir: project,
		Mode: mail.BridgeBoth}); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 2)
	watch, err := ann.Watch(t.Context(), sent.Seq)
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close()
	go func() {
		var err error
		for err == nil {
			_, err = watch.Next(t.Context())
		}
		ended <- err
	}()
	go func() {
		_, err := ann.Wait(t.Context(), mail.WaitQuery{Types: []mail.Type{mail.Cancel}})
		ended <- err
	}()
	if _, err := r.office.RemoveRoom(t.Context(), "labb"); mail.CodeOf(err) != mail.NotFound {
		t.Errorf("RemoveRoom of no room = %v, want not found", err)
	}
	if got := r.post(t, "DELETE", "/api/v1/rooms/lab", token, ""); got != 403 {
		t.Errorf("an agent's DELETE = %d, want 403", got)
	}

	done, err := r.office.RemoveRoom(t.Context(), "lab")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(done.Files, "mailbox.jsonl"))
	if err != nil || !strings.Contains(string(text), "kept") || !strings.HasPrefix(done.Files, cfg.Home.Removed()) {
		t.Errorf("the files are at %s: %v", done.Files, err)
	}
	for range 2 {
		select {
		case err := <-ended:
			if mail.CodeOf(err) != mail.NotFound || !strings.Contains(err.Error(), "room lab was removed") {
				t.Errorf("a watch or wait ended with %v", err)
			}
		case <-time.After(20 * time.Second):
			t.Fatal("a watch or wait goes on")
		}
	}
	gone := filepath.Join(cfg.Home.Rooms(), "lab")
	if got := r.post(t, "POST", "/api/v1/rooms/lab/messages", token, `{"to":"user","body":"x"}`); got != 401 {
		t.Errorf("a call with the room's token = %d, want 401", got)
	}
	if _, err := ann.Register(t.Context(), mail.Presence{}); mail.CodeOf(err) != mail.NotFound {
		t.Errorf("an agent's heartbeat = %v, want not found", err)
	}
	if _, err := user.Inbox(t.Context(), mail.InboxQuery{}); mail.CodeOf(err) != mail.NotFound {
		t.Errorf("a look of the user = %v, want not found", err)
	}
	if _, err := os.Stat(gone); !os.IsNotExist(err) {
		t.Errorf("the room is there again: %v", err)
	}
	if page, err := r.room(t, "other", "ann").Inbox(t.Context(), mail.InboxQuery{}); err != nil {
		t.Errorf("another room: %+v, %v", page, err)
	}

	if _, err := user.Send(t.Context(), mail.Draft{To: []string{"user"}, Body: "new"}); err != nil {
		t.Errorf("the user makes the room anew: %v", err)
	}
	if _, err := ann.Register(t.Context(), mail.Presence{}); err != nil {
		t.Errorf("an agent in the new room: %v", err)
	}
	if page, err := ann.History(t.Context(), mail.HistoryQuery{}); err != nil || len(page.Messages) != 1 {
		t.Errorf("the new room holds %+v, %v", page, err)
	}
}

// Calls in the room's last moments find no room, or were served before; none makes it again.
func TestRemoveUnderLoad(t *testing.T) {
	o := testOffice(t, time.Minute)
	user, err := o.Room(gate.Own(t.Context()), "a", mail.User)
	if err == nil {
		_, err = user.Register(t.Context(), mail.Presence{Name: "ann"})
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 4)
	for range cap(ended) {
		ann, err := o.Room(gate.Own(t.Context()), "a", "ann")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			for ctx.Err() == nil {
				if _, err := ann.Send(t.Context(),
					mail.Draft{To: []string{"user"}, Body: "x", Again: true}); err != nil {
					ended <- err
					return
				}
			}
			ended <- nil
		}()
	}
	_, err = o.Set.Remove(t.Context(), "a")
	for range cap(ended) {
		if err := <-ended; mail.CodeOf(err) != mail.NotFound && mail.CodeOf(err) != mail.Unavailable {
			t.Errorf("a send beside the removal: %v", err)
		}
	}
	cancel()
	if err != nil || o.Set.Exists("a") {
		t.Errorf("remove = %v; the room exists: %v", err, o.Set.Exists("a"))
	}
}
