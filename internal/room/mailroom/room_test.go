package mailroom

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
	"pennypost/internal/mail/mailtest"
)

// testOffice is a post office of rooms in memory, each of which is checked, at the end, to equal what its journal
// says.
type testOffice struct {
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

// fill has the disk of a room take nothing from now on or, if full is false, take everything again.
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
		live := dump(r.state, now)
		if wrong := miscounted(r.state, now); wrong != "" {
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
		if diff := cmp.Diff(live, dump(again.state, now)); diff != "" {
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

// dump writes down all that anybody can see of a state.
func dump(s *state, now mail.Time) []string {
	out := []string{fmt.Sprint("seq ", s.seq, " last ", s.last), fmt.Sprint("rotation ", s.rotation),
		fmt.Sprint("erasing ", slices.Sorted(maps.Keys(s.erasing)))}
	if s.shared() {
		out = append(out, fmt.Sprint("machines ", s.machines, " upkeep ", s.upkeep, s.upkeepAt),
			fmt.Sprint("rules ", s.rules))
		for _, id := range slices.Sorted(maps.Keys(s.erasing)) {
			out = append(out, fmt.Sprint("pending ", id, s.pending(id)))
		}
	}
	first := len(out)
	ids := func(l list, m *member) (out []string) {
		for _, r := range l {
			if s.visible(r, m, now) || r.settledBy(m) {
				out = append(out, string(r.msg.ID))
			}
		}
		return out
	}
	for name, m := range s.members {
		if m.Registered == 0 && len(m.all) == 0 && !m.isUser() {
			continue
		}
		a := m.AgentRecord
		if m.isUser() {
			a.Door, a.DoorAt = "", 0
		}
		out = append(out, fmt.Sprintf("member %s: %+v unread %v told %v all %v", name, a, ids(m.unread.list, m),
			ids(m.told, m), ids(m.all, m)))
		for _, r := range m.unread.list {
			if s.visible(r, m, now) && m.Session != "" {
				out = append(out, fmt.Sprint("member ", name, " knows ", r.msg.ID, r.toldIn(m), r.handedIn(m)))
			}
		}
	}
	slices.Sort(out[first:])
	out = append(out, fmt.Sprint("bridges ", s.bridges), fmt.Sprint("workspaces ", s.workspaces))
	o := Options{}.withDefaults()
	m0 := sight{s, &ways{"m0", o.Door, o.PutOff, o.Tells, o.Away}} // whichever machine looks
	for _, r := range s.order {
		out = append(out, fmt.Sprintf("message %d %+v: %+v", r.seq, r.msg.message(), m0.deliveries(r, now)))
		if r.settled != nil {
			out = append(out, fmt.Sprintf("settled %+v", *r.settled))
		}
		if until := r.snoozedBy(s.members[mail.User], now); until != 0 {
			out = append(out, fmt.Sprint("snoozed until ", until))
		}
	}
	for _, r := range s.open {
		out = append(out, "open "+string(r.msg.ID))
	}
	for _, id := range slices.Sorted(maps.Keys(s.leaving)) {
		out = append(out, "leaving "+string(id))
	}
	var held []string
	for role, l := range s.held {
		for _, r := range l {
			held = append(held, role+" "+string(r.msg.ID))
		}
	}
	slices.Sort(held)
	for _, program := range slices.Sorted(maps.Keys(s.programs)) {
		seats := slices.SortedFunc(slices.Values(s.programs[program]), byName)
		for _, m := range seats {
			out = append(out, fmt.Sprint("in ", program, ": ", m.Name))
		}
	}
	var spent []mail.SpentKey
	for _, k := range s.spent.all() {
		spent = append(spent, k.SpentKey)
	}
	return append(out, "held "+strings.Join(held, ", "), fmt.Sprint("spent keys ", spent))
}

func TestService(t *testing.T) {
	mailtest.Run(t, func(t *testing.T) mail.Office { return newOffice(t, Options{}) })
}

func (o *testOffice) Desk(ctx context.Context, q mail.DeskQuery) (mail.Desk, error) {
	return mailtest.DeskOf(ctx, o, q)
}

func (o *testOffice) WatchDesk(ctx context.Context) (mail.DeskWatch, error) {
	return mailtest.WatchDeskOf(ctx, o)
}
