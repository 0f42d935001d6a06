package systemtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
)

// foreignBox is a foreign mailbox with one line for each message, whose member id is the message's id.
type foreignBox struct {
	dialect string
	file    string // below the bridge's directory
	// reads is the file in which a mark appears: a line that has the id and the text read.
	reads, read string
}

func foreignBoxes() []foreignBox {
	return []foreignBox{
		{"agenties", ".agenties/mailbox.jsonl", ".agenties/mailbox-reads.jsonl", `"read":true`},
		{"haak", "data/agent-mailbox.jsonl", "data/agent-mailbox-reads.jsonl", `"user"`},
		{"openalice", "data/inbox/entries.jsonl", "data/inbox/read-state.json", ""},
	}
}

// span is an office with a bridge. Mail from its agent, which is a workspace, to the user is mail in every dialect.
type span struct {
	*office
	foreignBox
	dir  string
	door *door
	pad  string // appended to each body
	sent []mail.ID
}

func newSpan(t *testing.T, f foreignBox, dir string) *span {
	t.Helper()
	o := newOffice(t)
	o.mustServe(t, loopback)
	o.must(t, "workspace", "add", "desk", o.dir)
	if dir == "" {
		dir = filepath.Join(o.root, "project")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	o.must(t, "bridge", "add", f.dialect, dir)
	return &span{office: o, foreignBox: f, dir: dir, door: o.socket("desk")}
}

func (s *span) body() string { return fmt.Sprintf("number %d %s", len(s.sent), s.pad) }

// send sends a message, which must be accepted.
func (s *span) send(t *testing.T) mail.ID {
	t.Helper()
	sent, err := s.door.post(mail.Draft{To: mail.Recipients{"user"}, Body: s.body()}, "")
	if err != nil {
		t.Fatal(err)
	}
	s.sent = append(s.sent, sent.ID)
	return sent.ID
}

// sendByCommand is send by the command line.
func (s *span) sendByCommand(t *testing.T) mail.ID {
	t.Helper()
	sent := ask[mail.Sent](t, s.office, "send", "--as", "desk", "--to", "user", "--body", s.body())
	s.sent = append(s.sent, sent.ID)
	return sent.ID
}

// ids returns the ids of the messages in the file, in their order.
func (s *span) ids(t *testing.T) []mail.ID {
	t.Helper()
	ids, err := idsOf(filepath.Join(s.dir, s.file))
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func idsOf(file string) (ids []mail.ID, err error) {
	text, err := os.ReadFile(file)
	for line := range bytes.Lines(text) {
		var m struct{ ID mail.ID }
		if err := json.Unmarshal(line, &m); err != nil {
			return ids, fmt.Errorf("%w in the line %q", err, line)
		}
		ids = append(ids, m.ID)
	}
	return ids, err
}

// wantSent checks that the file has the sent messages, in that order and once.
func (s *span) wantSent(t *testing.T) {
	t.Helper()
	// Notices of the post office to the person, as about a replaced directory, are in the files too.
	var notices []mail.ID
	for line := range strings.Lines(s.must(t, "export")) {
		if it := decode[mail.Item](t, line); it.From == mail.FromSystem {
			notices = append(notices, it.ID)
		}
	}
	there := slices.DeleteFunc(s.ids(t), func(id mail.ID) bool { return slices.Contains(notices, id) })
	if diff := cmp.Diff(s.sent, there); diff != "" {
		t.Errorf("%s (-sent +there):\n%s", s.file, diff)
	}
}

func (s *span) status(t *testing.T) mail.BridgeStatus {
	t.Helper()
	list := ask[struct{ Bridges []mail.BridgeStatus }](t, s.office, "bridge", "list").Bridges
	if len(list) != 1 {
		t.Fatalf("bridges: %+v", list)
	}
	return list[0]
}

// TestBridgeBeforeAnswer holds that a message or a mark is in the file when its author gets the answer, or a moment
// later: the answer waits at most a tenth of a second for slow files, which a busy machine has.
func TestBridgeBeforeAnswer(t *testing.T) {
	t.Parallel()
	for _, f := range foreignBoxes() {
		t.Run(f.dialect, func(t *testing.T) {
			t.Parallel()
			s := newSpan(t, f, "")
			for i := range 20 {
				send := s.send
				if i%7 == 6 {
					send = s.sendByCommand
				}
				id := send(t)
				s.inStep(t)
				if there := s.ids(t); len(there) == 0 || there[len(there)-1] != id {
					t.Fatalf("%s was sent and is not the last in %s: %q", id, s.file, there)
				}
			}
			s.wantSent(t)
			for _, id := range []mail.ID{s.sent[0], s.sent[19], s.sent[7]} {
				s.must(t, "mark", string(id), "--read")
				s.inStep(t)
				if !s.isRead(t, id) {
					t.Errorf("%s was marked read and %s does not say so", id, s.reads)
				}
			}
			s.wantSent(t)
		})
	}
}

func (s *span) isRead(t *testing.T, id mail.ID) bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, s.reads))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, string(id)) && strings.Contains(line, s.read) {
			return true
		}
	}
	return false
}

// outage is a way in which files cannot be written. break returns a function that mends it.
type outage struct {
	name  string
	begin func(t *testing.T, s *span) (mend func() error)
}

func outages() []outage {
	return []outage{
		{"the directory is gone", func(t *testing.T, s *span) func() error {
			away := s.dir + ".away"
			check(t, os.Rename(s.dir, away))
			return func() error { return os.Rename(away, s.dir) }
		}},
		{"a file stands in its place", func(t *testing.T, s *span) func() error {
			away := s.dir + ".away"
			check(t, os.Rename(s.dir, away))
			check(t, os.WriteFile(s.dir, []byte("mine"), 0o600))
			return func() error { return errors.Join(os.Remove(s.dir), os.Rename(away, s.dir)) }
		}},
		{"a file stands in the place of the files' directory", func(t *testing.T, s *span) func() error {
			inner := filepath.Dir(filepath.Join(s.dir, s.file))
			check(t, os.Rename(inner, inner+".away"))
			check(t, os.WriteFile(inner, []byte("mine"), 0o600))
			return func() error { // away from the bridge, which makes a missing directory again
				away := s.dir + ".away"
				there := func(path string) string { return away + strings.TrimPrefix(path, s.dir) }
				return errors.Join(os.Rename(s.dir, away), os.Remove(there(inner)),
					os.Rename(there(inner+".away"), there(inner)), os.Rename(away, s.dir))
			}
		}},
		{"the disk is full", func(t *testing.T, s *span) func() error {
			filler := filepath.Join(s.dir, "filler")
			f, err := os.Create(filler)
			check(t, err)
			for err == nil {
				_, err = f.Write(make([]byte, 512))
			}
			check(t, f.Close())
			return func() error { return os.Remove(filler) }
		}},
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// smallDisk mounts a disk of 256 kB, or skips the test where that is not allowed.
func smallDisk(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := mountSmall(dir, "size=256k"); err != nil {
		t.Skip("no small disk here: ", err)
	}
	t.Cleanup(func() { check(t, unmount(dir)) })
	return dir
}

// TestBridgeOutage makes the files of a bridge unavailable. Mail still works; the bridge is shown as failing; and
// when the files are back, they have the mail sent meanwhile, in order and once, even if the post office was killed
// in between.
func TestBridgeOutage(t *testing.T) {
	t.Parallel()
	for _, f := range foreignBoxes() {
		for i, out := range outages() {
			t.Run(f.dialect+" "+out.name, func(t *testing.T) {
				t.Parallel()
				dir := ""
				if i == len(outages())-1 {
					dir = smallDisk(t)
				}
				s := newSpan(t, f, dir)
				s.pad = strings.Repeat("x", 5000) // more than is left in the last block of a full disk
				s.send(t)
				s.inStep(t)
				mend := out.begin(t, s)
				s.sendsAnyway(t)
				s.looksFailing(t)
				if i%2 == 0 {
					s.killDaemon(t)
					s.mustServe(t, loopback)
					s.sendsAnyway(t)
					s.looksFailing(t)
				}
				check(t, mend())
				eventually(t, "the bridge works again", func() bool {
					st := s.status(t)
					return st.Failing == "" && st.Behind == 0
				})
				s.wantSent(t)
				s.send(t)
				s.inStep(t)
				s.wantSent(t)
				if figure := s.figure(t, "pennypost_bridges_failing"); figure != "0" {
					t.Errorf("pennypost_bridges_failing = %s", figure)
				}
			})
		}
	}
}

// sendsAnyway sends while the files cannot be written. No send may wait for them.
func (s *span) sendsAnyway(t *testing.T) {
	t.Helper()
	began := time.Now()
	for range 3 {
		s.send(t)
	}
	s.sendByCommand(t)
	if took := time.Since(began); took > patience/2 {
		t.Errorf("four messages took %s", took)
	}
}

func (s *span) looksFailing(t *testing.T) {
	t.Helper()
	eventually(t, "the bridge is said to fail", func() bool { return s.status(t).Failing != "" })
	if st := s.status(t); st.Failing == "" || st.Since == 0 || st.Behind == 0 || !st.Running {
		t.Errorf("bridge list --json: %+v, want it failing, since when and how far behind", st)
	}
	if text := s.must(t, "bridge", "list"); !strings.Contains(text, "failing since") {
		t.Errorf("bridge list: %s", text)
	}
	if text := s.must(t, "status"); !strings.Contains(text, "failing") || !strings.Contains(text, s.dialect) {
		t.Errorf("status: %s", text)
	}
	if r := s.run("bridge", "sync", s.dialect); r.code != 5 || !strings.Contains(r.stderr, "no mail is lost") {
		t.Errorf("bridge sync: %+v, want exit 5", r)
	}
	if figure := s.figure(t, "pennypost_bridges_failing"); figure != "1" {
		t.Errorf("pennypost_bridges_failing = %s", figure)
	}
	if figure := s.figure(t, "pennypost_bridges_behind"); figure == "0" {
		t.Errorf("pennypost_bridges_behind = %s", figure)
	}
}

// figure returns one of the metrics.
func (s *span) figure(t *testing.T, name string) string {
	t.Helper()
	a, err := s.socket("").do("GET", "/metrics", "")
	if err != nil || a.status != 200 {
		t.Fatalf("/metrics: %d %s, %v", a.status, a.body, err)
	}
	for line := range strings.Lines(a.body) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+" "); ok {
			return value
		}
	}
	return ""
}
