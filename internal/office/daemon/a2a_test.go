package daemon

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"pennypost/internal/config"
	"pennypost/internal/mail"
)

// guestsOf is a post office with a room shop that guests may enter, and who works there.
func guestsOf(t *testing.T) (*running, Options) {
	t.Helper()
	cfg := testConfig(t)
	cfg.Rooms = map[mail.RoomName]config.Room{"shop": {A2A: config.A2A{Enabled: true, Private: true,
		Publish: []mail.Name{"builder-1"}}}}
	opts := Options{Config: cfg}
	r := start(t, opts)
	svc := r.room(t, "shop", mail.User)
	for _, p := range []mail.Presence{{Name: "builder-1", Roles: []string{"builder"}}, {Name: "private-1"},
		{Name: "acme"}, {Name: "other"}} {
		if _, err := svc.Register(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	return r, opts
}

// guestToken makes the token of a guest.
func (r *running) guestToken(t *testing.T, name mail.Name) string {
	t.Helper()
	token, err := r.room(t, "shop", mail.User).GuestToken(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// a2aGet asks for a card.
func (r *running) a2aGet(t *testing.T, path, token string) (int, string) {
	t.Helper()
	return r.a2aDo(t, http.MethodGet, path, token, "")
}

func (r *running) a2aDo(t *testing.T, method, path, token, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, r.place.HTTP+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// a2aTask is of a task what the tests look at.
type a2aTask struct {
	ID, ContextID string
	Status        struct {
		State   string
		Message *a2aMessage
	}
	Artifacts []struct{ Parts []struct{ Text string } }
	History   []a2aMessage
}

type a2aMessage struct {
	MessageID, Role string
	Parts           []struct{ Text string }
}

// a2aCall makes a call of the protocol, and returns its error's code, 0 for none.
func (r *running) a2aCall(t *testing.T, path, token, method string, params, result any) (code int, why string) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		t.Fatal(err)
	}
	_, text := r.a2aDo(t, http.MethodPost, path, token, string(body))
	var answer struct {
		Result json.RawMessage
		Error  *struct {
			Code    int
			Message string
		}
	}
	if err := json.NewDecoder(bytes.NewReader([]byte(text))).Decode(&answer); err != nil {
		t.Fatalf("%s answers %q: %v", method, text, err)
	}
	if answer.Error != nil {
		return answer.Error.Code, answer.Error.Message
	}
	if result != nil {
		if err := json.Unmarshal(answer.Result, result); err != nil {
			t.Fatalf("%s answers %s: %v", method, answer.Result, err)
		}
	}
	return 0, ""
}

// guestSays is a message of a guest, sent without waiting for its task.
func guestSays(id, text string, more ...string) map[string]any {
	m := map[string]any{"messageId": id, "role": "ROLE_USER", "parts": []any{map[string]any{"text": text}}}
	for i := 0; i+1 < len(more); i += 2 {
		m[more[i]] = more[i+1]
	}
	return map[string]any{"message": m, "configuration": map[string]any{"returnImmediately": true}}
}

const builder1 = "/a2a/shop/agents/builder-1"

// a2aSend sends a message, and expects a task.
func (r *running) a2aSend(t *testing.T, path, token string, params any) a2aTask {
	t.Helper()
	var out struct{ Task a2aTask }
	if code, why := r.a2aCall(t, path, token, "SendMessage", params, &out); code != 0 {
		t.Fatalf("SendMessage: %d %s", code, why)
	}
	return out.Task
}

func (r *running) a2aTask(t *testing.T, token, id string) a2aTask {
	t.Helper()
	var out a2aTask
	if code, why := r.a2aCall(t, "/a2a/shop", token, "GetTask", map[string]any{"id": id}, &out); code != 0 {
		t.Fatalf("GetTask: %d %s", code, why)
	}
	return out
}

// A task is mail, and how it stands follows from the room.
func TestA2ATask(t *testing.T) {
	r, _ := guestsOf(t)
	token := r.guestToken(t, "acme")
	if status, card := r.a2aGet(t, "/a2a/shop/.well-known/agent-card.json", token); status != 200 ||
		!strings.Contains(card, `"id":"role:builder"`) {
		t.Fatalf("the room's card: %d %s", status, card)
	}
	sent := r.a2aSend(t, builder1, token, guestSays("m-1", "Build it"))
	if sent.Status.State != "TASK_STATE_SUBMITTED" {
		t.Fatalf("sent: %+v", sent)
	}
	builder := r.room(t, "shop", "builder-1")
	page, err := builder.Inbox(t.Context(), mail.InboxQuery{})
	if err != nil || len(page.Messages) != 1 {
		t.Fatal(page, err)
	}
	ask := page.Messages[0]
	if string(ask.ID) != sent.ID || ask.From != "agent:acme" || ask.By != mail.ByGuest ||
		ask.Doubt() != mail.Outside || ask.Type != mail.TaskAssigned {
		t.Errorf("the mail is %+v", ask.Message)
	}
	if _, err := builder.Mark(t.Context(), mail.Marking{IDs: []mail.ID{ask.ID}, Mark: mail.MarkRead}); err != nil {
		t.Fatal(err)
	}
	if got := r.a2aTask(t, token, sent.ID); got.Status.State != "TASK_STATE_WORKING" {
		t.Errorf("read: %+v", got)
	}
	if _, err := builder.Send(t.Context(), mail.Draft{To: mail.Recipients{"acme"}, Type: "question",
		Body: "Which colour?", ReplyTo: ask.ID}); err != nil {
		t.Fatal(err)
	}
	got := r.a2aTask(t, token, sent.ID)
	if got.Status.State != "TASK_STATE_INPUT_REQUIRED" || got.Status.Message.Parts[0].Text != "Which colour?" {
		t.Errorf("asked: %+v", got)
	}
	r.a2aSend(t, "/a2a/shop", token, guestSays("m-2", "Red", "taskId", sent.ID))
	if got := r.a2aTask(t, token, sent.ID); got.Status.State != "TASK_STATE_WORKING" {
		t.Errorf("answered: %+v", got)
	}
	if _, err := builder.Send(t.Context(), mail.Draft{To: mail.Recipients{"acme"}, Type: "task-done",
		Body: "It is built", ReplyTo: ask.ID}); err != nil {
		t.Fatal(err)
	}
	got = r.a2aTask(t, token, sent.ID)
	if got.Status.State != "TASK_STATE_COMPLETED" || len(got.Artifacts) != 1 ||
		got.Artifacts[0].Parts[0].Text != "It is built" {
		t.Errorf("done: %+v", got)
	}
	var said []string
	for _, m := range got.History {
		said = append(said, m.Role+" "+m.Parts[0].Text)
	}
	if want := "ROLE_USER Build it|ROLE_AGENT Which colour?|ROLE_USER Red|ROLE_AGENT It is built"; strings.Join(said,
		"|") != want {
		t.Errorf("history %q, want %q", said, want)
	}
}
