package daemon

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/office/gate"
)

// eventually waits until ok is true, which other code brings about.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for began := time.Now(); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Since(began) > 20*time.Second {
			t.Fatalf("%s: not within 20 s", what)
		}
	}
}

// P8: an owed ring survives a restart and keeps its room open; once answered, it no longer does.
func TestP8_WakesAcrossRestart(t *testing.T) {
	var asked, status atomic.Int64
	status.Store(http.StatusServiceUnavailable)
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(int(status.Load()))
	}))
	defer hook.Close()
	cfg := testConfig(t)
	cfg.RoomIdle = config.Duration(10 * time.Millisecond)
	cfg.Room.Wake = map[string]config.Wake{"orchestrator": {Webhook: hook.URL,
		Secret: []byte("a secret of twenty-four b")}}

	r := start(t, Options{Config: cfg})
	has := func(line string) func() bool {
		return func() bool {
			_, body := r.get(t, "/metrics", r.token)
			return strings.Contains(body, "\n"+line+"\n")
		}
	}
	user := r.room(t, "a", mail.User)
	for _, p := range []mail.Presence{{Name: "lead", Roles: []string{"orchestrator"}}, {Name: "bob"}} {
		if _, err := user.Register(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "a room in which nobody is to be woken is closed", has("pennypost_rooms_open 0"))
	sent, err := r.room(t, "a", "bob").Send(t.Context(), mail.Draft{To: []string{"orchestrator"}, Type: "task-done",
		Body: "x"})
	if err != nil || sent.Recipients[0].Wake != "webhook" {
		t.Fatalf("Send = %+v, %v, want that lead is woken by webhook", sent, err)
	}
	eventually(t, "the webhook is asked", func() bool { return asked.Load() >= 2 })
	if !has("pennypost_outstanding_wakes 1")() || !has("pennypost_rooms_open 1")() ||
		has("pennypost_failed_rings_total 0")() {
		_, body := r.get(t, "/metrics", r.token)
		t.Errorf("while it fails:\n%s", body)
	}
	r.stop(t)

	status.Store(http.StatusNoContent)
	before := asked.Load()
	r = start(t, Options{Config: cfg})
	eventually(t, "the webhook is asked after the restart, though nobody comes to the room", func() bool {
		return asked.Load() > before
	})
	lead := r.room(t, "a", "lead")
	eventually(t, "the message is notified", func() bool {
		it, err := lead.Message(t.Context(), sent.ID)
		return err == nil && it.Deliveries[0].State == mail.Notified && it.Deliveries[0].Door == "webhook"
	})
	if !has("pennypost_rings_total 1")() || !has("pennypost_rooms_open 1")() {
		_, body := r.get(t, "/metrics", r.token)
		t.Errorf("while the ring is outstanding:\n%s", body)
	}
	if _, err := lead.Mark(t.Context(), mail.Marking{All: true, Mark: mail.MarkRead}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a room in which nobody is to be woken is closed", has("pennypost_rooms_open 0"))
	if got := asked.Load(); got != before+1 {
		t.Errorf("the webhook was asked %d times after the restart, want once", got-before)
	}
}

// A post office that a command started does not exit while an agent is to be woken.
func TestStaysToWake(t *testing.T) {
	o := testOffice(t, time.Hour)
	o.Set.Config.IdleExit = config.Duration(50 * time.Millisecond)
	o.Set.Config.Room.Wake = map[string]config.Wake{"bob": {Exec: []string{"/no/such/command"}}}
	user, err := o.Room(gate.Own(t.Context()), "a", mail.User)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := user.Register(t.Context(), mail.Presence{Name: "bob"}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "nobody is to be woken", o.Quiet)
	if _, err := user.Send(t.Context(), mail.Draft{To: []string{"bob"}, Body: "x"}); err != nil {
		t.Fatal(err)
	}
	if o.Quiet() {
		t.Error("it may leave as soon as mail has come")
	}
	eventually(t, "a ring has failed", func() bool {
		w := httptest.NewRecorder()
		o.Set.Metrics.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		return !strings.Contains(w.Body.String(), "\npennypost_failed_rings_total 0\n")
	})
	if o.Quiet() {
		t.Error("it may leave while a ring fails")
	}
}
