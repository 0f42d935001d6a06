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
func (o *office) bridgesDir(name mail.RoomName) string { return filepath.Join(o.dir(name), "bridges") }

// startBridges starts the bridges of a room that was just opened.
func (o *office) startBridges(e *entry, name mail.RoomName, log *slog.Logger) error {
	retention, _ := o.cfg.For(name).Policy()
	e.bridges = bridge.NewSet(Dialects(), o.bridgesDir(name), bridge.Options{
		Room: e.room, Log: log, Getenv: os.Getenv, RetainAge: retention.Age, RetainCount: retention.Count,
	})
	return e.reconcile(context.Background())
}

// reconcile has those bridges run that the room knows.
func (e *entry) reconcile(ctx context.Context) error {
	return e.bridges.Reconcile(func() ([]mail.BridgeStatus, error) { return e.room.As(mail.User).Bridges(ctx) })
}

// Bounds of the rooms without bridges and configured doors that a start opens.
const (
	recentRooms = 32
	recentTime  = 24 * time.Hour
)

// resume opens the rooms that have bridges, or doors: somebody has to notice what others write there, and who was to
// be woken when the post office was last killed. In rooms where something happened lately there may be sessions, whose
// doors are not known yet.
func (o *office) resume(ctx context.Context) {
	names, err := o.names()
	if err != nil {
		o.log.Error("rooms not listed", "err", err)
	}
	var due, others []mail.RoomName
	for _, name := range names {
		if _, err := os.Stat(o.bridgesDir(name)); err == nil || o.wakes(name) {
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
func (o *office) recent(names []mail.RoomName) []mail.RoomName {
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

// bridges returns how many bridges run.
func (o *office) bridges() (n int) {
	o.each(func(e *entry) { n += e.bridges.Len() })
	return n
}

// troubles returns how many bridges run, and what is wrong with those that fail, and with rooms that cannot be
// written.
func (o *office) troubles() (n int, failing []string) {
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
	slices.Sort(failing)
	return n, failing
}

// bridgeFigures are what the metrics tell of all bridges.
type bridgeFigures struct{ running, failing, behind, rejected int }

func (o *office) bridgeFigures() (f bridgeFigures) {
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

// Bridges implements mail.Connector.
func (v *callerRoom) Bridges(ctx context.Context) ([]mail.BridgeStatus, error) {
	e, _, err := v.enter(ctx, true)
	if err != nil {
		return nil, err
	}
	defer v.leave(e)
	return e.bridges.Statuses(), nil
}

// AddBridge implements mail.Connector.
func (v *callerRoom) AddBridge(ctx context.Context, b mail.Bridge) (mail.BridgeStatus, error) {
	if v.caller == mail.User {
		if err := bridge.Check(Dialects(), &b); err != nil {
			return mail.BridgeStatus{}, err
		}
	}
	return v.bridging(ctx, func(s mail.Service) (string, error) {
		st, err := s.AddBridge(ctx, b)
		return st.ID, err
	})
}

// RemoveBridge implements mail.Connector.
func (v *callerRoom) RemoveBridge(ctx context.Context, id string) error {
	_, err := v.bridging(ctx, func(s mail.Service) (string, error) { return "", s.RemoveBridge(ctx, id) })
	return err
}

// SyncBridge implements mail.Connector.
func (v *callerRoom) SyncBridge(ctx context.Context, id string) (mail.BridgeStatus, error) {
	return v.bridging(ctx, func(s mail.Service) (string, error) {
		_, err := s.SyncBridge(ctx, id) // which refuses who may not, and what is not there
		return id, err
	})
}

// bridging changes the list of bridges, if call does, and brings the one that call names in step.
func (v *callerRoom) bridging(ctx context.Context, call func(mail.Service) (string, error)) (mail.BridgeStatus,
	error) {
	e, s, err := v.enter(ctx, true)
	if err != nil {
		return mail.BridgeStatus{}, err
	}
	defer v.leave(e)
	id, err := call(s)
	if err == nil {
		err = e.reconcile(ctx)
	}
	if err != nil || id == "" {
		return mail.BridgeStatus{}, err
	}
	return e.bridges.Sync(ctx, id)
}
