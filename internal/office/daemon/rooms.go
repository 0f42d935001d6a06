package daemon

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/office/gate"
	"pennypost/internal/policy"
	"pennypost/internal/room/mailroom"
)

// noRoom says that there is no room of that name, to whoever a call came from.
func (o *roomSet) noRoom(ctx context.Context, name mail.RoomName) error {
	var words []string
	names, err := o.entered(gate.PassOf(ctx))
	for _, n := range names {
		words = append(words, string(n))
	}
	if near := policy.Nearest(string(name), words, 1); err == nil && len(near) > 0 {
		return mail.Errorf(mail.NotFound, "there is no room %q. Did you mean %s?", name, near[0])
	}
	return mail.Errorf(mail.NotFound, "there is no room %q. The rooms are listed by: pennypost rooms", name)
}

func (o *roomSet) dir(name mail.RoomName) string {
	return filepath.Join(o.cfg.Home.Rooms(), string(name))
}

func (o *roomSet) journal(name mail.RoomName) string {
	return filepath.Join(o.dir(name), "mailbox.jsonl")
}

// exists reports whether a room has been made. Only of one that is not open the disk is asked.
func (o *roomSet) exists(name mail.RoomName) bool {
	if _, err := mail.ParseRoom(string(name)); err != nil {
		return false
	}
	o.mu.Lock()
	e := o.rooms[name]
	unused, open := e != nil && e.unused(), e != nil && e.isOpen()
	o.mu.Unlock()
	if unused || open {
		return open && !unused
	}
	if o.cluster.has(name) {
		return true
	}
	info, err := os.Stat(o.dir(name))
	return err == nil && info.IsDir()
}

// names lists the rooms on disk and on the NATS servers, in order.
func (o *roomSet) names() ([]mail.RoomName, error) {
	dirs, err := os.ReadDir(o.cfg.Home.Rooms())
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	names := o.cluster.names()
	for _, d := range dirs {
		if name, bad := mail.ParseRoom(d.Name()); bad == nil && d.IsDir() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), err
}

// entered lists the rooms on disk that a machine with this pass enters.
func (o *roomSet) entered(pass *mail.Pass) ([]mail.RoomName, error) {
	names, err := o.names()
	return slices.DeleteFunc(names, func(n mail.RoomName) bool { return !pass.Enters(n) }), err
}

// countAtOnce is how many rooms that were never open a list opens to count what is in them.
const countAtOnce = 32

// statuses lists the rooms that the caller of ctx enters. Of a room that is closed it repeats what the room last said; rooms that were not open
// since the post office started are opened for it, but not more than countAtOnce: of others only name and size are
// known.
func (o *roomSet) statuses(ctx context.Context) ([]mail.RoomStatus, error) {
	names, err := o.entered(gate.PassOf(ctx))
	if err != nil {
		return nil, err
	}
	out := make([]mail.RoomStatus, 0, len(names))
	toOpen := countAtOnce
	for _, name := range names {
		open, st, known := o.lastKnown(name)
		if !open && !known {
			toOpen--
		}
		if open || !known && toOpen >= 0 {
			if e, err := o.borrow(ctx, name); err == nil {
				st = e.room.Status()
				o.giveBack(e, name)
			} else {
				st.Trouble = err.Error()
			}
		}
		out = append(out, st)
	}
	return out, ctx.Err()
}

// lastKnown says whether a room is open and what it said when it was closed, if that is known.
func (o *roomSet) lastKnown(name mail.RoomName) (open bool, st mail.RoomStatus, known bool) {
	o.mu.Lock()
	e := o.rooms[name]
	open = e != nil && e.gone == nil
	st, known = o.known[name]
	o.mu.Unlock()
	if !known {
		st = mail.RoomStatus{Name: name}
		if info, err := os.Stat(o.journal(name)); err == nil {
			st.Bytes = info.Size()
		}
	}
	return open, st, known
}

// peek returns the figures of a room without opening it.
func (o *roomSet) peek(name mail.RoomName) mail.RoomStatus {
	o.mu.Lock()
	e := o.rooms[name]
	if e == nil || !e.isOpen() {
		defer o.mu.Unlock()
		return o.known[name]
	}
	e.users++
	o.mu.Unlock()
	defer o.giveBack(e, name)
	return e.room.Status()
}

// sessionIn returns the agent of a session that one of programs runs, as far as doors were told, or rooms that are open
// know; "" if none does. Those of one room are left out; "": of none.
func (o *roomSet) sessionIn(programs []string, not mail.RoomName) mail.Name {
	if len(programs) == 0 {
		return ""
	}
	if name := o.Sessions.In(programs, not); name != "" {
		return name
	}
	var open []*mailroom.Room
	o.each(func(e *entry) {
		if e.room.Name() != not {
			open = append(open, e.room)
		}
	})
	for _, room := range open {
		if name := room.SessionIn(programs); name != "" {
			return name
		}
	}
	return ""
}

// idle reports whether a room that is open can be closed: nobody uses it, it has no bridges, and nobody is to be woken
// there. The caller holds office.mu.
func (e *entry) idle() bool {
	return e.isOpen() && e.users == 0 && e.bridges.Len() == 0 && e.ringer.Quiet()
}

// roomPatience is how long somebody waits for one of as many rooms as may be open to become idle. A room that was just
// opened is not before it is known whether anybody is to be woken there, which takes half a second.
const (
	roomPatience = 2 * time.Second
	roomPause    = 20 * time.Millisecond
)

// makeRoom closes the room that has been idle for longest, or waits for a moment, until then at most, if none is. The
// caller holds mu, which is free meanwhile, and looks again.
func (o *roomSet) makeRoom(ctx context.Context, until time.Time) error {
	var oldest *entry
	var name mail.RoomName
	unused := false // one will be idle in a moment, or closed
	for n, e := range o.rooms {
		if e.idle() && (oldest == nil || e.since.Before(oldest.since)) {
			oldest, name = e, n
		}
		unused = unused || e.users == 0
	}
	if oldest == nil && (!unused || time.Now().After(until)) {
		return mail.Errorf(mail.Limited, "%d rooms are open and in use, which is all that a post office keeps open: "+
			"nothing was done. Try again when one is not", o.most)
	}
	if oldest != nil {
		oldest.gone = make(chan struct{})
	}
	o.mu.Unlock()
	defer o.mu.Lock()
	if oldest != nil {
		_ = o.closeRoom(oldest, name) // it has logged what went wrong
		return nil
	}
	select {
	case <-time.After(roomPause):
		return nil
	case <-ctx.Done():
		return &mail.Error{Code: mail.Timeout, Msg: "the request ended before another room was closed", Err: ctx.Err()}
	}
}
