package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"pennypost/bench/drive"
	"pennypost/internal/mail"
	"pennypost/internal/room/journal/jetstream"
	"pennypost/internal/room/journal/jetstream/natstest"
	"pennypost/internal/room/journal/jsonl"
)

type bench struct {
	rooms, shards, open, rounds int
	turn, rest                  time.Duration
	flooded                     bool

	dir          string
	servers      *natstest.Cluster
	desk, laptop *machine
	js           natsjs.JetStream // for plain publishes, over a connection of a third machine
	own          []*machine       // two of another post office, whose rooms have streams of their own
	third        *machine
	publishing   sync.Mutex
}

// machine is a post office's machine, reduced to its rooms on the servers.
type machine struct {
	*jetstream.Cluster
	dir   string
	rooms map[int]*jetstream.Journal
	mu    sync.Mutex
}

// makers is how many rooms are made or opened at the same time.
const makers = 8

func (b *bench) machine(ctx context.Context, name mail.Machine, prefix string, own bool) (*machine, error) {
	c, err := jetstream.Connect(ctx, jetstream.Config{URLs: b.servers.URLs(), Machine: name, Prefix: prefix,
		OwnStreams: own})
	if err != nil {
		return nil, err
	}
	for c.Trouble() != nil && ctx.Err() == nil {
		time.Sleep(10 * time.Millisecond)
	}
	return &machine{Cluster: c, dir: filepath.Join(b.dir, string(name)), rooms: make(map[int]*jetstream.Journal)},
		ctx.Err()
}

func (b *bench) connect(ctx context.Context) (err error) {
	for _, m := range []struct {
		name mail.Machine
		at   **machine
	}{{"desk", &b.desk}, {"laptop", &b.laptop}, {"third", &b.third}} {
		if *m.at, err = b.machine(ctx, m.name, "", false); err != nil {
			return err
		}
	}
	if b.js, err = natsjs.New(b.third.Conn(), natsjs.WithDefaultTimeout(10*time.Second)); err != nil {
		return err
	}
	_, err = b.js.CreateStream(ctx, natsjs.StreamConfig{Name: "plain", Subjects: []string{"plain.*"}, Replicas: 3,
		AllowAtomicPublish: true})
	return errors.Join(err, b.desk.AddShards(ctx, b.shards))
}

func (b *bench) close() {
	for _, m := range append(b.own, b.desk, b.laptop, b.third) {
		if m == nil {
			continue
		}
		for _, j := range m.rooms {
			_ = j.Close()
		}
		_ = m.Close()
	}
}

func name(room int) string { return fmt.Sprint("room-", room) }

// enter opens a room, and makes it if it does not exist.
func (m *machine) enter(ctx context.Context, room int) (*jetstream.Journal, error) {
	j, err := m.Open(ctx, name(room), filepath.Join(m.dir, name(room)), jsonl.Options{})
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rooms[room] = j
	return j, nil
}

var sent atomic.Int64

// event is a message.
func event() mail.Event {
	return mail.Event{At: mail.TimeOf(time.Now()), Message: &mail.Message{ID: mail.ID(fmt.Sprint("msg_", sent.Add(1))),
		Type: mail.Status, From: "agent:a", To: []mail.Address{"user"}, Body: drive.Body}}
}

func events(n int) (all []mail.Event) {
	for range n {
		all = append(all, event())
	}
	return all
}

// times are the durations of repeated operations.
type times struct {
	mu  sync.Mutex
	all []time.Duration
}

func (t *times) add(since time.Time) {
	took := time.Since(since)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = append(t.all, took)
}

func (t *times) String() string {
	if len(t.all) == 0 {
		return "never"
	}
	slices.Sort(t.all)
	at := func(percent int) float64 { return t.all[(len(t.all)-1)*percent/100].Seconds() * 1e3 }
	return fmt.Sprintf("p50 %.2f ms, p99 %.2f, longest %.1f, %d times", at(50), at(99), at(100), len(t.all))
}

// say prints one line of the results.
func (b *bench) say(format string, args ...any) {
	fmt.Printf("%d rooms, %d shards: %s\n", b.rooms, b.shards, fmt.Sprintf(format, args...))
}

// memory returns the memory that this process uses, and its number of goroutines.
func memory() (bytes uint64, goroutines int) {
	runtime.GC()
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.HeapInuse + s.StackInuse, runtime.NumGoroutine()
}

// cpu returns a function that describes the processor time spent since, for each of n operations.
func (b *bench) cpu() func(n int) string {
	servers, _ := drive.UseOf(b.servers.PIDs()...)
	here, _ := drive.UseOf(os.Getpid())
	return func(n int) string {
		serversNow, _ := drive.UseOf(b.servers.PIDs()...)
		hereNow, _ := drive.UseOf(os.Getpid())
		each := func(d time.Duration) float64 { return d.Seconds() * 1e3 / float64(n) }
		return fmt.Sprintf("%.1f ms of processor time of the servers and %.1f of the machine", each(serversNow.CPU-
			servers.CPU), each(hereNow.CPU-here.CPU))
	}
}

// make makes the rooms, and sends a first event to each.
func (b *bench) make(ctx context.Context) error {
	var made, first times
	before, running := memory()
	spent := b.cpu()
	began := time.Now()
	err := drive.Each(ctx, makers, b.rooms, func(ctx context.Context, room int) error {
		at := time.Now()
		j, err := b.desk.enter(ctx, room)
		if err != nil {
			return err
		}
		made.add(at)
		at = time.Now()
		if _, err = j.Append(ctx, event()); err == nil {
			first.add(at)
		}
		if room >= b.open {
			b.desk.leave(room)
		}
		return err
	})
	took := time.Since(began)
	cpu := spent(b.rooms)
	after, more := memory()
	open := min(b.rooms, b.open)
	b.say("make, %d at a time: %v", makers, &made)
	b.say("first send: %v", &first)
	b.say("both: a room each %.1f ms; %s; %.0f kB and %.1f goroutines for each of %d open ones", took.Seconds()*1e3/
		float64(b.rooms), cpu, float64(after-before)/1e3/float64(open), float64(more-running)/float64(open), open)
	return err
}

func (m *machine) leave(room int) {
	m.mu.Lock()
	j := m.rooms[room]
	delete(m.rooms, room)
	m.mu.Unlock()
	_ = j.Close()
}

// openElsewhere opens the rooms on another machine.
func (b *bench) openElsewhere(ctx context.Context) error {
	var opened times
	open := min(b.rooms, b.open)
	before, _ := memory()
	spent := b.cpu()
	err := drive.Each(ctx, makers, open, func(ctx context.Context, room int) error {
		at := time.Now()
		j, err := b.laptop.enter(ctx, room)
		if err != nil {
			return err
		}
		opened.add(at)
		if j.Last() != 1 {
			return fmt.Errorf("it has %d events", j.Last())
		}
		return nil
	})
	cpu := spent(open)
	after, _ := memory()
	b.say("open on another machine, %d at a time: %v; %s; %.0f kB each", makers, &opened, cpu,
		float64(after-before)/1e3/float64(open))
	return err
}

// way is a way to send, by a number of concurrent senders.
type way struct {
	name    string
	senders int
	send    func(ctx context.Context, sender int) error
	took    times
	spent   time.Duration
}

// turns runs all ways in turn.
func (b *bench) turns(ctx context.Context, rounds int, ways ...*way) error {
	for range rounds {
		for _, w := range ways {
			began := time.Now()
			err := drive.Each(ctx, w.senders, w.senders, func(ctx context.Context, sender int) error {
				for time.Since(began) < b.turn {
					at := time.Now()
					if err := w.send(ctx, sender); err != nil {
						return err
					}
					w.took.add(at)
				}
				return nil
			})
			if err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			w.spent += time.Since(began)
		}
	}
	return nil
}

// told prints the results of ways to send.
func (b *bench) told(ways ...*way) {
	for _, w := range ways {
		b.say("send, %s: %v, %.0f a second", w.name, &w.took, float64(len(w.took.all))/w.spent.Seconds())
	}
}

// send sends to rooms and, in turn, to a plain stream.
func (b *bench) send(ctx context.Context) error {
	text, err := jsonl.Encode(event())
	if err != nil {
		return err
	}
	plain := func(ctx context.Context, sender int) error {
		_, err := b.js.Publish(ctx, "plain."+strconv.Itoa(sender), text)
		return err
	}
	to := func(room func(sender int) int) func(context.Context, int) error {
		return func(ctx context.Context, sender int) error {
			_, err := b.desk.rooms[room(sender)%min(b.rooms, b.open)].Append(ctx, event())
			return err
		}
	}
	one := to(func(int) int { return 0 })
	each := to(func(sender int) int { return sender })
	ways := []*way{{name: "1 plain", senders: 1, send: plain}, {name: "1 to a room", senders: 1, send: one},
		{name: "8 plain", senders: 8, send: plain}, {name: "8 to a room", senders: 8, send: one},
		{name: "8 to 8 rooms", senders: 8, send: each}}
	if err = b.turns(ctx, b.rounds, ways...); err == nil {
		b.told(ways...)
	}
	return err
}

// listEvery is how often a post office lists the rooms on the servers.
const listEvery = 30 * time.Second

// atRest watches all machines while no one sends. They do what idle post offices do: announce themselves, watch the
// servers, and list the rooms.
func (b *bench) atRest(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for i, m := range []*machine{b.desk, b.laptop} {
		known, err := m.Machines(ctx, jetstream.MachineOptions{Name: mail.Machine(filepath.Base(m.dir)),
			ID: strconv.Itoa(i)})
		if err != nil {
			return err
		}
		go func() { _ = known.Run(ctx) }()
		go func() {
			for ; ctx.Err() == nil; time.Sleep(listEvery) {
				if rooms, err := m.List(ctx); err == nil && len(rooms) != b.rooms {
					b.say("rest: %d rooms are listed", len(rooms))
				}
			}
		}()
	}
	time.Sleep(5 * time.Second) // all events have arrived everywhere
	servers, err := drive.UseOf(b.servers.PIDs()...)
	if err != nil {
		return err
	}
	here, err := drive.UseOf(os.Getpid())
	if err != nil {
		return err
	}
	said, got, crossed := b.traffic()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(b.rest):
	}
	serversNow, err := drive.UseOf(b.servers.PIDs()...)
	if err != nil {
		return err
	}
	hereNow, err := drive.UseOf(os.Getpid())
	saidNow, gotNow, crossedNow := b.traffic()
	second := b.rest.Seconds()
	kB := func(before, after uint64) float64 { return float64(after-before) / 1e3 / second }
	b.say("rest, %d rooms open on each of two machines: %.3f of a core for three servers, %.3f for both machines",
		len(b.desk.rooms), (serversNow.CPU-servers.CPU).Seconds()/second, (hereNow.CPU-here.CPU).Seconds()/second)
	b.say("rest: the servers get %.1f kB/s, the machines %.1f; %.1f cross the loopback interface", kB(said, saidNow),
		kB(got, gotNow), kB(crossed, crossedNow))
	b.say("rest: three servers %.0f MB resident, %d files open; both machines %.0f MB, %d", serversNow.Memory,
		serversNow.Files, hereNow.Memory, hereNow.Files)
	return err
}

// traffic returns how many bytes of messages the servers have received, from clients and each other, how many the
// machines have, and how many have crossed the loopback interface, with all headers.
func (b *bench) traffic() (servers, machines, crossed uint64) {
	for _, s := range b.servers.Servers {
		var one struct {
			Bytes uint64 `json:"in_bytes"`
		}
		text, err := s.Get("/varz")
		if err == nil && json.Unmarshal(text, &one) == nil {
			servers += one.Bytes
		}
	}
	for _, m := range []*machine{b.desk, b.laptop} {
		machines += m.Conn().Stats().InBytes
	}
	text, _ := os.ReadFile("/proc/net/dev")
	_, text, _ = bytes.Cut(text, []byte("lo:"))
	if f := strings.Fields(string(text)); len(f) > 0 {
		crossed, _ = strconv.ParseUint(f[0], 10, 64)
	}
	return servers, machines, crossed
}
