package natsd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pennypost/internal/mail"
)

// TestCodes checks that a code lets in one machine, once, while it is valid, and that a late machine is told so for a
// day.
func TestCodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "codes.json")
		c, err := openCodes(path)
		if err != nil || c.any() {
			t.Fatalf("openCodes = %v, and there are codes: %v", err, c.any())
		}
		made := func(good time.Duration) string {
			t.Helper()
			secret, _, err := c.make(good)
			if err != nil {
				t.Fatal(err)
			}
			return secret.String()
		}
		first, late, free := made(0), made(time.Minute), made(24*time.Hour)
		use := func(secret string, by mail.Machine, pin, says string) func() {
			t.Helper()
			undo, err := c.use(secret, by, pin)
			if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
				t.Errorf("use by %s = %v, want %q", by, err, says)
			}
			return undo
		}
		use(first, "laptop", "aa", "")
		use(first, "laptop", "aa", "") // it has not received the answer
		use(first, "tower", "bb", "was used by the machine laptop")
		c.rename(first, "laptop-2")
		use(free, "tower", "bb", "")() // undone
		use("x", "tower", "bb", "no such code")
		time.Sleep(time.Minute)
		use(late, "tower", "bb", "was valid until")
		if c, err = openCodes(path); err != nil { // the same after a restart
			t.Fatal(err)
		}
		use(first, "tower", "bb", "by the machine laptop-2")
		use(free, "tower", "bb", "")
		if text, err := os.ReadFile(path); err != nil || strings.Contains(string(text), first) {
			t.Errorf("the file has a secret in it: %s, %v", text, err)
		}
		time.Sleep(25 * time.Hour)
		if c.has(first) || !c.has(free) {
			t.Error("a code is remembered for too long, or for too short a time")
		}
		time.Sleep(25 * time.Hour)
		if c.any() {
			t.Error("codes are remembered for ever")
		}
		for range maxCodes {
			made(0)
		}
		if _, _, err := c.make(0); mail.CodeOf(err) != mail.Limited {
			t.Errorf("one more than may be open: %v", err)
		}
		for _, good := range []time.Duration{-1, 25 * time.Hour} {
			if _, _, err := c.make(good); mail.CodeOf(err) != mail.Invalid {
				t.Errorf("a code that is good for %v: %v", good, err)
			}
		}
	})
}
