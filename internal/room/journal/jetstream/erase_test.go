package jetstream_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"pennypost/internal/base/natsfiles"
	"pennypost/internal/mail"
	"pennypost/internal/room/journal"
	"pennypost/internal/room/journal/jetstream"
	"pennypost/internal/room/journal/jetstream/natstest"
)

// holding returns the files below dir that contain text.
func holding(t *testing.T, dir, text string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil // it disappeared meanwhile
		}
		if b, err := os.ReadFile(path); err == nil && bytes.Contains(b, []byte(text)) {
			names = append(names, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func aboutNote(id mail.ID) func(mail.Event) bool {
	return func(e mail.Event) bool { return e.Message != nil && e.Message.ID == id }
}

// An erased text is in no file of any server or copy, and neither is a repetition that was dropped here. While a
// server is away, the erasure is pending there.
func TestEraseEverywhere(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 3, natstest.Options{})
	c := connect(t, servers.URLs())
	if _, err := c.Machines(t.Context(), jetstream.MachineOptions{Name: "desk", ID: "1"}); err != nil {
		t.Fatal(err) // which makes the cluster hear of the servers
	}
	dir := t.TempDir()
	j := open(t, c, "erase", dir)
	add(t, j, "before", 50)
	const secret = "Rumpelstilzchen"
	e := note(secret)
	e.Message.ID = "msg_first" // which is not the erased one
	e.Message.Key = "key"
	again := e
	m := *e.Message
	m.ID, m.Body = "msg_again", "again "+secret
	again.Message = &m
	if _, err := j.Append(t.Context(), e, again); err != nil {
		t.Fatal(err)
	}
	add(t, j, "behind", 50)
	err := j.Compact(t.Context(), func(e mail.Event) journal.Fate {
		if e.Message.ID == "msg_again" {
			return journal.Drop
		}
		return journal.Keep
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(holding(t, servers.Servers[2].Dir, secret)) == 0 {
		t.Fatal("the test does not find the text before it is erased")
	}

	servers.Servers[2].Kill()
	eventually(t, func() error { // the others may have to elect a leader first
		switch _, err := j.Erase(t.Context(), e.Message.ID, aboutNote(e.Message.ID)); {
		case err == nil:
			t.Fatal("it is erased, though a server is away")
		case mail.CodeOf(err) != mail.Unavailable || !bytes.Contains([]byte(err.Error()), []byte("n3")):
			return fmt.Errorf("erased with a server away: %w", err)
		}
		return nil
	})
	if err := servers.Servers[2].Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		_, err := j.Erase(t.Context(), e.Message.ID, aboutNote(e.Message.ID))
		return err
	})
	if l := c.Lingering(); l == nil || l.Messages != 1 || l.Until <= l.Since {
		t.Errorf("what the servers' own logs may have is not told: %+v", l)
	}
	for _, s := range servers.Servers {
		for _, name := range holding(t, s.Dir, secret) {
			if !strings.Contains(name, "_js_") { // the servers' logs, which docs/journal.md describes
				t.Errorf("it stands in %s", name)
			}
		}
	}
	if names := holding(t, dir, secret); len(names) > 0 {
		t.Errorf("it stands in %q", names)
	}

	for _, s := range servers.Servers {
		answerLogs(t, s)
	}
	later := time.Now()
	lingers := func() bool { // after a search whose answers took a while
		later = later.Add(15 * time.Second)
		c.ForgetErased(later)
		for until := time.Now().Add(3 * time.Second); time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
			if c.Lingering() == nil {
				return false
			}
		}
		return true
	}
	if !lingers() {
		t.Error("a text that is in the servers' logs is no longer told")
	}
	fillLogs(t, c)
	for range 6 { // its time would be over much later
		if lingers() {
			continue
		}
		for _, s := range servers.Servers {
			if names := holding(t, s.Dir, secret); len(names) > 0 {
				t.Errorf("it is not said any more, and it is in %q", names)
			}
		}
		return
	}
	t.Errorf("no log has it, and it is still told: %+v", c.Lingering())
}

// fillLogs writes so much to all shards that the servers compact their logs.
func fillLogs(t *testing.T, c *jetstream.Cluster) {
	t.Helper()
	js, err := c.Conn().JetStream()
	if err != nil {
		t.Fatal(err)
	}
	random := make([]byte, 100<<10)
	for name := range js.StreamNames() {
		if !strings.Contains(name, "shard") {
			continue
		}
		info, err := js.StreamInfo(name)
		if err != nil {
			t.Fatal(err)
		}
		subject := strings.NewReplacer("*", "filling", ">", "filling").Replace(info.Config.Subjects[0])
		for range 90 {
			for i := range random {
				random[i] = byte(rand.Uint32())
			}
			if _, err := js.Publish(subject, random); err != nil {
				t.Fatal(err)
			}
		}
	}
}

var waitsForLogs = flag.Bool("servers-logs", false, "TestServersLogs waits until the servers' logs are empty")

// TestServersLogs: while an erased text may be in the servers' own logs, that is reported, and when the report ends,
// the text is nowhere, even if a server was killed and came back. Servers that look into their logs end it sooner.
func TestServersLogs(t *testing.T) {
	if !*waitsForLogs {
		t.Skip("it takes nine minutes: ./test proof --machines")
	}
	for name, look := range map[string]bool{"whose logs no one sees": false, "that look into their logs": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			servers := natstest.Start(t, 3, natstest.Options{})
			for _, s := range servers.Servers {
				if look {
					answerLogs(t, s)
				}
			}
			serversLogs(t, servers, look)
		})
	}
}

// answerLogs makes a server answer as one of a cluster of Pennypost does.
func answerLogs(t *testing.T, s *natstest.Server) {
	nc, err := nats.Connect(s.URL(), nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	if _, err := nc.Subscribe(natsfiles.Subject, func(m *nats.Msg) {
		var q natsfiles.Question
		if err := json.Unmarshal(m.Data, &q); err != nil {
			t.Error(err)
		}
		found, err := natsfiles.Search(s.Dir, q.IDs)
		if err != nil {
			t.Logf("%s cannot look: %v", s.Name, err)
			return
		}
		text, err := json.Marshal(natsfiles.Answer{Server: s.Name, Found: found})
		if err == nil {
			err = m.Respond(text)
		}
		if err != nil {
			t.Logf("%s cannot answer: %v", s.Name, err)
		}
	}); err != nil {
		t.Fatal(err)
	}
}

func serversLogs(t *testing.T, servers *natstest.Cluster, look bool) {
	c := connect(t, servers.URLs())
	if _, err := c.Machines(t.Context(), jetstream.MachineOptions{Name: "desk", ID: "1"}); err != nil {
		t.Fatal(err) // which makes the cluster hear of the servers
	}
	j := open(t, c, "logs", t.TempDir())
	const secret = "Rumpelstilzchen"
	e := note(secret)
	e.Message.ID = "msg_erased" // which the record of the hole has
	// A server (2.15.2) that is killed soon after it has deleted a message may keep its text in the stream's file.
	// Those that look into their files say so as long as it is there; of others no one can know.
	if _, err := j.Append(t.Context(), note("first"), e); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Erase(t.Context(), e.Message.ID, aboutNote(e.Message.ID)); err != nil {
		t.Fatal(err)
	}
	began, back, stood := time.Now(), false, time.Duration(0)
	servers.Servers[2].Kill()
	for c.Lingering() != nil {
		if !back && time.Since(began) > time.Minute {
			if back = true; servers.Servers[2].Start() != nil {
				t.Fatal("the server does not start")
			}
		}
		for _, s := range servers.Servers {
			if len(holding(t, s.Dir, secret)) > 0 {
				stood = time.Since(began)
			}
		}
		if took := time.Since(began); took > 12*time.Minute {
			if took < stood+time.Minute {
				t.Logf("after %v the text is still in files, and that is told", stood.Round(time.Second))
				return
			}
			t.Fatalf("after %v it is still said that they may have it, and none has: %+v", took, c.Lingering())
		}
		_, _ = j.Append(t.Context(), note(fmt.Sprintf("meanwhile %v", time.Since(began)))) // keeps the room busy
		time.Sleep(200 * time.Millisecond)
		c.ForgetErased(time.Now())
	}
	t.Logf("the text stood in files for %v, and for %v that was told", stood.Round(time.Second),
		time.Since(began).Round(time.Second))
	for _, s := range servers.Servers {
		for _, name := range holding(t, s.Dir, secret) {
			if look || strings.Contains(name, "_js_") {
				t.Errorf("it is not said any more, and it is in %s", name)
			} else {
				t.Logf("it is not said any more, and it is in %s", name)
			}
		}
	}
}

// TestEraseAtTheSameMoment makes three machines erase each of some events at the same time. A machine that finds the
// event already gone reports no error.
func TestEraseAtTheSameMoment(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 3, natstest.Options{})
	var machines []*jetstream.Journal
	for range 3 {
		machines = append(machines, open(t, connect(t, servers.URLs()), "once", t.TempDir()))
	}
	add(t, machines[0], "note", 11)
	last := machines[0].Last()
	for _, j := range machines {
		for j.Last() < last {
			time.Sleep(time.Millisecond)
		}
	}
	for seq := range last - 1 {
		var all sync.WaitGroup
		for _, j := range machines {
			all.Go(func() {
				fifth := func(e mail.Event) bool { return e.Seq == seq+1 }
				if _, err := j.Erase(t.Context(), "none", fifth); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
}

// TestErasuresAtOnce checks that an erasure by sequence number hits that event, even if another machine erases earlier
// ones while the events are counted.
func TestErasuresAtOnce(t *testing.T) {
	t.Parallel()
	const first, second = 40, 200 // sequence numbers
	ours, theirs := openAlone(t, "erasures"), openAlone(t, "erasures")
	add(t, ours, "note", second+20)
	var erasing sync.WaitGroup
	defer erasing.Wait()
	erasing.Go(func() {
		for at := range mail.Seq(first) {
			if _, err := theirs.Erase(t.Context(), "", func(e mail.Event) bool { return e.Seq == at+1 }); err != nil {
				t.Error(err)
			}
		}
	})
	for at := mail.Seq(second); at < second+20; at += 2 {
		if _, err := ours.Erase(t.Context(), "", func(e mail.Event) bool { return e.Seq == at }); err != nil {
			t.Error(err)
		}
	}
	erasing.Wait()
	v, err := jetstreamStream(t, "erasures")
	if err != nil {
		t.Fatal(err)
	}
	for i := range second + 20 {
		at := mail.Seq(i + 1)
		gone := at <= first || at >= second && at < second+20 && at%2 == 0
		if _, has := v[at]; has == gone {
			t.Errorf("event %d: it is there: %v", at, has)
		}
	}
}

// jetstreamStream returns the events in a room's stream, by sequence number.
func jetstreamStream(t *testing.T, room string) (map[mail.Seq]mail.Event, error) {
	j := openAlone(t, room)
	events, err := j.Read(t.Context(), seqs(1, j.Last())...)
	got := make(map[mail.Seq]mail.Event)
	for _, e := range events {
		got[e.Seq] = e
	}
	return got, err
}

func seqs(from, to mail.Seq) (all []mail.Seq) {
	for at := from; at <= to; at++ {
		all = append(all, at)
	}
	return all
}
