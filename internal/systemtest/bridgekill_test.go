package systemtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
)

// sharedBox is a foreign mailbox to which a foreign program also writes.
type sharedBox struct {
	foreignBox
	dir string
	// line is the line that the foreign program appends, as a format of printf that takes its number. Its ids begin
	// with prefix.
	line, prefix string
}

func sharedBoxes() []*sharedBox {
	all := foreignBoxes()
	return []*sharedBox{
		{
			foreignBox: all[0], prefix: "msg_agenties",
			line: `{"id":"msg_agenties%d","type":"status","from":"agent:theirs","to":"agent:sink","body":"msg_agenties%d","read":false,"createdAt":"` + now() + `"}`,
		},
		{
			foreignBox: all[1], prefix: "haak-",
			line: `{"id":"haak-%d","sender":"theirs","recipient":"sink","timestamp":"` + now() +
				`","content":"haak-%d","thread":null,"ttl_hours":168,"read_by":[]}`,
		},
	}
}

func now() string { return time.Now().UTC().Format("2006-01-02T15:04:05.000Z") }

// stranger starts a process that appends lines until the function that it returns is called.
func (b *sharedBox) stranger(t *testing.T) (stop func()) {
	t.Helper()
	const script = `i=0; while [ $i -lt 2000 ]; do i=$((i+1)); printf "$0\n" $i $i >>"$1"; sleep 0.04; done`
	cmd := exec.CommandContext(context.Background(), "sh", "-c", script, b.line, b.path())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	t.Cleanup(stop)
	return stop
}

func (b *sharedBox) path() string { return filepath.Join(b.dir, b.file) }

// theirs reports whether the foreign program wrote the message.
func (b *sharedBox) theirs(id mail.ID) bool { return strings.HasPrefix(string(id), b.prefix) }

// TestBridgeKill9 kills the post office again and again while senders keep sending, and foreign programs append to
// the files of its bridges. Afterwards acknowledged messages are in the room once; the room and each file have the
// same messages, each once; the room's messages are in a file in the room's order, and foreign messages are in the
// room in the file's order.
func TestBridgeKill9(t *testing.T) {
	t.Parallel()
	rounds := kills
	if testing.Short() {
		rounds = 8
	}
	o := newOffice(t)
	o.mustServe(t)
	o.must(t, "agents", "register", "sink")
	boxes := sharedBoxes()
	for _, b := range boxes {
		b.dir = filepath.Join(o.root, b.dialect)
		check(t, os.Mkdir(b.dir, 0o700))
		o.must(t, "bridge", "add", b.dialect, b.dir)
	}
	all := o.bridgeSenders(t)
	var silence []func()
	for _, b := range boxes {
		silence = append(silence, b.stranger(t))
	}
	o.killUnder(t, all, rounds)
	for _, f := range silence {
		f()
	}
	for _, b := range boxes {
		o.must(t, "bridge", "sync", b.dialect)
	}
	o.inStep(t) // messages from one file go into the other
	items := o.exported(t)
	checkSent(t, all, slices.DeleteFunc(slices.Clone(items), func(it mail.Item) bool { return it.Via != "" }))
	for _, b := range boxes {
		b.wantSame(t, items)
	}
}

// TestBridgeKill9Team is TestBridgeKill9 with a team of Claude Code, whose inboxes are rewritten under a lock for
// each message. The lock of a killed writer stays valid for ten seconds, as with Claude Code, so there are few
// kills.
func TestBridgeKill9Team(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it waits for locks that nobody holds any more")
	}
	o := newOffice(t)
	o.mustServe(t)
	o.must(t, "agents", "register", "sink")
	dir := filepath.Join(o.root, "session-0a1b2c3d")
	check(t, os.Mkdir(dir, 0o700))
	check(t, os.WriteFile(filepath.Join(dir, "config.json"),
		[]byte(`{"name":"session-0a1b2c3d","members":[{"name":"sink"}]}`), 0o600))
	o.must(t, "bridge", "add", "claudeteams", dir)
	all := o.bridgeSenders(t)
	o.killUnder(t, all, 4)
	o.inStep(t)
	items := o.exported(t)
	checkSent(t, all, items)
	wantInbox(t, filepath.Join(dir, "inboxes", "sink.json"), items)
}

// wantInbox compares an inbox, whose entries have other ids, with the messages of the room.
func wantInbox(t *testing.T, inbox string, items []mail.Item) {
	t.Helper()
	text, err := os.ReadFile(inbox)
	check(t, err)
	var want, got []string
	for _, it := range items {
		want = append(want, it.Body)
	}
	for _, e := range decode[[]entry](t, text) {
		body, _, _ := strings.Cut(e.Text, "\n\nThis is message msg_") // the rest says how to answer
		got = append(got, body)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what the room brought into %s (-room +file):\n%.3000s", inbox, diff)
	}
}

// killUnder kills and restarts the post office while senders send.
func (o *office) killUnder(t *testing.T, all []*sender, rounds int) {
	t.Helper()
	var acked atomic.Int64
	var running sync.WaitGroup
	stop := make(chan struct{})
	end := sync.OnceFunc(func() { close(stop); running.Wait() })
	defer end()
	for _, s := range all {
		running.Go(func() { s.run(stop, &acked) })
	}
	for round := range rounds {
		before := acked.Load()
		eventually(t, "somebody has sent something", func() bool { return acked.Load() >= before+4 })
		time.Sleep(rand.N(20 * time.Millisecond)) // the kill may hit any moment
		o.killDaemon(t)
		o.restart(t, round)
	}
	end()
}

// inStep waits until no bridge is behind.
func (o *office) inStep(t *testing.T) {
	t.Helper()
	eventually(t, "all bridges are in step", func() bool {
		list := ask[struct{ Bridges []mail.BridgeStatus }](t, o, "bridge", "list").Bridges
		return !slices.ContainsFunc(list, func(st mail.BridgeStatus) bool { return st.Behind > 0 || st.Failing != "" })
	})
}

// wantSame compares the file with the messages of the room.
func (b *sharedBox) wantSame(t *testing.T, items []mail.Item) {
	t.Helper()
	text, err := os.ReadFile(b.path())
	check(t, err)
	var there []mail.ID
	for line := range bytes.Lines(text) {
		var m struct{ ID mail.ID }
		if err := json.Unmarshal(line, &m); err != nil {
			// A kill in the middle of a write left half a line, to which the stranger has appended. No reader
			// of these files understands such a line.
			t.Logf("%s: %.200q", b.file, line)
			continue
		}
		there = append(there, m.ID)
	}
	var room []mail.ID
	for _, it := range items {
		room = append(room, it.ID)
	}
	ours := func(id mail.ID) bool { return !b.theirs(id) }
	if diff := cmp.Diff(slices.DeleteFunc(slices.Clone(room), b.theirs),
		slices.DeleteFunc(slices.Clone(there), b.theirs)); diff != "" {
		t.Errorf("what the room brought into %s (-room +file):\n%.3000s", b.file, diff)
	}
	theirs := slices.DeleteFunc(there, ours)
	if diff := cmp.Diff(theirs, slices.DeleteFunc(room, ours)); diff != "" {
		t.Errorf("what the stranger wrote into %s (-file +room):\n%.3000s", b.file, diff)
	}
	if len(theirs) < 10 {
		t.Errorf("the stranger wrote only %d messages into %s", len(theirs), b.file)
	}
	t.Logf("%s: %d messages, %d of the stranger's", b.file, len(room), len(theirs))
}

// bridgeSenders returns senders of every kind. They send slowly: each start reads all their messages again.
func (o *office) bridgeSenders(t *testing.T) (all []*sender) {
	t.Helper()
	for i := range 8 {
		all = append(all, o.newSender(t, i))
	}
	byCommand := &sender{id: "sender-08", acked: make(map[int]mail.ID)}
	quiet := *o
	quiet.env = []string{"PENNYPOST_AUTOSTART=0"} // only the test starts post offices
	byCommand.send = func(body, _ string) (mail.ID, error) {
		r := quiet.run("send", "--as", byCommand.id, "--to", "sink", "--body", body, "--json")
		if r.code != 0 {
			return "", fmt.Errorf("exit %d: %s", r.code, r.stderr)
		}
		var sent mail.Sent
		err := json.Unmarshal([]byte(r.stdout), &sent)
		return sent.ID, err
	}
	all = append(all, byCommand)
	for _, s := range all {
		send := s.send
		s.send = func(body, key string) (mail.ID, error) {
			time.Sleep(20 * time.Millisecond)
			return send(body, key)
		}
	}
	return all
}
