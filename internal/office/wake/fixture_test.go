package wake

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
	"pennypost/internal/room/journal"
	"pennypost/internal/room/journal/journaltest"
	"pennypost/internal/room/mailroom"
)

// bell is a door that records its rings.
type bell struct {
	kind string

	mu     sync.Mutex
	rings  []Ring
	when   []time.Time   // when successful rings began
	times  []time.Time   // when rings and failures ended
	fails  error         // its answer
	takes  time.Duration // how long a ring takes
	inside map[mail.Name]int
	twice  bool // it was rung twice at the same time for one agent
}

func (b *bell) Door() string { return b.kind }

func (b *bell) Ring(ctx context.Context, r Ring) error {
	b.mu.Lock()
	if b.inside == nil {
		b.inside = make(map[mail.Name]int)
	}
	if b.inside[r.Agent]++; b.inside[r.Agent] > 1 {
		b.twice = true
	}
	takes, began := b.takes, time.Now()
	b.mu.Unlock()
	select {
	case <-time.After(takes):
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.inside[r.Agent]--
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if b.fails == nil {
		b.rings = append(b.rings, r)
		b.when = append(b.when, began)
	}
	b.times = append(b.times, time.Now())
	return b.fails
}

func (b *bell) set(fails error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fails = fails
}

// rung returns the number of successful rings.
func (b *bell) rung() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.rings)
}

// tried returns the number of rings.
func (b *bell) tried() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.times)
}

// all returns its successful rings, and when they began.
func (b *bell) all() ([]Ring, []time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.rings), slices.Clone(b.when)
}

func (b *bell) rungTwice() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.twice
}

func (b *bell) last() Ring {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.rings) == 0 {
		return Ring{}
	}
	return b.rings[len(b.rings)-1]
}

// fixture is an in-memory room and its Ringer, in a bubble of fake time.
type fixture struct {
	*testing.T
	doors  *Doors
	ladder policy.Ladder
	store  journaltest.Store
	room   *mailroom.Room
	ringer *Ringer
	mute   atomic.Bool  // messages to the user fail
	back   atomic.Int64 // by how much the clock was set back, as a time.Duration
	typed  atomic.Int64 // when the person last typed into every session, as a mail.Time
	marks  atomic.Int64 // how long recording a mark takes, as a time.Duration
	fails  atomic.Bool  // and then the recording fails

	mu          sync.Mutex // guards the Ringer's output
	outstanding int
	ringsFor    map[mail.Address]bool // who has a ring in progress or scheduled

	stop context.CancelFunc
	done chan struct{}
}

// inFixture runs f with a room whose agents are registered and idle.
func inFixture(t *testing.T, entries []Entry, f func(b *fixture), agents ...mail.Presence) {
	synctest.Test(t, func(t *testing.T) {
		b := &fixture{T: t, doors: NewDoors(entries...)}
		b.start()
		defer b.end()
		for _, a := range agents {
			b.register(a)
		}
		f(b)
	})
}

func (b *fixture) start() {
	b.Helper()
	room, err := mailroom.Open(context.Background(), "lab", &slowMarks{b.store.Open(), &b.marks, &b.fails},
		mailroom.Options{Now: b.now, Door: b.doors.Name, PutOff: b.doors.PutOff,
			Limits: policy.Limits{RepeatWindow: -1, Exchanges: -1, PerMinute: -1, Depth: -1}})
	b.must(err)
	b.room = room
	ctx, stop := context.WithCancel(context.Background())
	b.stop, b.done = stop, make(chan struct{})
	r, done := New(Options{Room: &muted{room, &b.mute}, Doors: b.doors, Ladder: b.ladder,
		Observe: Observer{Outstanding: b.observe},
		Typed:   func(mail.Name) mail.Time { return mail.Time(b.typed.Load()) }}), b.done
	r.looked, r.wall, b.ringer = b.look, b.now, r
	go func() {
		defer close(done)
		if err := r.Run(ctx); err != nil {
			b.Errorf("Run = %v", err)
		}
	}()
}

func (b *fixture) now() time.Time { return time.Now().Add(-time.Duration(b.back.Load())) }

// slowMarks is a journal that is slow to record marks other than rings.
type slowMarks struct {
	*journaltest.Memory
	takes *atomic.Int64
	fails *atomic.Bool
}

func (j *slowMarks) Append(ctx context.Context, events ...mail.Event) (mail.Seq, error) {
	if len(events) > 0 && events[0].Receipt != nil && events[0].Receipt.Mark != mail.MarkNotified {
		time.Sleep(time.Duration(j.takes.Load()))
		if j.fails.Load() {
			return 0, journal.ErrAway
		}
	}
	return j.Memory.Append(ctx, events...)
}

// muted is a room that may reject messages from the system.
type muted struct {
	*mailroom.Room
	mute *atomic.Bool
}

func (m *muted) As(n mail.Name) mail.Service {
	s := m.Room.As(n)
	if n == mail.System && m.mute.Load() {
		return muteSystem{s}
	}
	return s
}

type muteSystem struct{ mail.Service }

func (muteSystem) Send(context.Context, mail.Draft) (mail.Sent, error) {
	return mail.Sent{}, mail.Errorf(mail.Unavailable, "the disk is full")
}

func (b *fixture) observe(delta int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.outstanding += delta
}

func (b *fixture) look(all map[mail.Address]*sleeper) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ringsFor = make(map[mail.Address]bool)
	for a, s := range all {
		b.ringsFor[a] = s.ringing || s.due != 0
	}
}

// waits returns the number of outstanding rings in the metrics.
func (b *fixture) waits() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.outstanding
}

func (b *fixture) isRung(n mail.Name) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ringsFor[mail.AgentAddress(n)]
}

func (b *fixture) end() {
	b.stop()
	<-b.done
	b.must(b.room.Close())
	if n := b.waits(); n != 0 {
		b.Errorf("%d rings are outstanding after the end", n)
	}
}

// away runs f while no Ringer looks at the room.
func (b *fixture) away(f func()) {
	b.Helper()
	b.stop()
	<-b.done
	f()
	b.restart()
}

// restart closes the Ringer and the room, and opens them again from the journal.
func (b *fixture) restart() {
	b.Helper()
	b.end()
	b.start()
}

func (b *fixture) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *fixture) register(p mail.Presence) {
	b.Helper()
	_, err := b.room.As(mail.User).Register(b.Context(), p)
	b.must(err)
}

func (b *fixture) state(n mail.Name, s mail.State) {
	b.Helper()
	_, err := b.room.As(n).Register(b.Context(), mail.Presence{State: s})
	b.must(err)
}

// send sends from an agent called worker and waits for its immediate effects.
func (b *fixture) send(to, typ string, d mail.Draft) mail.Sent {
	b.Helper()
	d.To, d.Type, d.Body = mail.Recipients{to}, typ, "body"
	if typ == "review-result" {
		d.Metadata = mail.Metadata(`{"verdict":"approved"}`)
	}
	sent, err := b.room.As("worker").Send(b.Context(), d)
	b.must(err)
	return sent
}

func (b *fixture) mark(n mail.Name, k mail.Mark, ids ...mail.ID) {
	b.Helper()
	_, err := b.room.As(n).Mark(b.Context(), mail.Marking{IDs: ids, All: len(ids) == 0, Mark: k, Door: "test"})
	b.must(err)
}

// pass lets time pass.
func (b *fixture) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// moment is long enough for a ring that is due immediately, and for nothing else.
const moment = 700 * time.Millisecond

// rung checks how many times a bell was rung, a moment from now.
func (b *fixture) rung(bell *bell, want int, when string) {
	b.Helper()
	b.pass(moment)
	if got := bell.rung(); got != want {
		b.Errorf("%s: %s was rung %d times, want %d", when, bell.kind, got, want)
	}
}

func (b *fixture) notices() []mail.Item { return noticesIn(b.T, b.room) }

// noticesIn returns the system's messages to the user in a room.
func noticesIn(t *testing.T, room *mailroom.Room) []mail.Item {
	t.Helper()
	page, err := room.As(mail.User).Inbox(t.Context(), mail.InboxQuery{Limit: mail.MaxLimit})
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(page.Messages, func(it mail.Item) bool { return it.From != mail.FromSystem })
}

func (b *fixture) notified(n int, when string, texts ...string) {
	b.Helper()
	all := b.notices()
	if len(all) != n {
		b.Errorf("%s: the user was told %d times, want %d", when, len(all), n)
		for _, it := range all {
			b.Logf("%s %s\n%s", it.Sent, it.Subject, it.Body)
		}
		return
	}
	for _, text := range texts {
		if it := all[len(all)-1]; !strings.Contains(it.Subject+"\n"+it.Body, text) {
			b.Errorf("%s: the notice does not say %q:\n%s\n%s", when, text, it.Subject, it.Body)
		}
	}
}

var errBell = errors.New("out of order")

func orchestrator() mail.Presence {
	return mail.Presence{Name: "lead", Roles: []string{"orchestrator"}, State: mail.Idle}
}
