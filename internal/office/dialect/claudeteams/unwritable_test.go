package claudeteams

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pennypost/internal/mail"
)

// said returns the first line of each message in an inbox, or nothing if it cannot be read.
func (h *hq) said(name string) (out []string) {
	h.t.Helper()
	b := inboxAt(h.inbox(name), "alpha", name)
	if _, err := b.load(); err != nil {
		return nil
	}
	for _, l := range b.letters {
		line, _, _ := strings.Cut(l.Text, "\n")
		out = append(out, line)
	}
	return out
}

func (h *hq) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

// eventually waits for something that a bridge does by itself.
func (h *hq) eventually(what string, done func() bool) {
	h.t.Helper()
	for began := time.Now(); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Since(began) > 20*time.Second {
			h.t.Fatalf("not within 20 s: %s", what)
		}
	}
}

// TestUnwritableInbox: an inbox that cannot be written, for any reason, blocks no other. The bridge reports it by
// name until it is writable, and then writes the missing entries, in order and once, without anyone's help.
func TestUnwritableInbox(t *testing.T) {
	for name, test := range map[string]struct {
		spoil, mend func(h *hq, inbox string)
		why         string
	}{
		"Claude Code has the lock": {
			func(h *hq, inbox string) { h.must(os.Mkdir(inbox+".lock", 0o755)) },
			func(h *hq, inbox string) { h.must(os.Remove(inbox + ".lock")) },
			"another process holds the lock of",
		},
		"a file is where the lock belongs": {
			func(h *hq, inbox string) { h.write(inbox+".lock", "") },
			func(h *hq, inbox string) { h.must(os.Remove(inbox + ".lock")) },
			"another process holds the lock of",
		},
		"a directory is in its place": {
			func(h *hq, inbox string) { h.must(os.MkdirAll(filepath.Join(inbox, "x"), 0o700)) },
			func(h *hq, inbox string) { h.must(os.RemoveAll(inbox)) },
			"is a directory",
		},
		"a link is in its place": {
			func(h *hq, inbox string) {
				h.must(os.MkdirAll(filepath.Dir(inbox), 0o700))
				h.must(os.Symlink(h.t.TempDir(), inbox))
			},
			func(h *hq, inbox string) { h.must(os.Remove(inbox)) },
			"is a symbolic link",
		},
		"it may not be read": {
			func(h *hq, inbox string) {
				h.write(inbox, "[]")
				h.must(os.Chmod(inbox, 0))
				if os.Getuid() == 0 {
					h.t.Skip("root may read everything")
				}
			},
			func(h *hq, inbox string) { h.must(os.Chmod(inbox, 0o600)) },
			"permission denied",
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHQ(t, "alpha")
			h.Register("codex")
			h.must(os.MkdirAll(filepath.Dir(h.inbox("reviewer")), 0o700))
			h.Bridge("")
			test.spoil(h, h.inbox("reviewer"))
			var want []string
			for i := range 3 {
				want = append(want, fmt.Sprint(i))
				began := time.Now()
				_, err := h.Room.As("codex").Send(t.Context(), mail.Draft{To: mail.Recipients{"reviewer", "tester"},
					Body: fmt.Sprint(i)})
				h.must(err)
				h.eventually("the other inbox has it", func() bool { return slices.Equal(h.said("tester"), want) })
				if took := time.Since(began); took > time.Second {
					t.Errorf("the other inbox had it after %v", took)
				}
			}
			var st mail.BridgeStatus
			h.eventually("the bridge tells of it", func() bool {
				st = h.Sync()
				return st.Failing != "" && st.Behind == 0
			})
			if !strings.Contains(st.Failing, "3 changes wait for the inbox of reviewer: ") ||
				!strings.Contains(st.Failing, test.why) || strings.Contains(st.Failing, "inbox of tester") {
				t.Errorf("the bridge says %+v", st)
			}
			h.Stop()
			h.Start()
			h.Send("codex", mail.Draft{To: mail.Recipients{"reviewer"}, Body: "3"})
			test.mend(h, h.inbox("reviewer"))
			h.eventually("it is mended", func() bool {
				return slices.Equal(h.said("reviewer"), append(want, "3"))
			})
			h.recovered()
		})
	}
}

// TestVanishedTeam: a post office that starts after a team's directory is gone has nothing to do, and does not
// report a failure.
func TestVanishedTeam(t *testing.T) {
	h := newHQ(t, "alpha")
	h.put("tester", entry{From: "reviewer", Text: "hello", Timestamp: at(1)})
	h.Bridge("")
	h.Stop()
	h.must(os.RemoveAll(h.Dir))
	h.Start()
	if st := h.Sync(); st.Failing != "" || st.Behind != 0 {
		t.Errorf("the bridge says %+v", st)
	}
	for _, a := range h.agents() {
		if !strings.Contains(a, " gone") {
			t.Errorf("the roster says %s", a)
		}
	}
	if there(h.Dir) {
		t.Error("the directory is there again")
	}
}
