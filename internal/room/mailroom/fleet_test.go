package mailroom

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
	"pennypost/internal/room/fold"
	"pennypost/internal/room/fold/foldtest"
	"pennypost/internal/room/journal/journaltest"
)

// fleet is one room that the post offices of several machines have open.
type fleet struct {
	*testing.T
	store journaltest.Store
	posts []*post
	opts  Options
	skews []time.Duration // by how much the machines' clocks are wrong; none: by nothing
	now   func() time.Time
}

// post is the room on one machine.
type post struct {
	*Room
	disk *journaltest.Machine
	opts Options
}

// newFleet opens a room on machines m0, m1 and so on, all of which follow it; m0 looks after it. It must be called in
// a bubble of synctest. When the test ends all must have the same state, each even when it opens the room again, and
// so must a machine that follows it from its first event.
func newFleet(t *testing.T, machines int, opts Options) *fleet {
	t.Helper()
	f := &fleet{T: t, opts: opts}
	f.start(machines)
	t.Cleanup(func() {
		defer f.close()
		f.agree()
	})
	return f
}

// start opens the room on some machines.
func (f *fleet) start(machines int) {
	f.Helper()
	for range machines {
		p := f.add()
		events := []mail.Event{{Machine: &mail.MachineChange{Name: p.opts.Machine, Follows: true}},
			{Machine: &mail.MachineChange{Name: p.opts.Machine, Rules: mail.RulesNow}}}
		if len(f.posts) == 1 {
			events = append(events, mail.Event{Machine: &mail.MachineChange{Name: p.opts.Machine, Upkeep: true}})
		}
		_, err := p.commit(f.Context(), events...)
		f.must("follow", err)
	}
}

// add makes one more machine open the room.
func (f *fleet) add() *post {
	f.Helper()
	p := &post{disk: f.store.Machine(), opts: f.opts}
	p.opts.Machine = mail.Machine(fmt.Sprint("m", len(f.posts)))
	if n := len(f.posts); n < len(f.skews) {
		p.opts.Now = func() time.Time { return f.now().Add(f.skews[n]) }
	}
	p.open(f.T)
	f.posts = append(f.posts, p)
	return p
}

func (p *post) open(t *testing.T) {
	t.Helper()
	var err error
	if p.Room, err = Open(context.Background(), "lab", p.disk.Open(), p.opts); err != nil {
		t.Fatal(err)
	}
}

func (f *fleet) close() {
	for _, p := range f.posts {
		if err := p.Close(); err != nil {
			f.Error(err)
		}
	}
}

// agree compares the states of all machines, after they have applied everything.
func (f *fleet) agree() {
	f.Helper()
	f.settle()
	first := f.posts[0]
	now := first.now()
	first.mu.RLock()
	want := common(first.state, now)
	first.mu.RUnlock()
	skip := 0
	compare := func(who string, r *Room) {
		f.Helper()
		r.mu.RLock() // a machine that opens a room applies its own events
		defer r.mu.RUnlock()
		if diff := cmp.Diff(want[skip:], common(r.state, now)[skip:]); diff != "" {
			f.Errorf("%s differs (-m0 +%[1]s):\n%s", who, diff)
		}
		if wrong := foldtest.Miscounted(r.state, now); wrong != "" {
			f.Errorf("%s: %s", who, wrong)
		}
	}
	for _, p := range f.posts {
		compare(string(p.opts.Machine), p.Room)
		if err := p.Close(); err != nil {
			f.Error(err)
		}
		p.open(f.T)
		skip = 1 // a machine that opens a room may write that it has nothing to erase, and so be further
		compare(string(p.opts.Machine)+" opened again", p.Room)
	}
	late := f.store.Machine().Open()
	for c := late.Follow(0); late.Last() < first.journal.Last(); {
		_, err := c.Next(context.Background())
		f.must("follow from the first event", err)
	}
	opts := first.opts
	opts.Machine = "late"
	r, err := Open(context.Background(), "lab", late, opts)
	if err != nil {
		f.Fatal(err)
	}
	defer r.Close()
	compare("a machine that comes late", r)
}

// settle returns when all machines have applied everything. Those that must open the room again do.
func (f *fleet) settle() {
	last := f.store.Open().Last()
	for _, p := range f.posts {
		for err := p.await(context.Background(), last); err != nil; err = p.await(context.Background(), last) {
			select {
			case <-p.Reopen():
				f.must("close", p.Close())
				p.open(f.T)
			case <-time.After(time.Minute): // it is broken before it says that it must be opened again
				f.Fatalf("settle: %v", err)
			}
		}
	}
}

// common is Dump without the messages on their way to the archive, which each machine compacts for itself.
func common(s *fold.State, now mail.Time) []string {
	return slices.DeleteFunc(foldtest.Dump(s, now), func(line string) bool {
		return strings.HasPrefix(line, "leaving ")
	})
}

// race runs several acts concurrently: each makes its checks before any event of another is applied. Their events
// follow in the order of the journal.
func (f *fleet) race(acts ...func()) {
	synctest.Wait() // all know the earlier events
	var release []func()
	for _, p := range f.posts {
		release = append(release, p.disk.Hold())
	}
	done := make(chan struct{})
	for _, act := range acts {
		go func() {
			defer func() { done <- struct{}{} }()
			act()
		}()
		synctest.Wait()
	}
	for _, let := range release {
		let()
	}
	for range acts {
		<-done
	}
	synctest.Wait()
}

func (f *fleet) must(what string, err error) {
	f.Helper()
	if err != nil {
		f.Fatalf("%s: %v", what, err)
	}
}

// wantError fails the test unless err has the code, and contains all of some words.
func (f *fleet) wantError(what string, err error, code mail.Code, words ...string) {
	f.Helper()
	if mail.CodeOf(err) != code || err == nil {
		f.Errorf("%s: %v, want it %v", what, err, code)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			f.Errorf("%s: %v; it does not say %q", what, err, w)
		}
	}
}

// bubble runs a test with a fleet of some machines.
func bubble(t *testing.T, machines int, opts Options, test func(f *fleet)) {
	t.Helper()
	fakeTime(t, func(t *testing.T) { test(newFleet(t, machines, opts)) })
}
