package daemon

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// Scheduled mail of a machine whose access is revoked is not sent. While such mail waits, the room stays open, and a
// start knows of it.
func TestP16_Revoked(t *testing.T) {
	if testing.Short() {
		t.Skip("takes ten seconds: ./test")
	}
	cfg := testConfig(t)
	cfg.TLS.Listen = "127.0.0.1:0"
	r := start(t, Options{Config: cfg})
	m := r.joined(t, "laptop-2", wire.Invite{Agent: "builder"})
	there, err := m.Room(t.Context(), "lab", "")
	if err != nil {
		t.Fatal(err)
	}
	sent, err := there.Send(t.Context(), mail.Draft{To: mail.Recipients{"user"}, Body: "too late",
		Later: mail.Later{In: 10}}) // longer than a busy machine takes to revoke the access
	if err != nil || sent.Due == 0 {
		t.Fatalf("%+v, %v", sent, err)
	}
	marker := filepath.Join(cfg.Home.Rooms(), "lab", "later")
	eventually(t, "a start would open the room", func() bool { _, err := os.Stat(marker); return err == nil })
	if err := r.office.Revoke(t.Context(), "laptop-2"); err != nil {
		t.Fatal(err)
	}
	lab, err := r.office.Room(t.Context(), "lab", mail.User)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	eventually(t, "the user is told", func() bool {
		page, err := lab.Inbox(t.Context(), mail.InboxQuery{})
		texts = nil
		for _, it := range page.Messages {
			texts = append(texts, it.Body)
		}
		return err == nil && strings.Contains(strings.Join(texts, "\n"), "was revoked")
	})
	if slices.Contains(texts, "too late") {
		t.Error("it was sent all the same")
	}
	eventually(t, "a start need not open the room", func() bool { _, err := os.Stat(marker); return err != nil })
}
