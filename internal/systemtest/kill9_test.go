package systemtest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pennypost/internal/mail"
)

// Figures of TestKill9.
const (
	kills   = 50
	senders = 16
	// hotMessages makes every start move messages to the archive, so that kills hit compactions too.
	hotMessages = 2000
)

// TestKill9 kills the post office again and again while senders keep sending. Afterwards every acknowledged message
// is there once, with the id in the answer; no other is there twice; and each sender's messages are in the order in
// which they were sent.
func TestKill9(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	writeConfig(t, o, fmt.Sprintf("[room.retention]\ncount = %d\n", hotMessages))
	o.mustServe(t).kill() // this makes the directories
	all := make([]*sender, senders)
	o.restart(t, 0)
	o.must(t, "agents", "register", "sink")
	for i := range all {
		all[i] = o.newSender(t, i)
	}
	var acked atomic.Int64
	var running sync.WaitGroup
	stop := make(chan struct{})
	end := sync.OnceFunc(func() { close(stop); running.Wait() })
	defer end()
	for _, s := range all {
		running.Go(func() { s.run(stop, &acked) })
	}
	for round := range kills {
		before := acked.Load()
		eventually(t, "every sender has sent something", func() bool { return acked.Load() >= before+senders })
		time.Sleep(rand.N(40 * time.Millisecond)) // the kill may hit any moment
		o.killDaemon(t)
		o.restart(t, round+1)
	}
	end()
	checkSent(t, all, o.exported(t))
	for _, s := range all {
		if len(s.acked) < kills/2 {
			t.Errorf("%s got only %d messages through", s.id, len(s.acked))
		}
	}
	if r := o.run("verify"); r.code != 0 {
		t.Errorf("after kills only, verify finds fault:\n%s%s", r.stdout, r.stderr)
	}
}

func writeConfig(t *testing.T, o *office, text string) {
	t.Helper()
	err := os.MkdirAll(o.home, 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(o.home, "config.toml"), []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// restart starts the killed post office: by hand in one round, through a command that needs it in the next.
func (o *office) restart(t *testing.T, round int) {
	t.Helper()
	if round%2 == 0 {
		o.mustServe(t)
	} else {
		o.must(t, "rooms")
	}
}

// killDaemon kills the post office, whoever started it, and waits until it is gone: a dying process accepts
// connections for a moment.
func (o *office) killDaemon(t *testing.T) {
	t.Helper()
	pid := ask[struct{ PID int }](t, o, "status").PID
	if err := killProcess(pid); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the killed post office is gone", func() bool { return !o.locked() })
}

// sender sends numbered messages, one after the other, and keeps a record.
type sender struct {
	id   string
	send func(body, key string) (mail.ID, error)
	// keyed senders repeat a message, with the same key, until it is acknowledged. The others continue with the next
	// one.
	keyed bool

	// Owned by the goroutine that runs it, until it has ended.
	acked map[int]mail.ID
	tried int
}

// newSender returns a sender of one of four kinds: HTTP, HTTP with keys, and MCP in both eras.
func (o *office) newSender(t *testing.T, i int) *sender {
	t.Helper()
	s := &sender{id: fmt.Sprintf("sender-%02d", i), acked: make(map[int]mail.ID)}
	if kind := i % 8; kind < 6 {
		d := o.socket(s.id)
		s.keyed = kind%2 == 1
		s.send = func(body, key string) (mail.ID, error) {
			sent, err := d.post(mail.Draft{To: mail.Recipients{"sink"}, Body: body}, key)
			return sent.ID, err
		}
		return s
	}
	o.env = []string{"PENNYPOST_AUTOSTART=0"} // only the test starts post offices
	a := o.mustAgent(t, eras()[i%2], "--as", s.id)
	o.env = nil
	s.send = func(body, _ string) (mail.ID, error) {
		var sent mail.Sent
		text, err := a.call(context.Background(), "send_message", map[string]string{"to": "sink", "body": body})
		if err == nil {
			err = json.Unmarshal([]byte(text), &sent)
		}
		return sent.ID, err
	}
	return s
}

func (s *sender) run(stop chan struct{}, acked *atomic.Int64) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		n := s.tried
		id, err := s.send(s.body(n), fmt.Sprintf("%s/%d", s.id, n))
		if err == nil {
			s.acked[n] = id
			acked.Add(1)
		} else {
			time.Sleep(time.Millisecond) // no one listens just now
		}
		if err == nil || !s.keyed {
			s.tried++
		}
	}
}

func (s *sender) body(n int) string { return fmt.Sprintf("%s %d", s.id, n) }

// exported returns all messages of the default room, including archived ones.
func (o *office) exported(t *testing.T) (items []mail.Item) {
	t.Helper()
	lines := bufio.NewScanner(strings.NewReader(o.must(t, "export")))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		items = append(items, decode[mail.Item](t, lines.Bytes()))
	}
	return items
}

// checkSent compares the messages with the senders' records.
func checkSent(t *testing.T, all []*sender, items []mail.Item) {
	t.Helper()
	byID := make(map[string]*sender)
	for _, s := range all {
		byID["agent:"+s.id] = s
	}
	last, there := make(map[string]int), make(map[mail.ID]bool)
	seq, unacked := mail.Seq(0), 0
	for _, it := range items {
		s := byID[string(it.From)]
		if s == nil {
			t.Fatalf("a message from %q, who has sent none", it.From)
		}
		var n int
		if _, err := fmt.Sscanf(it.Body, s.id+" %d", &n); err != nil || it.Body != s.body(n) || n > s.tried {
			t.Fatalf("%s never sent %q", s.id, it.Body)
		}
		if it.Seq <= seq {
			t.Errorf("seq %d behind seq %d", it.Seq, seq)
		}
		if before, ok := last[s.id]; ok && n <= before {
			t.Errorf("%q stands behind number %d: it is there twice or out of order", it.Body, before)
		}
		switch id, ok := s.acked[n]; {
		case !ok:
			unacked++
		case id == "": // it was kept, and had no id yet
			s.acked[n] = it.ID
		case id != it.ID:
			t.Errorf("%q was acknowledged as %s and is there as %s", it.Body, id, it.ID)
		}
		seq, last[s.id], there[it.ID] = it.Seq, n, true
	}
	total, lost := 0, 0
	for _, s := range all {
		for n, id := range s.acked {
			if total++; !there[id] {
				lost++
				t.Errorf("%q was acknowledged as %s and is not there", s.body(n), id)
			}
		}
	}
	t.Logf("%d acknowledged, of which %d are lost; %d there that were not acknowledged", total, lost, unacked)
}
