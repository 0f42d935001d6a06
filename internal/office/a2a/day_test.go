package a2a

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/policy"
	"pennypost/internal/room/check"
	"pennypost/internal/room/journal/journaltest"
	"pennypost/internal/room/mailroom"
)

// world is a room, its journal, and a door to it, in synctest's time.
type world struct {
	*testing.T
	store journaltest.Store
	file  string
	room  *mailroom.Room
	mux   *http.ServeMux
	end   context.CancelFunc
}

// open starts the simulated post office, which has the state in its files.
func (w *world) open() {
	w.Helper()
	var err error
	if w.room, err = mailroom.Open(w.Context(), "shop", w.store.Open(), mailroom.Options{
		TTL: policy.TTL{Agent: 7 * 24 * time.Hour}}); err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.Context())
	guest := func() (Guest, error) {
		svc, err := w.room.From("acme", check.Whence{Means: mail.ByGuest})
		return Guest{Name: "acme", Room: "shop", Token: "sum", Service: svc}, err
	}
	door, err := New(Options{
		Enter: func(r *http.Request) (Guest, error) {
			if r.Header.Get("Authorization") != "Bearer acme's" {
				return Guest{}, mail.Errorf(mail.Unknown, "who are you?")
			}
			return guest()
		},
		Stand:  func(context.Context, mail.RoomName, string) (Guest, error) { return guest() },
		Config: func(mail.RoomName) config.A2A { return config.A2A{Enabled: true, Publish: []mail.Name{"builder"}} },
		File:   w.file, Version: "test", Closing: ctx, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		w.Fatal(err)
	}
	w.mux, w.end = http.NewServeMux(), cancel
	door.Mount(w.mux)
}

func (w *world) close() {
	w.end()
	synctest.Wait()
	if err := w.room.Close(); err != nil {
		w.Error(err)
	}
}

func (w *world) restart() {
	w.close()
	w.open()
}

// call makes a call of the protocol and returns the answer.
func (w *world) call(method, params string) string {
	body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
	r := httptest.NewRequestWithContext(w.Context(), http.MethodPost, "/a2a/shop/agents/builder",
		strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer acme's")
	rec := httptest.NewRecorder()
	w.mux.ServeHTTP(rec, r)
	return rec.Body.String()
}

// task returns a task's state and result.
func (w *world) task(id string) (state, result string) {
	w.Helper()
	var out struct {
		Result struct {
			Status    struct{ State string }
			Artifacts []struct{ Parts []struct{ Text string } }
		}
	}
	if err := json.Unmarshal([]byte(w.call("GetTask", `{"id":"`+id+`"}`)), &out); err != nil {
		w.Fatal(err)
	}
	if a := out.Result.Artifacts; len(a) > 0 {
		result = a[0].Parts[0].Text
	}
	return out.Result.Status.State, result
}

// ask begins a task and returns its id.
func (w *world) ask(id string) string {
	w.Helper()
	answer := w.call("SendMessage", `{"message":{"messageId":"`+id+`","role":"ROLE_USER","parts":[{"text":"Task `+id+
		`"}]},"configuration":{"returnImmediately":true}}`)
	var out struct {
		Result struct{ Task struct{ ID string } }
	}
	if err := json.Unmarshal([]byte(answer), &out); err != nil || out.Result.Task.ID == "" {
		w.Fatal(answer, err)
	}
	return out.Result.Task.ID
}

// session begins or ends a session of the agent.
func (w *world) session(id string, end bool) {
	w.Helper()
	state := mail.Idle
	if end {
		state = mail.Gone
	}
	p := mail.Presence{Session: id, End: end, State: state}
	if _, err := w.room.As("builder").Register(w.Context(), p); err != nil {
		w.Fatal(err)
	}
}

func newWorld(t *testing.T) *world {
	w := &world{T: t, file: filepath.Join(t.TempDir(), "a2a.json")}
	w.open()
	if _, err := w.room.As(mail.User).Register(t.Context(), mail.Presence{Name: "acme"}); err != nil {
		t.Fatal(err)
	}
	return w
}

// A task for an agent that is off for a day is completed, even if the post office restarts in the meantime.
func TestOffForADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer func() { w.close() }()
		w.session("monday", false)
		w.session("monday", true)
		id := w.ask("m-1")
		for range 4 {
			if state, _ := w.task(id); state != "TASK_STATE_SUBMITTED" {
				t.Fatalf("while its agent is off it is %s", state)
			}
			time.Sleep(6 * time.Hour)
			w.restart()
		}
		w.session("tuesday", false)
		page, err := w.room.As("builder").Inbox(t.Context(), mail.InboxQuery{})
		if err != nil || len(page.Messages) != 1 || string(page.Messages[0].ID) != id {
			t.Fatalf("the agent finds %+v, %v", page.Messages, err)
		}
		w.restart()
		if _, err := w.room.As("builder").Send(t.Context(), mail.Draft{To: mail.Recipients{"acme"},
			ReplyTo: mail.ID(id), Type: "task-done", Body: "Done, a day later"}); err != nil {
			t.Fatal(err)
		}
		w.restart()
		if state, result := w.task(id); state != "TASK_STATE_COMPLETED" || result != "Done, a day later" {
			t.Errorf("in the end it is %s with %q", state, result)
		}
	})
}

// A task that is not read in time has failed, and its followers are told, though the room has no event.
func TestExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer func() { w.close() }()
		w.session("monday", false)
		w.session("monday", true)
		id := w.ask("m-1")
		began := time.Now()
		told := w.call("SubscribeToTask", `{"id":"`+id+`"}`)
		if took := time.Since(began); took < 7*24*time.Hour || took > 7*24*time.Hour+time.Minute ||
			!strings.Contains(told, `"state":"TASK_STATE_FAILED"`) {
			t.Errorf("after %v the stream has told\n%s", took, told)
		}
	})
}

// A send waits for a limited time, because the agent may be off; and a guest may have a limited number of waiters.
func TestWaitIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer func() { w.close() }()
		w.session("monday", false)
		send := func(id string) string {
			return w.call("SendMessage", `{"message":{"messageId":"`+id+`","role":"ROLE_USER","parts":[{"text":"`+id+
				`"}]}}`)
		}
		began := time.Now()
		if got := send("m-1"); !strings.Contains(got, "TASK_STATE_SUBMITTED") || time.Since(began) != patience {
			t.Errorf("after %v: %s", time.Since(began), got)
		}
		id := w.ask("m-2")
		for range maxWaiting {
			go w.call("SubscribeToTask", `{"id":"`+id+`"}`)
		}
		synctest.Wait()
		if got := w.call("SubscribeToTask", `{"id":"`+id+`"}`); !strings.Contains(got, `"code":-32000`) {
			t.Errorf("one more: %s", got)
		}
	})
}

// A message that retention archived is still a task.
func TestArchived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer func() { w.close() }()
		w.session("monday", false)
		done, open := w.ask("m-1"), w.ask("m-2")
		if _, err := w.room.As("builder").Send(t.Context(), mail.Draft{To: mail.Recipients{"acme"},
			ReplyTo: mail.ID(done), Type: "task-done", Body: "Done"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(8 * 24 * time.Hour)
		if _, err := w.room.As(mail.User).Archive(t.Context()); err != nil {
			t.Fatal(err)
		}
		if page, err := w.room.As(mail.User).History(t.Context(), mail.HistoryQuery{From: "acme"}); err != nil ||
			len(page.Messages) > 0 {
			t.Fatalf("not archived: %+v, %v", page.Messages, err)
		}
		if state, result := w.task(done); state != "TASK_STATE_COMPLETED" || result != "Done" {
			t.Errorf("archived, it is %s with %q", state, result)
		}
		if state, _ := w.task(open); state != "TASK_STATE_FAILED" {
			t.Errorf("archived unread, it is %s", state)
		}
	})
}

// Errors not meant for guests have no detail.
func TestFailures(t *testing.T) {
	secret := errors.New("open /home/me/secret: no such file")
	for _, err := range []error{secret, &mail.Error{Code: mail.Internal, Msg: secret.Error()},
		mail.Errorf(mail.Unavailable, "%w", secret)} {
		if got := failure(err); strings.Contains(got.Error(), "secret") {
			t.Errorf("failure(%v) = %v", err, got)
		}
	}
}
