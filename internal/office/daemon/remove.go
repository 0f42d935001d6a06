package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"pennypost/internal/base/durable"
	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/room/journal/jetstream"
	"pennypost/internal/wire"
)

// removedForm is how the time of a removal is spelled behind the room's name: it sorts, and is a file name on every
// system.
const removedForm = "20060102T150405.000Z"

// remove takes a room out of the post office. Calls that still run there, watches among them, end with an error; then
// all files of the room are moved, as they are, to where the answer says. Its tokens open nothing any more, because
// they name the room.
func (o *roomSet) remove(ctx context.Context, name mail.RoomName) (wire.RemovedRoom, error) {
	if !o.exists(name) {
		return wire.RemovedRoom{}, o.noRoom(ctx, name)
	}
	if k, err := o.kindOf(name); err == nil && k.Kind == config.KindJetStream && k.Moved == "" && o.cluster != nil {
		if err := o.cluster.Trouble(); err != nil {
			return wire.RemovedRoom{}, err
		}
		e, err := o.borrow(ctx, name) // so that all of it is among the files that are kept
		if err != nil {
			return wire.RemovedRoom{}, err
		}
		o.giveBack(e, name)
		err = o.cluster.Forget(ctx, string(name), jetstream.Gone{By: o.cluster.name, At: mail.TimeOf(time.Now())})
		if err != nil {
			return wire.RemovedRoom{}, err
		}
		o.cluster.look()
	}
	return o.moveAway(ctx, name)
}

// moveAway closes a room and moves its files to where removed rooms are.
func (o *roomSet) moveAway(ctx context.Context, name mail.RoomName) (wire.RemovedRoom, error) {
	e, err := o.claim(ctx, name)
	if err != nil {
		return wire.RemovedRoom{}, err
	}
	defer o.forget(e, name)
	o.livesOf(name).End(errRemoved(name))
	if e.room != nil {
		if _, err := o.shut(e, name); err != nil {
			o.setRemoved(e, false)
			return wire.RemovedRoom{}, fmt.Errorf("close room %s to remove it: %w", name, err)
		}
	}
	to := filepath.Join(o.cfg.Home.Removed(), string(name)+"-"+time.Now().UTC().Format(removedForm))
	if err := moveDir(o.dir(name), to); err != nil {
		o.setRemoved(e, false)
		return wire.RemovedRoom{}, &mail.Error{
			Code: mail.Unavailable, Msg: "room " + string(name) + " cannot be moved away, so it stays: " + err.Error(),
			Err: err,
		}
	}
	o.bell.ring("")
	o.log.Info("room removed", "room", name, "files", to)
	return wire.RemovedRoom{Room: name, Files: to}, nil
}

// claim marks the entry of a room as going, so that nobody else opens the room until forget. The entry's room is nil
// if the room was not open.
func (o *roomSet) claim(ctx context.Context, name mail.RoomName) (*entry, error) {
	for {
		o.mu.Lock()
		e := o.rooms[name]
		if e == nil {
			e = &entry{ready: make(chan struct{})}
			close(e.ready)
			o.rooms[name] = e
		}
		pending := e.gone
		if pending == nil {
			pending = e.ready
		}
		select {
		case <-e.ready:
			if e.gone == nil && !o.closed {
				e.gone, e.removed = make(chan struct{}), true // until that fails
				delete(o.known, name)
				o.mu.Unlock()
				return e, nil
			}
		default:
		}
		closed := o.closed
		o.mu.Unlock()
		if closed {
			return nil, errStopping()
		}
		select {
		case <-pending:
		case <-ctx.Done():
			return nil, notInTime(ctx, name)
		}
	}
}

func (o *roomSet) setRemoved(e *entry, removed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	e.removed = removed
}

// isGoing reports whether a room is being closed.
func (o *roomSet) isGoing(e *entry) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return e.gone != nil
}

func (o *roomSet) isRemoved(e *entry) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return e.removed
}

// moveDir renames a directory and makes that durable.
func moveDir(from, to string) error {
	if err := durable.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return errors.Join(durable.SyncDir(filepath.Dir(to)), durable.SyncDir(filepath.Dir(from)))
}

// checkRemoved refuses to make a room again that was removed, but at the user's word: agents that still run there
// would raise it with their next heartbeat, and a watch would go on in another room of the same name.
func (o *roomSet) checkRemoved(name mail.RoomName, caller mail.Name, changes bool) error {
	if o.inUse(name) || changes && caller == mail.User || o.exists(name) {
		return nil
	}
	dirs, _ := os.ReadDir(o.cfg.Home.Removed()) // without the directory nothing was removed
	for _, d := range dirs {
		at, ok := strings.CutPrefix(d.Name(), string(name)+"-")
		if _, err := time.Parse(removedForm, at); ok && err == nil {
			return errRemoved(name)
		}
	}
	return nil
}

func errRemoved(name mail.RoomName) error {
	return mail.Errorf(mail.NotFound, "room %s was removed by the user, who can make it anew by sending mail there",
		name)
}

// unused reports whether the room was made to open it and nothing has happened there: who asked was refused, or only
// looked. A room begins with its first event.
func (e *entry) unused() bool {
	select {
	case <-e.ready:
		return e.made && e.err == nil && e.files.Last() == 0
	default:
		return false
	}
}

// dropUnused removes the files of a room that is unused, unless a stranger wrote into its journal.
func (o *roomSet) dropUnused(name mail.RoomName) {
	if info, err := os.Stat(o.journal(name)); err == nil && info.Size() > 0 {
		return
	}
	if err := os.RemoveAll(o.dir(name)); err != nil {
		o.log.Warn("an unused room was not removed", "room", name, "err", err)
	}
}
