package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pennypost/internal/config"
)

// TestProgress: nothing within a second, then one line that is overwritten and finally removed.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var quick, long, blind bytes.Buffer
		p := startProgress(&quick, "importing", CountMessages)
		time.Sleep(900 * time.Millisecond)
		p.End()
		if quick.Len() > 0 {
			t.Errorf("within a second: %q", quick.String())
		}
		p = startProgress(&long, "importing", CountMessages)
		p.Add(5000)
		time.Sleep(2500 * time.Millisecond)
		p.End()
		text := long.String()
		if strings.Contains(text, "\n") ||
			!strings.Contains(text, "\r\x1b[Kimporting: 5000 messages in 2 s, 2500 messages per second") ||
			!strings.HasSuffix(text, "\r\x1b[K") {
			t.Errorf("after 2.5 s: %q", text)
		}
		p = startProgress(&blind, "verifying", nil)
		time.Sleep(1500 * time.Millisecond)
		p.End()
		if !strings.Contains(blind.String(), "verifying, for 1 s") {
			t.Errorf("without a count: %q", blind.String())
		}
	})
	piped := (&App{Env: Env{Stderr: new(bytes.Buffer)}}).Progress("importing", CountMessages)
	piped.Add(1)
	piped.End()
	if piped.to != nil {
		t.Error("a pipe is told of progress")
	}
}

// TestLastWords: only the part of the log written since is quoted.
func TestLastWords(t *testing.T) {
	home := config.Home(t.TempDir())
	if got := lastWords(home, 0); got != "" {
		t.Errorf("without a log: %q", got)
	}
	old := strings.Repeat("of yesterday\n", 1000)
	if err := os.WriteFile(filepath.Join(string(home), filepath.Base(home.Log())),
		[]byte(old+"one\ntwo\n\nthree\nfour\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	if got := lastWords(home, int64(len(old))); got != "two\nthree\nfour" {
		t.Errorf("lastWords = %q", got)
	}
	if got := lastWords(home, int64(len(old))+9); got != "three\nfour" {
		t.Errorf("lastWords = %q", got)
	}
}
