package outbox

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pennypost/internal/mail"
)

// TestDoubts: a failed send is known by its sender and content, for an hour and across restarts, until it is
// acknowledged; and the file does not contain its text.
func TestDoubts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "doubts.json")
		open := func() *Doubts { return OpenDoubts(path, slog.New(slog.DiscardHandler)) }
		d := open()
		draft := mail.Draft{To: mail.Recipients{"bob"}, Body: "the secret", Key: "auto-1"}
		send := SendOf("lab", "ann", "s1", draft)
		if d.Any() || d.Key(send) != "" {
			t.Error("something is in doubt at first")
		}
		d.Add(send, "auto-1")
		d = open()
		draft.Key = "auto-2"
		if got := d.Key(SendOf("lab", "ann", "s1", draft)); got != "auto-1" {
			t.Errorf("the same again has the key %q, want auto-1", got)
		}
		other := draft
		other.Body = "another"
		for what, s := range map[string]Send{"another text": SendOf("lab", "ann", "s1", other),
			"another session": SendOf("lab", "ann", "s2", draft), "another sender": SendOf("lab", "bob", "s1", draft),
			"another room": SendOf("yard", "ann", "s1", draft)} {
			if got := d.Key(s); got != "" {
				t.Errorf("%s has the key %q", what, got)
			}
		}
		if text, err := os.ReadFile(path); err != nil || strings.Contains(string(text), "secret") {
			t.Errorf("the file: %q, %v", text, err)
		}
		d.Settle(send)
		if d.Any() || open().Any() {
			t.Error("what was acknowledged is in doubt still")
		}
		d.Add(send, "auto-3")
		time.Sleep(doubtLife)
		if got := d.Key(send); got != "" {
			t.Errorf("after an hour it has the key %q", got)
		}
		for i := range 2 * maxDoubts {
			d.Add(SendOf("lab", "ann", fmt.Sprint(i), draft), "auto-x")
		}
		if n := len(open().all); n != maxDoubts {
			t.Errorf("%d are known, want at most %d", n, maxDoubts)
		}
		if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
		if open().Any() {
			t.Error("of a damaged file something is known")
		}
	})
}
