package daemon

import (
	"bytes"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/office/backup"
)

// While eight senders send and retention runs, a backup has every message that was acknowledged before it began, none
// twice and each sender's in order; and in the restored home the tokens are valid.
func TestBackupWhileSending(t *testing.T) {
	cfg := testConfig(t)
	cfg.Room.Retention.Count = 1
	r := start(t, Options{Config: cfg, Version: "v1"})
	r.register(t, "lab", "bob")
	user := r.room(t, "lab", mail.User)
	token, err := user.Token(t.Context(), "bob")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var acknowledged []mail.ID
	done := make(chan struct{})
	var wg sync.WaitGroup
	for s := range 8 {
		wg.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				default:
				}
				draft := mail.Draft{To: []string{"user"}, Body: fmt.Sprintf("%d %06d", s, n)}
				sent, err := user.Send(t.Context(), draft)
				if mail.CodeOf(err) == mail.Limited {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				acknowledged = append(acknowledged, sent.ID)
				mu.Unlock()
			}
		})
	}
	var file bytes.Buffer
	var before []mail.ID
	for range 5 {
		if _, err := user.Archive(t.Context()); err != nil {
			t.Error(err)
		}
		mu.Lock()
		before = slices.Clone(acknowledged)
		mu.Unlock()
		file.Reset()
		if err := r.office.Backup(t.Context(), &file); err != nil {
			t.Fatal(err)
		}
	}
	close(done)
	wg.Wait()

	other := testConfig(t)
	other.Home = config.Home(filepath.Join(string(other.Home), "h"))
	restored, err := backup.Restore(t.Context(), other.Home, &file)
	if err != nil || len(restored.Rooms) != 1 || len(restored.Rooms[0].Verification.Problems) > 0 {
		t.Fatalf("Restore = %+v, %v", restored, err)
	}
	r2 := start(t, Options{Config: other, Version: "v1"})
	there, last := make(map[mail.ID]bool), make(map[string]string)
	for it, err := range r2.room(t, "lab", mail.User).Export(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		sender, n, _ := strings.Cut(it.Body, " ")
		if there[it.ID] || n <= last[sender] && last[sender] != "" {
			t.Errorf("%s stands twice, or behind a later one: %s after %s", it.ID, n, last[sender])
		}
		there[it.ID], last[sender] = true, n
	}
	for _, id := range before {
		if !there[id] {
			t.Errorf("%s was acknowledged before the backup, and is not in it", id)
		}
	}
	for _, credential := range []string{token, r.token} {
		if code, body := r2.get(t, "/api/v1/rooms/lab/inbox", credential); code != http.StatusOK {
			t.Errorf("a token of before: %d %s", code, body)
		}
	}
}
