package daemon

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pennypost/internal/config"
	"pennypost/internal/mail"
)

// a2aStream is a stream of a guest, read line by line.
type a2aStream struct {
	events chan a2aEvent // closed at its end
	status int
}

// a2aEvent is one event: exactly one of its parts is set.
type a2aEvent struct {
	Task         *a2aTask
	StatusUpdate *struct {
		TaskID string
		Status struct {
			State   string
			Message *a2aMessage
		}
	}
	ArtifactUpdate *struct {
		Artifact  struct{ Parts []struct{ Text string } }
		LastChunk bool
	}
}

// name returns the kind of an event.
func (e *a2aEvent) name() string {
	switch {
	case e.Task != nil:
		return "task " + e.Task.Status.State
	case e.StatusUpdate != nil:
		return e.StatusUpdate.Status.State
	case e.ArtifactUpdate != nil:
		return "artifact " + e.ArtifactUpdate.Artifact.Parts[0].Text
	}
	return "nothing"
}

func (r *running) a2aStream(t *testing.T, path, token, method string, params any) *a2aStream {
	t.Helper()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.place.HTTP+path, strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	s := &a2aStream{events: make(chan a2aEvent, 100), status: resp.StatusCode}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(s.events)
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			if !ok {
				continue
			}
			var e struct{ Result a2aEvent }
			if json.Unmarshal([]byte(data), &e) == nil {
				s.events <- e.Result
			}
		}
	}()
	t.Cleanup(func() { cancel(); resp.Body.Close(); <-done })
	return s
}

// next expects an event.
func (s *a2aStream) next(t *testing.T, want string) a2aEvent {
	t.Helper()
	e, ok := <-s.events
	if got := e.name(); !ok || got != want {
		t.Fatalf("the stream tells %q, want %q", got, want)
	}
	return e
}

// ends expects the end.
func (s *a2aStream) ends(t *testing.T) {
	t.Helper()
	if e, ok := <-s.events; ok {
		t.Fatalf("the stream tells %q, want its end", e.name())
	}
}

func TestA2AStreams(t *testing.T) {
	r, _ := guestsOf(t)
	token := r.guestToken(t, "acme")
	sent := r.a2aStream(t, builder1, token, "SendStreamingMessage", guestSays("m-1", "Build it"))
	id := sent.next(t, "task TASK_STATE_SUBMITTED").Task.ID
	again := r.a2aStream(t, "/a2a/shop", token, "SubscribeToTask", map[string]any{"id": id})
	again.next(t, "task TASK_STATE_SUBMITTED")
	both := func(want ...string) {
		t.Helper()
		for _, w := range want {
			sent.next(t, w)
			again.next(t, w)
		}
	}
	if _, err := r.room(t, "shop", "builder-1").Mark(t.Context(), mail.Marking{IDs: []mail.ID{mail.ID(id)},
		Mark: mail.MarkRead}); err != nil {
		t.Fatal(err)
	}
	both("TASK_STATE_WORKING")
	r.a2aReply(t, "builder-1", id, mail.Draft{Type: "question", Body: "Which?"})
	both("TASK_STATE_INPUT_REQUIRED")
	r.a2aSend(t, builder1, token, guestSays("m-2", "That", "taskId", id))
	both("TASK_STATE_WORKING")
	r.a2aReply(t, "builder-1", id, mail.Draft{Type: "task-done", Body: "Here"})
	both("artifact Here", "TASK_STATE_COMPLETED")
	sent.ends(t)
	again.ends(t)
	it, err := r.room(t, "shop", mail.User).History(t.Context(), mail.HistoryQuery{To: "acme", Deliveries: true})
	if err != nil || len(it.Messages) != 2 {
		t.Fatal(it, err)
	}
	eventuallyRead := func() bool {
		for _, m := range it.Messages {
			got, err := r.room(t, "shop", mail.User).Message(t.Context(), m.ID)
			if err != nil || got.Deliveries[0].State != mail.Read {
				return false
			}
		}
		return true
	}
	eventually(t, "what the guest was told counts as read", eventuallyRead)
}

// A send that does not return at once waits until its task ends, or waits for the guest.
func TestA2ASendWaits(t *testing.T) {
	r, _ := guestsOf(t)
	token := r.guestToken(t, "acme")
	answers := make(chan a2aTask, 1)
	waits := func(id string, more ...string) {
		p := guestSays(id, "Text of "+id, more...)
		delete(p, "configuration")
		go func() { answers <- r.a2aSend(t, builder1, token, p) }()
	}
	waits("m-1")
	ask, err := r.room(t, "shop", "builder-1").Wait(t.Context(), mail.WaitQuery{})
	if err != nil {
		t.Fatal(err)
	}
	r.a2aReply(t, "builder-1", string(ask.ID), mail.Draft{Type: "question", Body: "Which?"})
	if got := <-answers; got.Status.State != "TASK_STATE_INPUT_REQUIRED" {
		t.Errorf("the send that begins it = %+v", got)
	}
	waits("m-2", "taskId", string(ask.ID))
	answered := mail.WaitQuery{Types: []mail.Type{mail.Answer}}
	if _, err := r.room(t, "shop", "builder-1").Wait(t.Context(), answered); err != nil {
		t.Fatal(err)
	}
	r.a2aReply(t, "builder-1", string(ask.ID), mail.Draft{Type: "task-done", Body: "Here"})
	if got := <-answers; got.Status.State != "TASK_STATE_COMPLETED" || len(got.Artifacts) != 1 {
		t.Errorf("the send that goes on = %+v", got)
	}
}

// Streams and pushes end with the guest's access.
func TestP5_A2AEndsWithTheRight(t *testing.T) {
	for name, end := range map[string]func(*testing.T, *running){
		"a newer token": func(t *testing.T, r *running) { r.guestToken(t, "acme") },
		"an agent's token": func(t *testing.T, r *running) {
			if _, err := r.room(t, "shop", mail.User).Token(t.Context(), "acme"); err != nil {
				t.Fatal(err)
			}
		},
		"retired": func(t *testing.T, r *running) {
			if err := r.room(t, "shop", mail.User).Retire(t.Context(), "acme"); err != nil {
				t.Fatal(err)
			}
		},
		"the room removed": func(t *testing.T, r *running) {
			if _, err := r.office.RemoveRoom(t.Context(), "shop"); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := guestsOf(t)
			to := newPushReceiver(t)
			token := r.guestToken(t, "acme")
			p := guestSays("m-1", "Build it")
			p["configuration"].(map[string]any)["taskPushNotificationConfig"] = map[string]any{"url": to.URL}
			id := r.a2aSend(t, builder1, token, p).ID
			to.next(t, "TASK_STATE_SUBMITTED")
			s := r.a2aStream(t, builder1, token, "SubscribeToTask", map[string]any{"id": id})
			s.next(t, "task TASK_STATE_SUBMITTED")
			end(t, r)
			s.ends(t)
			eventually(t, "nothing is kept of its pushes", func() bool {
				text, err := os.ReadFile(r.place.home(t).A2A())
				return err == nil && !strings.Contains(string(text), to.URL)
			})
			if status, text := r.a2aDo(t, http.MethodPost, builder1, token, "{}"); status == 200 {
				t.Errorf("a call afterwards: %d %s", status, text)
			}
		})
	}
}

// A post office that stops does not wait for streams.
func TestA2AStops(t *testing.T) {
	r, _ := guestsOf(t)
	s := r.a2aStream(t, builder1, r.guestToken(t, "acme"), "SendStreamingMessage", guestSays("m-1", "Build it"))
	s.next(t, "task TASK_STATE_SUBMITTED")
	began := time.Now()
	r.stop(t)
	if took := time.Since(began); took > stopPatience/2 {
		t.Errorf("the stop took %v", took)
	}
	s.ends(t)
}

// pushReceiver receives pushed news.
type pushReceiver struct {
	*httptest.Server
	got    chan pushed
	status atomic.Int32
}

type pushed struct {
	header http.Header
	body   string
	task   a2aTask
}

func newPushReceiver(t *testing.T) *pushReceiver {
	to := &pushReceiver{got: make(chan pushed, 100)}
	to.status.Store(http.StatusNoContent)
	to.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		var e struct{ Task a2aTask }
		_ = json.Unmarshal(text, &e)
		w.WriteHeader(int(to.status.Load()))
		to.got <- pushed{r.Header, string(text), e.Task}
	}))
	t.Cleanup(to.Close)
	return to
}

func (to *pushReceiver) next(t *testing.T, state string) pushed {
	t.Helper()
	select {
	case got := <-to.got:
		if got.task.Status.State != state {
			t.Fatalf("pushed %s, want %s", got.body, state)
		}
		return got
	case <-time.After(20 * time.Second):
		t.Fatalf("nothing was pushed, want %s", state)
	}
	return pushed{}
}

func TestA2APush(t *testing.T) {
	r, opts := guestsOf(t)
	to := newPushReceiver(t)
	token := r.guestToken(t, "acme")
	secret := "whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 32)))
	p := guestSays("m-1", "Build it")
	p["configuration"].(map[string]any)["taskPushNotificationConfig"] = map[string]any{"url": to.URL, "id": "mine",
		"token": secret, "authentication": map[string]any{"scheme": "Bearer", "credentials": "let-me-in"}}
	id := r.a2aSend(t, builder1, token, p).ID
	got := to.next(t, "TASK_STATE_SUBMITTED")
	if got.header.Get("Authorization") != "Bearer let-me-in" || got.header.Get("Webhook-Signature") == "" ||
		strings.Contains(got.body, "whsec_") || got.header.Get("A2A-Notification-Token") != "" ||
		got.task.ID != id {
		t.Errorf("pushed %v %s", got.header, got.body)
	}
	var second, list struct {
		ID, URL, Token string
		Configs        []struct{ ID, Token string }
	}
	if code, why := r.a2aCall(t, builder1, token, "CreateTaskPushNotificationConfig", map[string]any{"taskId": id,
		"url": to.URL + "/second", "token": "plain"}, &second); code != 0 || second.ID == "" || second.Token != "" {
		t.Fatal(code, why, second)
	}
	if got := to.next(t, "TASK_STATE_SUBMITTED"); got.header.Get("A2A-Notification-Token") != "plain" ||
		got.header.Get("Webhook-Signature") != "" {
		t.Errorf("pushed %v", got.header)
	}
	if code, why := r.a2aCall(t, builder1, token, "ListTaskPushNotificationConfigs", map[string]any{"taskId": id},
		&list); code != 0 || len(list.Configs) != 2 || list.Configs[0].Token != "" {
		t.Error(code, why, list)
	}
	if code, why := r.a2aCall(t, builder1, token, "GetTaskPushNotificationConfig", map[string]any{"taskId": id,
		"id": "mine"}, &list); code != 0 || list.ID != "mine" {
		t.Error(code, why, list)
	}
	other := r.guestToken(t, "other")
	for _, method := range []string{"GetTaskPushNotificationConfig", "ListTaskPushNotificationConfigs"} {
		code, _ := r.a2aCall(t, builder1, other, method, map[string]any{"taskId": id, "id": "mine"}, nil)
		if code != -32001 {
			t.Errorf("another guest's %s: %d", method, code)
		}
	}
	_, _ = r.a2aCall(t, builder1, other, "DeleteTaskPushNotificationConfig", map[string]any{"taskId": id,
		"id": "mine"}, nil)
	if code, why := r.a2aCall(t, builder1, token, "DeleteTaskPushNotificationConfig", map[string]any{"taskId": id,
		"id": second.ID}, nil); code != 0 {
		t.Error(code, why)
	}

	// News from the time when the post office or the pushReceiver is away is pushed later.
	r.stop(t)
	r = start(t, opts)
	r.a2aReply(t, "builder-1", id, mail.Draft{Type: "question", Body: "Which?"})
	to.next(t, "TASK_STATE_INPUT_REQUIRED")
	to.status.Store(http.StatusServiceUnavailable)
	r.a2aReply(t, "builder-1", id, mail.Draft{Type: "task-done", Body: "Here"})
	refused := to.next(t, "TASK_STATE_COMPLETED")
	r.stop(t)
	to.status.Store(http.StatusNoContent)
	r = start(t, opts)
	if got := to.next(t, "TASK_STATE_COMPLETED"); got.header.Get("Webhook-Id") != refused.header.Get("Webhook-Id") {
		t.Errorf("sent again, it has another id: %q, %q", got.header.Get("Webhook-Id"),
			refused.header.Get("Webhook-Id"))
	}
	eventually(t, "what has ended is pushed no more", func() bool {
		text, err := os.ReadFile(r.place.home(t).A2A())
		return err == nil && !strings.Contains(string(text), to.URL)
	})
	if n := len(to.got); n != 0 {
		t.Errorf("%d pushes more", n)
	}
}

// Without the person's permission no push goes to this machine or its networks; and no guest has more than its
// share.
func TestP12_A2APush(t *testing.T) {
	r, opts := guestsOf(t)
	token := r.guestToken(t, "acme")
	id := r.a2aSend(t, builder1, token, guestSays("m-1", "Build it")).ID
	create := func(url string) (int, string) {
		return r.a2aCall(t, builder1, token, "CreateTaskPushNotificationConfig", map[string]any{"taskId": id,
			"url": url}, nil)
	}
	codes := make([]int, 65)
	for i := range codes {
		codes[i], _ = create("http://127.0.0.1:1/")
	}
	if slices.Index(codes, -32000) != 64 {
		t.Errorf("the first that is refused is number %d: %v", slices.Index(codes, -32000), codes)
	}
	r.stop(t)
	shop := opts.Config.Rooms["shop"]
	shop.A2A.Private = false
	opts.Config.Rooms = map[mail.RoomName]config.Room{"shop": shop}
	if err := os.Remove(opts.Config.Home.A2A()); err != nil {
		t.Fatal(err)
	}
	r = start(t, opts)
	for _, to := range []string{"http://example.com/", "https://127.0.0.1/", "https://[::1]/", "https://10.1.2.3/",
		"https://169.254.169.254/latest", "https://[::ffff:127.0.0.1]/", "https://[64:ff9b::7f00:1]/",
		"https://0.0.0.0/", "https://100.64.0.1/"} {
		if code, why := create(to); code != -32602 {
			t.Errorf("to %s: %d %s", to, code, why)
		}
	}
}
