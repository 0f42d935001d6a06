package daemon

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

// bridgesDir is where a room's bridges keep what they need, and by whose presence a start knows rooms that want to be
// open.
func (o *roomSet) bridgesDir(name mail.RoomName) string { return filepath.Join(o.dir(name), "bridges") }

// startBridges starts the bridges of a room that was just opened.
func (o *roomSet) startBridges(e *entry, name mail.RoomName, log *slog.Logger) error {
	retention, _ := o.cfg.For(name).Policy()
	e.bridges = bridge.NewSet(o.dialects, o.bridgesDir(name), bridge.Options{
		Room: e.room, Log: log, Getenv: os.Getenv, RetainAge: retention.Age, RetainCount: retention.Count,
	})
	return e.reconcile(context.Background())
}

// reconcile has those bridges run that the room knows and whose directories are on this machine.
func (e *entry) reconcile(ctx context.Context) error {
	return e.bridges.Reconcile(func() ([]mail.BridgeStatus, error) {
		all, err := e.room.As(mail.User).Bridges(ctx)
		return slices.DeleteFunc(all, func(b mail.BridgeStatus) bool { return e.elsewhere(&b.Bridge) }), err
	})
}

// elsewhere reports whether another machine runs a bridge.
func (e *entry) elsewhere(b *mail.Bridge) bool { return b.Machine != "" && b.Machine != e.machine }

// followBridges has bridges start and stop that are added and removed on other machines, until ctx ends.
func (e *entry) followBridges(ctx context.Context, log *slog.Logger) {
	w, err := e.room.As(mail.System).Watch(ctx, e.room.Shown())
	if err != nil {
		return // the room is closed
	}
	defer w.Close()
	if err := e.reconcile(ctx); err != nil { // what came before it was watched
		log.Error("bridges", "err", err)
	}
	for {
		events, err := w.Next(ctx)
		if err != nil {
			return
		}
		if slices.ContainsFunc(events, func(e mail.Event) bool { return e.Bridge != nil }) {
			if err := e.reconcile(ctx); err != nil && ctx.Err() == nil {
				log.Error("bridges", "err", err)
			}
		}
	}
}

// Bounds of the rooms without bridges and configured doors that a start opens.
const (
	recentRooms = 32
	recentTime  = 24 * time.Hour
)

// resume opens the rooms that have bridges, doors, or mail that the person is to be told of: somebody has to notice
// what others write there, and who was to be woken when the post office was last killed. In rooms where something
// happened lately there may be sessions, whose doors are not known yet.
func (o *roomSet) resume(ctx context.Context) {
	names, err := o.names()
	if err != nil {
		o.log.Error("rooms not listed", "err", err)
	}
	var due, others []mail.RoomName
	told := o.notify.Rooms()
	for _, name := range names {
		if _, err := os.Stat(o.bridgesDir(name)); err == nil || o.wakes(name) || slices.Contains(told, name) {
			due = append(due, name)
		} else {
			others = append(others, name)
		}
	}
	for _, name := range append(due, o.recent(others)...) {
		if e, err := o.borrow(ctx, name); err == nil { // it logs what went wrong
			o.giveBack(e, name)
		}
	}
}

// recent returns the rooms to which something was written lately, the latest first, and not too many.
func (o *roomSet) recent(names []mail.RoomName) []mail.RoomName {
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

// troubles returns how many bridges run, and what is wrong with those that fail, and with rooms that cannot be
// written.
func (o *roomSet) troubles() (n int, failing []string) {
	o.each(func(e *entry) {
		for _, b := range e.bridges.Statuses() {
			if n++; b.Failing != "" {
				failing = append(failing, string(e.room.Name())+"/"+b.ID+": "+b.Failing)
			}
		}
		if c := e.files.Condition(); c.Broken != nil {
			failing = append(failing, string(e.room.Name())+": "+c.Broken.Error())
		}
	})
	failing = append(failing, o.notify.Troubles()...)
	slices.Sort(failing)
	return n, failing
}

// bridgeFigures are what the metrics tell of all bridges.
type bridgeFigures struct{ running, failing, behind, rejected int }

func (o *roomSet) bridgeFigures() (f bridgeFigures) {
	o.each(func(e *entry) {
		for _, b := range e.bridges.Statuses() {
			f.running++
			f.behind += b.Behind
			f.rejected += b.Rejected
			if b.Failing != "" {
				f.failing++
			}
		}
	})
	return f
}
