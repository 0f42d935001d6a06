package jetstream

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal/jetstream/natstest"
	"pennypost/internal/room/journal/jsonl"
)

// fleet is machines on one server, each with a key, and a thief with the password.
type fleet struct {
	*testing.T
	servers *natstest.Cluster
	thief   *Cluster // has no key
}

func newFleet(t *testing.T) *fleet {
	f := &fleet{T: t, servers: natstest.Start(t, 1, natstest.Options{})}
	f.thief = f.cluster("", nil)
	return f
}

// keyOf returns the key of a machine.
func keyOf(name string) ed25519.PrivateKey {
	seed := make([]byte, ed25519.SeedSize)
	copy(seed, name)
	return ed25519.NewKeyFromSeed(seed)
}

func (f *fleet) cluster(name mail.Machine, key ed25519.PrivateKey) *Cluster {
	f.Helper()
	c, err := Connect(f.Context(), Config{URLs: f.servers.URLs(), Replicas: 1, Machine: name, Signer: key})
	f.must(err)
	f.Cleanup(func() { c.Close() })
	for c.Trouble() != nil {
		time.Sleep(time.Millisecond)
	}
	return c
}

func (f *fleet) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// member is a machine with a copy of a room.
type member struct {
	*Journal
	c   *Cluster
	dir string
}

// machine opens a room on a machine.
func (f *fleet) machine(name mail.Machine, key ed25519.PrivateKey, room string) *member {
	f.Helper()
	m := &member{c: f.cluster(name, key), dir: f.TempDir()}
	f.open(m, room)
	return m
}

func (f *fleet) open(m *member, room string) {
	f.Helper()
	var err error
	m.Journal, err = m.c.Open(f.Context(), room, m.dir, jsonl.Options{Log: logOf(f.T)})
	f.must(err)
	j := m.Journal
	f.Cleanup(func() { j.Close() })
}

func (f *fleet) append(m *member, events ...mail.Event) mail.Seq {
	f.Helper()
	last, err := m.Append(f.Context(), events...)
	f.must(err)
	return last
}

// enter makes a machine record its key.
func (f *fleet) enter(m *member) mail.Seq {
	f.Helper()
	return f.append(m, keyEvent(m.c.cfg.Machine, m.c.cfg.Signer))
}

func keyEvent(name mail.Machine, key ed25519.PrivateKey) mail.Event {
	return mail.Event{At: 1778414400000, Machine: &mail.MachineChange{Name: name,
		Key: mail.KeyText(key.Public().(ed25519.PublicKey))}}
}

func ofMachine(c mail.MachineChange) mail.Event { return mail.Event{At: 1778414400000, Machine: &c} }

// textsOf returns a copy's text of each sequence number, "" where it has none, once it has reached one.
func (f *fleet) textsOf(m *member, last mail.Seq) []string {
	f.Helper()
	for end := time.Now().Add(20 * time.Second); m.Last() < last; time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			f.Fatalf("%s is at %d, want %d: %v", m.c.cfg.Machine, m.Last(), last, m.trouble)
		}
	}
	all := make([]string, last+1)
	f.must(m.local.Lines(f.Context(), true, func(l jsonl.Line) error {
		if l.Text != nil && l.First <= last {
			all[l.First] = string(l.Text)
		}
		return nil
	}))
	return all[1:]
}

// agree fails the test unless machines have the same texts and keys, and returns the texts.
func (f *fleet) agree(when string, last mail.Seq, machines ...*member) []string {
	f.Helper()
	want := f.textsOf(machines[0], last)
	for _, m := range machines[1:] {
		if got := f.textsOf(m, last); !slices.Equal(got, want) {
			f.Errorf("%s, %s has\n%s\nand %s\n%s", when, m.c.cfg.Machine, strings.Join(got, "\n"),
				machines[0].c.cfg.Machine, strings.Join(want, "\n"))
		}
		if m.rings.now == nil || !maps.EqualFunc(m.rings.now.Machines, machines[0].rings.now.Machines,
			func(a, b *keyed) bool { return string(a.Key) == string(b.Key) && a.Last == b.Last }) {
			f.Errorf("%s, %s knows %v, and %s %v", when, m.c.cfg.Machine, m.rings.now, machines[0].c.cfg.Machine,
				machines[0].rings.now)
		}
	}
	return want
}

// send stores messages like someone with the password, signed by c's machine if it has a key.
func (f *fleet) send(c *Cluster, room string, change func(*nats.Msg), events ...mail.Event) mail.Seq {
	f.Helper()
	l, err := f.thief.lane(f.Context(), room, false)
	f.must(err)
	var msgs []*nats.Msg
	var texts [][]byte
	for i, e := range events {
		text, err := jsonl.Encode(e)
		f.must(err)
		texts = append(texts, text)
		msgs = append(msgs, &nats.Msg{Subject: l.subject, Data: text, Header: nats.Header{
			headerID: {fmt.Sprint(l.subject, ".", f.Name(), time.Now().UnixNano(), i)}}})
	}
	c.sign(msgs, texts, 0, uint64(time.Now().UnixMicro()))
	if change != nil {
		for _, m := range msgs {
			change(m)
		}
	}
	_, err = f.thief.store(f.Context(), msgs)
	f.must(err)
	f.must(l.look(f.Context(), f.thief.nc))
	return l.end
}

// raw returns a message as stored in the shard.
func (f *fleet) raw(room string, seq mail.Seq) *nats.Msg {
	f.Helper()
	l, err := f.thief.lane(f.Context(), room, false)
	f.must(err)
	var at uint64
	f.must(l.read(f.Context(), f.thief.nc, point{}, seq-1, seq, func(a arrival) error { at = a.at; return nil }))
	m, err := l.GetMsg(f.Context(), at)
	f.must(err)
	return &nats.Msg{Subject: m.Subject, Header: m.Header, Data: m.Data}
}

// again stores a message again, as if the servers had forgotten it.
func (f *fleet) again(m *nats.Msg, change func(*nats.Msg)) {
	f.Helper()
	for name := range m.Header {
		if strings.HasPrefix(name, "Nats-") && name != headerID {
			m.Header.Del(name)
		}
	}
	if change != nil {
		change(m)
	}
	_, err := f.thief.store(f.Context(), []*nats.Msg{m})
	f.must(err)
}

// TestP5_Machines checks that only messages that a machine in the room has signed count: none that are signed with
// another key, with a replaced or removed key, in another's name, not at all, or that were sent before. Machines
// agree event by event: those that were there, one that fetches the room and one that opens its copy again.
func TestP5_Machines(t *testing.T) {
	f := newFleet(t)
	desk := f.machine("desk", keyOf("desk"), "lab")
	f.append(desk, said("before any key"))
	laptop := f.machine("laptop", keyOf("laptop"), "lab")
	f.append(laptop, said("of a machine that nobody knows yet"))
	f.enter(desk)
	f.enter(laptop)
	old := f.cluster("desk", keyOf("desk"))
	counted := map[string]bool{"before any key": true, "of a machine that nobody knows yet": true}
	count := func(c *Cluster, body string, counts bool) mail.Seq {
		counted[body] = counts
		return f.send(c, "lab", nil, said(body))
	}
	count(f.thief, "unsigned, while others may come", true)
	count(f.cluster("desk", keyOf("thief")), "wrong key", false)
	f.send(f.thief, "lab", nil, keyEvent("desk", keyOf("thief")))
	f.send(f.cluster("desk", keyOf("thief")), "lab", nil, keyEvent("desk", keyOf("thief")))
	f.send(f.cluster("box", keyOf("box")), "lab", nil, keyEvent("desk", keyOf("box")))
	f.send(f.thief, "lab", nil, ofMachine(mail.MachineChange{Name: "desk", Left: true}))
	f.send(f.thief, "lab", nil, ofMachine(mail.MachineChange{Name: "desk", Follows: true}))
	f.send(laptop.c, "lab", nil, ofMachine(mail.MachineChange{Name: "desk", Follows: true}))
	count(old, "signed by desk", true)
	f.append(desk, ofMachine(mail.MachineChange{Name: "desk", Admits: true}))
	count(f.thief, "unsigned", false)
	f.send(f.cluster("box", keyOf("box")), "lab", nil, keyEvent("box", keyOf("box")))
	count(f.cluster("box", keyOf("box")), "not admitted", false)
	f.send(f.thief, "lab", func(m *nats.Msg) { m.Header.Set(fenceHeader, removed) }, said("fence"))
	f.append(desk, said("several"), said("at"), said("once"))
	counted["several"], counted["at"], counted["once"] = true, true, true

	// A message signed for one sequence number does not count under another.
	sent := f.append(laptop, said("sent"))
	counted["sent"] = true
	m := f.raw("lab", sent)
	f.again(m, func(m *nats.Msg) { m.Header.Set(headerID, m.Header.Get(headerID)+"x") })
	m = f.raw("lab", sent)
	f.again(m, func(m *nats.Msg) {
		m.Data = []byte(strings.Replace(string(m.Data), "sent", "tnes", -1))
		m.Header.Del(headerID)
	})
	f.againForgotten(f.raw("lab", sent))
	other := f.machine("desk", keyOf("desk"), "other")
	f.enter(other)
	f.append(other, said("of another room"))
	l, err := f.thief.lane(t.Context(), "lab", false)
	f.must(err)
	f.again(f.raw("other", 2), func(m *nats.Msg) { m.Subject = l.subject })

	// Keys come and go in the order of the room.
	f.append(desk, keyEvent("desk", keyOf("new")))
	count(old, "old key", false)
	renewed := f.cluster("desk", keyOf("new"))
	count(renewed, "new key", true)
	f.send(renewed, "lab", nil, ofMachine(mail.MachineChange{Name: "laptop", Left: true, By: mail.User}))
	count(laptop.c, "removed", false)
	if _, err := laptop.Append(t.Context(), said("removed, and knows it")); mail.CodeOf(err) != mail.Denied {
		t.Errorf("a removed machine is told: %v", err)
	}
	f.send(laptop.c, "lab", nil, keyEvent("laptop", keyOf("laptop")))
	f.send(renewed, "lab", nil, keyEvent("box", keyOf("box")))
	last := count(f.cluster("box", keyOf("box")), "admitted", true)

	fresh := f.machine("tower", keyOf("tower"), "lab")
	all := f.agree("at the end", last, desk, laptop, fresh)
	for body, counts := range counted {
		if got := slices.ContainsFunc(all, func(s string) bool { return strings.Contains(s, `"body":"`+body+`"`) }); got != counts {
			t.Errorf("%q counts: %v, want %v", body, got, counts)
		}
	}
	for _, text := range []string{"fence", "tnes", "of another room", `"follows":true`} {
		if slices.ContainsFunc(all, func(s string) bool { return strings.Contains(s, text) }) {
			t.Errorf("%q counts", text)
		}
	}
	if n := strings.Count(strings.Join(all, "\n"), `"body":"sent"`); n != 1 {
		t.Errorf("what was sent again counts %d times", n)
	}
	admit := "pennypost machines admit tower " + mail.KeyText(keyOf("tower").Public().(ed25519.PublicKey))
	if _, err := fresh.Append(t.Context(), said("of tower")); mail.CodeOf(err) != mail.Denied ||
		!strings.Contains(err.Error(), admit) {
		t.Errorf("a machine that was not admitted is told: %v", err)
	}
	news := (&healing{T: t}).told(desk.Journal)
	if !strings.Contains(news, "the machine desk") || !strings.Contains(news, "the machine box") {
		t.Errorf("the person is told %q", news)
	}
	for _, files := range []string{"as it was", ringsName, pointsName} {
		f.must(laptop.Close())
		if files != "as it was" {
			f.must(removeFile(laptop.dir, files))
		}
		f.open(laptop, "lab")
		f.append(other, said(files))
		f.agree("opened again, "+files, last, desk, laptop)
	}
	v, err := desk.Verify(context.Background())
	if err != nil || len(v.Problems) > 0 {
		t.Errorf("verify: %v, %v", v.Problems, err)
	}
}

func removeFile(dir, name string) error { return os.Remove(filepath.Join(dir, name)) }

func logOf(t *testing.T) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
}
