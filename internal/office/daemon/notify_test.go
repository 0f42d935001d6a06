package daemon

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// receiver is a webhook that remembers its notes.
type receiver struct {
	mu     sync.Mutex
	told   []string
	url    string // of the last note
	tried  int
	status int
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var got struct{ Data struct{ Subject, URL string } }
	body, _ := io.ReadAll(req.Body)
	_ = json.Unmarshal(body, &got)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tried++; r.status == http.StatusOK {
		r.told, r.url = append(r.told, got.Data.Subject), got.Data.URL
	}
	w.WriteHeader(r.status)
}

func (r *receiver) set(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status = status
}

func (r *receiver) heard() (tried int, told string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tried, strings.Join(r.told, "; ")
}

// TestNotify holds that status shows a channel that fails, and the call for tests tests it; that a restart announces
// the mail that is left, from a room that no one opens, and none twice; and that the asker learns how the person is
// told, from the answer to the send and afterwards.
func TestNotify(t *testing.T) {
	hook := &receiver{status: http.StatusServiceUnavailable}
	server := httptest.NewServer(hook)
	defer server.Close()
	cfg := testConfig(t)
	cfg.Notify.Webhook = &config.NotifyWebhook{Webhook: server.URL, Secret: []byte("a secret of twenty-four b")}
	cfg.TLS.URL = "https://box.example:8766" // where other machines find the pages
	r := start(t, Options{Config: cfg})
	r.register(t, "lab", "ann")
	sent, err := r.room(t, "lab", "ann").Send(t.Context(), mail.Draft{To: []string{"user"}, Type: "question",
		Subject: "Which port?", Body: "8080?"})
	if err != nil || sent.Recipients[0].Wake != "webhook" {
		t.Fatalf("Send = %+v, %v, want that the user is told by webhook", sent, err)
	}
	eventually(t, "status tells of the failure", func() bool {
		st, err := r.office.Status(t.Context())
		return err == nil && len(st.Failing) == 1 &&
			st.Failing[0] == "notify webhook: answered 503 Service Unavailable"
	})
	list, err := r.office.Notify(t.Context())
	if err != nil || len(list) != 1 || list[0].Waiting != 1 || list[0].Failed == "" {
		t.Errorf("Notify = %+v, %v", list, err)
	}
	tested, err := r.office.NotifyTest(t.Context(), "webhook")
	if err != nil || len(tested) != 1 || tested[0].Failed != "answered 503 Service Unavailable" {
		t.Errorf("NotifyTest = %+v, %v", tested, err)
	}
	if _, err := r.office.NotifyTest(t.Context(), "fax"); mail.CodeOf(err) != mail.Invalid {
		t.Errorf("NotifyTest of a channel that is not there = %v", err)
	}
	r.stop(t)

	hook.set(http.StatusOK)
	r = start(t, Options{Config: cfg})
	const first = "ann asks: Which port?"
	eventually(t, "what was left is told", func() bool { _, told := hook.heard(); return told == first })
	if hook.url != cfg.TLS.URL+"/@lab/?m="+string(sent.ID) {
		t.Errorf("the link is %s", hook.url)
	}
	eventually(t, "the asker sees it", func() bool {
		it, err := r.room(t, "lab", "ann").Message(t.Context(), sent.ID)
		return err == nil && it.Deliveries[0].State == mail.Notified && it.Deliveries[0].Door == "webhook"
	})
	r.stop(t)

	r = start(t, Options{Config: cfg})
	if _, err := r.room(t, "lab", mail.User).Inbox(t.Context(), mail.InboxQuery{}); err != nil { // the room is open
		t.Fatal(err)
	}
	tested, err = r.office.NotifyTest(t.Context(), "")
	if err != nil || len(tested) != 1 || tested[0] != (wire.NotifyTested{Name: "webhook", Answer: "200 OK"}) {
		t.Errorf("NotifyTest = %+v, %v", tested, err)
	}
	if list, err := r.office.Notify(t.Context()); err != nil || list[0].Waiting != 0 || list[0].Answer != "200 OK" {
		t.Errorf("Notify = %+v, %v", list, err)
	}
	if _, told := hook.heard(); told != first+"; Pennypost can reach you here" {
		t.Errorf("told: %s", told)
	}
	r.stop(t)
}
