package mailroom

import (
	"context"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
	"pennypost/internal/mail/mailtest"
	"pennypost/internal/room/fold/foldtest"
)

// testOffice is a post office of rooms in memory, each of which is compared at the end with its journal.
type testOffice struct {
	mailtest.Asking
	t    *testing.T
	opts Options

	mu      sync.Mutex
	rooms   map[mail.RoomName]*Room
	stores  map[mail.RoomName]*store
	away    mail.RoomName // cannot be reached from the others
	reached func()        // called, once, after something was stored in another room
}

func newOffice(t *testing.T, opts Options) *testOffice {
	o := &testOffice{t: t, opts: opts, rooms: make(map[mail.RoomName]*Room),
		stores: make(map[mail.RoomName]*store)}
	o.opts.Elsewhere = o.elsewhere
	return o
}

func (o *testOffice) elsewhere(_ context.Context, name mail.RoomName, use func(*Room) error) error {
	o.mu.Lock()
	r, away, reached := o.rooms[name], o.away == name, o.reached
	o.mu.Unlock()
	switch {
	case away:
		return mail.Errorf(mail.Unavailable, "room %s cannot be opened", name)
	case r == nil:
		return mail.Errorf(mail.NotFound, "there is no room %q", name)
	}
	last := r.journal.Last()
	err := use(r)
	if reached != nil && r.journal.Last() > last {
		o.reached = nil
		reached()
	}
	return err
}

// fill makes the disk of a room reject writes from now on or, if full is false, accept them again.
func (o *testOffice) fill(name mail.RoomName, full bool) {
	if onServers {
		o.t.Skip("on memory only: no server's disk is filled")
	}
	var err error
	if full {
		err = mail.Errorf(mail.Unavailable, "the disk is full")
	}
	o.stores[name].memory.Break(err)
}

func (o *testOffice) Room(ctx context.Context, name mail.RoomName, as mail.Name) (mail.Service, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	r := o.rooms[name]
	if r == nil {
		r, o.stores[name] = openRoom(o.t, name, o.opts)
		o.rooms[name] = r
	}
	return r.As(as), nil
}

func (o *testOffice) Rooms(context.Context) ([]mail.RoomStatus, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var out []mail.RoomStatus
	for _, r := range o.rooms {
		out = append(out, r.Status())
	}
	return out, nil
}

// openRoom opens a room on a new journal in memory. When the test ends, the room is closed and opened again from its
// journal, and must be the same: the law of the fold (P3).
func openRoom(t *testing.T, name mail.RoomName, opts Options) (*Room, *store) {
	t.Helper()
	store := newStore(t)
	r := reopen(t, store, name, opts)
	t.Cleanup(func() {
		now := r.now()
		live := foldtest.Dump(r.state, now)
		if wrong := foldtest.Miscounted(r.state, now); wrong != "" {
			t.Error(wrong)
		}
		if err := r.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		again, err := Open(context.Background(), name, store.Open(), opts)
		if err != nil {
			t.Errorf("opening the room again: %v", err)
			return
		}
		defer again.Close()
		if diff := cmp.Diff(live, foldtest.Dump(again.state, now)); diff != "" {
			t.Errorf("the room opened again differs (-live +opened again):\n%s", diff)
		}
	})
	return r, store
}

func reopen(t *testing.T, store *store, name mail.RoomName, opts Options) *Room {
	t.Helper()
	r, err := Open(context.Background(), name, store.Open(), opts)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return r
}

func TestService(t *testing.T) {
	mailtest.Run(t, func(t *testing.T) mail.Office { return newOffice(t, Options{}) })
}

func (o *testOffice) Fleet(ctx context.Context, q mail.FleetQuery) (mail.Fleet, error) {
	return mailtest.FleetOf(ctx, o, q)
}

func (o *testOffice) FleetMail(ctx context.Context, q mail.FleetMailQuery) (mail.FleetMail, error) {
	return mailtest.FleetMailOf(ctx, o, q)
}

func (o *testOffice) Desk(ctx context.Context, q mail.DeskQuery) (mail.Desk, error) {
	return mailtest.DeskOf(ctx, o, q)
}

func (o *testOffice) WatchDesk(ctx context.Context) (mail.DeskWatch, error) {
	return mailtest.WatchDeskOf(ctx, o)
}
