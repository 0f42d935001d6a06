package systemtest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBridgeKeepsMail: mail that a bridge cannot write is not archived, whatever retention says, even if the post
// office was killed in between. Once written it is archived, and the files have all of it. A bridge that is removed
// keeps no mail.
func TestBridgeKeepsMail(t *testing.T) {
	t.Parallel()
	for _, f := range foreignBoxes() {
		t.Run(f.dialect, func(t *testing.T) {
			t.Parallel()
			s := newSpan(t, f, "")
			keepsOne(t, s.office)
			s.send(t)
			s.inStep(t)
			mend := outages()[0].begin(t, s)
			s.sendsAnyway(t)
			s.keeps(t, "number 1", "number 2", "number 3", "number 4")
			s.killDaemon(t)
			s.mustServe(t, loopback)
			s.sendsAnyway(t)
			s.keeps(t, "number 1", "number 4", "number 5", "number 8")
			check(t, mend())
			eventually(t, "the bridge works again", func() bool {
				st := s.status(t)
				return st.Failing == "" && st.Behind == 0
			})
			s.wantSent(t)
			s.archives(t, "number 1", "number 7")
			outages()[0].begin(t, s)
			s.sendsAnyway(t)
			s.keeps(t, "number 9", "number 12")
			s.must(t, "bridge", "remove", f.dialect)
			s.archives(t, "number 9", "number 11")
		})
	}
	t.Run("claudeteams", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		keepsOne(t, o)
		dir := filepath.Join(o.root, "teams", "session-0a1b2c3d")
		check(t, os.MkdirAll(filepath.Join(dir, "inboxes"), 0o700))
		check(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(`{"name":"session-0a1b2c3d",`+
			`"leadAgentId":"team-lead@session-0a1b2c3d","leadSessionId":"x","members":[{"name":"team-lead",`+
			`"agentId":"team-lead@session-0a1b2c3d"},{"name":"reader"},{"name":"writer"}]}`), 0o600))
		s := &span{office: o, dir: dir}
		o.must(t, "bridge", "add", "claudeteams", dir)
		lock := filepath.Join(dir, "inboxes", "reader.json.lock")
		check(t, os.Mkdir(lock, 0o700))
		send := func(to, body string) { o.must(t, "send", "--to", to, "--type", "status", "--body", body) }
		send("reader", "for reader")
		send("writer", "for writer")
		read := func(name string) string {
			text, _ := os.ReadFile(filepath.Join(dir, "inboxes", name+".json"))
			return string(text)
		}
		eventually(t, "the other inbox has its mail", func() bool {
			return strings.Contains(read("writer"), "for writer")
		})
		s.keeps(t, "for reader")
		if st := s.status(t); !strings.Contains(st.Failing, "1 change waits for the inbox of reader") ||
			st.Behind != 0 {
			t.Errorf("bridge list: %+v", st)
		}
		o.killDaemon(t)
		o.mustServe(t)
		if st := s.status(t); st.Behind == 0 && st.Failing == "" {
			t.Errorf("bridge list, of a post office that was started again: %+v", st)
		}
		s.keeps(t, "for reader")
		check(t, os.Remove(lock))
		eventually(t, "the inbox has its mail", func() bool { return strings.Contains(read("reader"), "for reader") })
		eventually(t, "the bridge is well", func() bool { return s.status(t).Failing == "" })
		send("writer", "another")
		s.archives(t, "for reader")
	})
}

// keepsOne restarts a post office so that it keeps one hot message in each room.
func keepsOne(t *testing.T, o *office) {
	t.Helper()
	o.run("stop")
	writeConfig(t, o, "[room.retention]\ncount = 1\n")
	o.mustServe(t, loopback)
}

// hot runs retention and returns the room's journal.
func (s *span) hot(t *testing.T) string {
	t.Helper()
	s.must(t, "archive")
	text, err := os.ReadFile(filepath.Join(s.home, "rooms", "default", "mailbox.jsonl"))
	check(t, err)
	var bodies []string
	for line := range strings.Lines(string(text)) {
		var e struct{ Message struct{ Body string } }
		check(t, json.Unmarshal([]byte(line), &e))
		bodies = append(bodies, e.Message.Body)
	}
	return strings.Join(bodies, "\n")
}

func (s *span) keeps(t *testing.T, bodies ...string) {
	t.Helper()
	hot := s.hot(t)
	for _, body := range bodies {
		if !strings.Contains(hot, body) {
			t.Errorf("%q was archived before it was written", body)
		}
	}
}

// archives checks that retention archives messages, and that they can still be found.
func (s *span) archives(t *testing.T, bodies ...string) {
	t.Helper()
	hot, all := s.hot(t), s.must(t, "export")
	for _, body := range bodies {
		if strings.Contains(hot, body) || !strings.Contains(all, body) {
			t.Errorf("%q is at hand: %v; it is in the room: %v", body, strings.Contains(hot, body),
				strings.Contains(all, body))
		}
	}
}
