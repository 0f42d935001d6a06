package daemon

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pennypost/internal/base/kept"
	"pennypost/internal/mail"
	"pennypost/internal/office/hook"
)

// TestP5_OnlyAnActAnswersDialogs: neither an agent nor a holder of a credential of the user's can answer a client's
// question, or end it; and a removed room takes its questions with it.
func TestP5_OnlyAnActAnswersDialogs(t *testing.T) {
	cfg := testConfig(t)
	sum := strings.Repeat("0f", 32)
	h := hook.Held{Room: "lab", Agent: "ann", Client: "claude", Session: "s1"}
	h.Dialog = mail.Dialog{ID: "d-7", Kind: mail.AsksPermission, Tool: "Bash", Sum: sum}
	h.Form, h.Text, h.Offers = mail.FormCommand, "make release", []mail.Offer{{Verdict: mail.SayAllow}}
	file := filepath.Join(cfg.Home.Dialogs(), "d-7.json")
	if err := os.MkdirAll(cfg.Home.Dialogs(), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := kept.Save(file, &h); err != nil {
		t.Fatal(err)
	}
	r := start(t, Options{Config: cfg})
	r.register(t, "lab", "ann")
	token, err := r.room(t, "lab", mail.User).Token(t.Context(), "ann")
	if err != nil {
		t.Fatal(err)
	}
	answer := `{"dialog":"d-7","sum":"` + sum + `","verdict":"allow"}`
	ended := `{"id":"d-7","kind":"permission","session":"s1","sum":"` + sum + `","outcome":"ended"}`
	for _, credential := range []string{token, r.token} {
		for path, body := range map[string]string{"/api/v1/dialogs": answer, "/api/v1/rooms/lab/dialogs": ended} {
			if got := r.post(t, "POST", path, credential, body); got != http.StatusForbidden {
				t.Errorf("POST %s with %.8s… = %d", path, credential, got)
			}
		}
		if got := r.post(t, "PUT", "/api/v1/away", credential, `{"until":"2099-01-01T00:00:00Z"}`); got !=
			http.StatusForbidden {
			t.Errorf("PUT away with %.8s… = %d", credential, got)
		}
	}
	if code, _ := r.get(t, "/api/v1/dialogs", token); code != http.StatusForbidden {
		t.Errorf("an agent is shown the dialogs: %d", code)
	}
	if code, body := r.get(t, "/api/v1/dialogs", r.token); code != http.StatusOK || !strings.Contains(body,
		`"text":"make release"`) {
		t.Errorf("the user is shown %d %s", code, body)
	}
	if _, err := r.office.RemoveRoom(t.Context(), "lab"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("after the room was removed: %v", err)
	}
	if _, body := r.get(t, "/api/v1/dialogs", r.token); strings.Contains(body, "d-7") {
		t.Errorf("after the room was removed: %s", body)
	}
}
