package rooms

import (
	"context"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/office/bridge"
)

// bridgesDir is the directory of the state of a room's bridges. Its presence tells a start to open the room.
func (o *Set) bridgesDir(name mail.RoomName) string { return filepath.Join(o.Dir(name), "bridges") }

// startBridges starts the bridges of a room that was just opened.
func (o *Set) startBridges(e *Entry, name mail.RoomName, log *slog.Logger) error {
	retention, _ := o.Config.For(name).Policy()
	e.Bridges = bridge.NewSet(o.Dialects, o.bridgesDir(name), bridge.Options{
		Room: e.Room, Log: log, Getenv: os.Getenv, RetainAge: retention.Age, RetainCount: retention.Count,
	})
	ctx := context.Background()
	if err := e.Reconcile(ctx); err != nil {
		return err
	}
	e.Bridges.AwaitLooks(ctx)
	return nil
}

// Reconcile runs the bridges that the room knows and whose directories are on this machine, and no others.
func (e *Entry) Reconcile(ctx context.Context) error {
	return e.Bridges.Reconcile(func() ([]mail.BridgeStatus, error) {
		all, err := e.Room.As(mail.User).Bridges(ctx)
		return slices.DeleteFunc(all, func(b mail.BridgeStatus) bool { return e.Elsewhere(&b.Bridge) }), err
	})
}

// Elsewhere reports whether another machine runs a bridge.
func (e *Entry) Elsewhere(b *mail.Bridge) bool { return b.Machine != "" && b.Machine != e.machine }

// followBridges starts and stops bridges as other machines add and remove them, until ctx ends.
func (e *Entry) followBridges(ctx context.Context, log *slog.Logger) {
	w, err := e.Room.As(mail.System).Watch(ctx, e.Room.Shown())
	if err != nil {
		return // the room is closed
	}
	defer w.Close()
	if err := e.Reconcile(ctx); err != nil { // for changes before the watch began
		log.Error("bridges", "err", err)
	}
	for {
		events, err := w.Next(ctx)
		if err != nil {
			return
		}
		if slices.ContainsFunc(events, func(e mail.Event) bool { return e.Bridge != nil }) {
			if err := e.Reconcile(ctx); err != nil && ctx.Err() == nil {
				log.Error("bridges", "err", err)
			}
		}
	}
}

// Bounds of the rooms that a start opens although they have no bridges or configured doors.
const (
	recentRooms = 32
	recentTime  = 24 * time.Hour
)

// Resume opens the rooms that have bridges, doors, or mail that must be sent later or announced to the person: the
// post office must notice what others write there, and whom to wake since it was last killed. Rooms with recent
// activity may have sessions whose doors are not known yet.
func (o *Set) Resume(ctx context.Context) {
	names, err := o.Names()
	if err != nil {
		o.Log.Error("rooms not listed", "err", err)
	}
	var due, others []mail.RoomName
	told := o.Notify.Rooms()
	for _, name := range names {
		if _, err := os.Stat(o.bridgesDir(name)); err == nil || o.wakes(name) || o.hasLater(name) ||
			slices.Contains(told, name) {
			due = append(due, name)
		} else {
			others = append(others, name)
		}
	}
	for _, name := range append(due, o.recent(others)...) {
		_ = o.Touch(ctx, name)
	}
}

// recent returns the rooms that were written to recently, the latest first, up to a limit.
func (o *Set) recent(names []mail.RoomName) []mail.RoomName {
	written := make(map[mail.RoomName]time.Time)
	for _, name := range names {
		if info, err := os.Stat(o.journal(name)); err == nil && time.Since(info.ModTime()) < recentTime {
			written[name] = info.ModTime()
		}
	}
	latest := slices.SortedFunc(maps.Keys(written), func(a, b mail.RoomName) int {
		return written[b].Compare(written[a])
	})
	return latest[:min(len(latest), recentRooms)]
}

// Troubles returns how many bridges run, and describes those that fail and the rooms that cannot be written.
func (o *Set) Troubles() (n int, failing []string) {
	o.Each(func(e *Entry) {
		for _, b := range e.Bridges.Statuses() {
			if n++; b.Failing != "" {
				failing = append(failing, string(e.Room.Name())+"/"+b.ID+": "+b.Failing)
			}
		}
		if c := e.files.Condition(); c.Broken != nil {
			failing = append(failing, string(e.Room.Name())+": "+c.Broken.Error())
		}
		failing = append(failing, e.notStanding()...)
	})
	failing = append(failing, o.Notify.Troubles()...)
	slices.Sort(failing)
	return n, failing
}

// bridgeFigures are the metrics of all bridges.
type bridgeFigures struct{ Running, failing, behind, rejected int }

// Figures sums up the bridges of the open rooms.
func (o *Set) Figures() (f bridgeFigures) {
	o.Each(func(e *Entry) {
		for _, b := range e.Bridges.Statuses() {
			f.Running++
			f.behind += b.Behind
			f.rejected += b.Rejected
			if b.Failing != "" {
				f.failing++
			}
		}
	})
	return f
}
