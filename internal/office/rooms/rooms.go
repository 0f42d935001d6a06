package rooms

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"pennypost/internal/base/pause"
	"pennypost/internal/mail"
	"pennypost/internal/office/gate"
	"pennypost/internal/policy"
	"pennypost/internal/room/mailroom"
)

// NoRoom is the error for a caller who named a room that does not exist.
func (o *Set) NoRoom(ctx context.Context, name mail.RoomName) error {
	var words []string
	names, err := o.Entered(gate.PassOf(ctx))
	for _, n := range names {
		words = append(words, string(n))
	}
	if near := policy.Nearest(string(name), words, 1); err == nil && len(near) > 0 {
		return mail.Errorf(mail.NotFound, "no room %q. Did you mean %s?", name, near[0])
	}
	return mail.Errorf(mail.NotFound, "no room %q. To list the rooms: pennypost rooms", name)
}

// Dir returns the directory of a room, which need not exist.
func (o *Set) Dir(name mail.RoomName) string {
	return filepath.Join(o.Config.Home.Rooms(), string(name))
}

func (o *Set) journal(name mail.RoomName) string {
	return filepath.Join(o.Dir(name), "mailbox.jsonl")
}

// Exists reports whether a room has been made. It reads the disk only if the room is not open.
func (o *Set) Exists(name mail.RoomName) bool {
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
	if o.Cluster.has(name) {
		return true
	}
	info, err := os.Stat(o.Dir(name))
	return err == nil && info.IsDir()
}

// Names lists the rooms on disk and on the NATS servers, sorted.
func (o *Set) Names() ([]mail.RoomName, error) {
	dirs, err := os.ReadDir(o.Config.Home.Rooms())
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	names := o.Cluster.names()
	for _, d := range dirs {
		if name, bad := mail.ParseRoom(d.Name()); bad == nil && d.IsDir() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), err
}

// Entered lists the rooms on disk that a machine with this pass may enter.
func (o *Set) Entered(pass *mail.Pass) ([]mail.RoomName, error) {
	names, err := o.Names()
	return slices.DeleteFunc(names, func(n mail.RoomName) bool { return !pass.Enters(n) }), err
}

// countAtOnce is how many rooms that were never open a list opens to count their contents.
const countAtOnce = 32

// Statuses lists the rooms that the caller of ctx may enter. For a closed room it repeats the room's last status.
// Rooms that were not open since the post office started are opened, but at most countAtOnce of them: for others
// only the name and size are known.
func (o *Set) Statuses(ctx context.Context) ([]mail.RoomStatus, error) {
	names, err := o.Entered(gate.PassOf(ctx))
	if err != nil {
		return nil, err
	}
	out := make([]mail.RoomStatus, 0, len(names))
	toOpen := countAtOnce
	for _, name := range names {
		open, st, known := o.LastKnown(name)
		if !open && !known {
			toOpen--
		}
		if open || !known && toOpen >= 0 {
			if e, err := o.Borrow(ctx, name); err == nil {
				st = e.Room.Status()
				o.GiveBack(e, name)
			} else {
				st.Trouble = err.Error()
			}
		}
		out = append(out, st)
	}
	return out, ctx.Err()
}

// LastKnown reports whether a room is open, and its status when it was closed, if that is known.
func (o *Set) LastKnown(name mail.RoomName) (open bool, st mail.RoomStatus, known bool) {
	o.recall(name)
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

// Peek returns the figures of a room without opening it.
func (o *Set) Peek(name mail.RoomName) mail.RoomStatus {
	o.mu.Lock()
	e := o.rooms[name]
	if e == nil || !e.isOpen() {
		o.mu.Unlock()
		o.recall(name)
		o.mu.Lock()
		defer o.mu.Unlock()
		return o.known[name]
	}
	e.users++
	o.mu.Unlock()
	defer o.GiveBack(e, name)
	return e.Room.Status()
}

// SessionIn returns the agent whose session one of programs runs, as far as doors or open rooms know; "" if none
// does. It skips the room not; "" skips none.
func (o *Set) SessionIn(programs []string, not mail.RoomName) mail.Name {
	if len(programs) == 0 {
		return ""
	}
	if name := o.Reach.Sessions.In(programs, not); name != "" {
		return name
	}
	var open []*mailroom.Room
	o.Each(func(e *Entry) {
		if e.Room.Name() != not {
			open = append(open, e.Room)
		}
	})
	for _, room := range open {
		if name := room.SessionIn(programs); name != "" {
			return name
		}
	}
	return ""
}

// idle reports whether an open room can be closed: it is not in use, has no bridges, and has no agent to wake and no
// mail to send later. The caller holds Set.mu.
func (e *Entry) idle() bool {
	return e.isOpen() && e.users == 0 && e.Bridges.Len() == 0 && e.Ringer.Quiet() && !e.Room.Waits()
}

// roomPatience is how long a caller waits for a room to become idle when as many are open as may be. A room that was
// just opened is not idle before it is known whether it has an agent to wake, which takes half a second.
const (
	roomPatience = 2 * time.Second
	roomPause    = 20 * time.Millisecond
)

// makeRoom closes the room that has been idle for longest. If none is idle, it waits for a moment, at most until
// until. The caller holds mu, which is free meanwhile, and must look again.
func (o *Set) makeRoom(ctx context.Context, until time.Time) error {
	var oldest *Entry
	var name mail.RoomName
	unused := false // one will soon be idle, or closed
	for n, e := range o.rooms {
		if e.idle() && (oldest == nil || e.since.Before(oldest.since)) {
			oldest, name = e, n
		}
		unused = unused || e.users == 0
	}
	if oldest == nil && (!unused || time.Now().After(until)) {
		return mail.Errorf(mail.Limited, "too many rooms in use (%d). Nothing was done. Try again later", o.Most)
	}
	if oldest != nil {
		oldest.gone = make(chan struct{})
	}
	o.mu.Unlock()
	defer o.mu.Lock()
	if oldest != nil {
		_ = o.closeRoom(oldest, name) // it logs errors
		return nil
	}
	if !pause.For(ctx, roomPause) {
		return &mail.Error{Code: mail.Timeout, Msg: "the request ended before another room was closed", Err: ctx.Err()}
	}
	return nil
}
