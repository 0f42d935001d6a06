package rooms

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

// removedForm is the format of the time of a removal after the room's name: it sorts, and is a file name on every
// system.
const removedForm = "20060102T150405.000Z"

// Remove takes a room out of the post office. Calls that still run there, watches among them, end with an error;
// then all files of the room are moved, unchanged, to the directory that the answer names. Its tokens become
// invalid, because they name the room.
func (o *Set) Remove(ctx context.Context, name mail.RoomName) (wire.RemovedRoom, error) {
	if !o.Exists(name) {
		return wire.RemovedRoom{}, o.NoRoom(ctx, name)
	}
	o.moving.Lock() // the servers announce the removal, and this machine then looks for its files of the room
	defer o.moving.Unlock()
	if k, err := o.KindOf(name); err == nil && k.Kind == config.KindJetStream && k.Moved == "" && o.Cluster != nil {
		if err := o.Cluster.Trouble(); err != nil {
			return wire.RemovedRoom{}, err
		}
		if err := o.Touch(ctx, name); err != nil { // so that the kept files have all of it
			return wire.RemovedRoom{}, err
		}
		err := o.Cluster.Forget(ctx, string(name), jetstream.Gone{By: o.Cluster.name, At: mail.TimeOf(time.Now())})
		if err != nil {
			return wire.RemovedRoom{}, err
		}
		o.Cluster.changed.Give()
	}
	e, err := o.claim(ctx, name)
	if err != nil {
		return wire.RemovedRoom{}, err
	}
	defer o.forget(e, name)
	return o.moveAway(e, name)
}

// moveAway closes a room that is claimed, and moves its files to the directory of removed rooms.
func (o *Set) moveAway(e *Entry, name mail.RoomName) (wire.RemovedRoom, error) {
	o.livesOf(name).End(ErrRemoved(name))
	if e.Room != nil {
		if _, err := o.shut(e, name); err != nil {
			o.setRemoved(e, false)
			return wire.RemovedRoom{}, fmt.Errorf("close room %s to remove it: %w", name, err)
		}
	}
	to := filepath.Join(o.Config.Home.Removed(), string(name)+"-"+time.Now().UTC().Format(removedForm))
	if err := moveDir(o.Dir(name), to); err != nil {
		o.setRemoved(e, false)
		return wire.RemovedRoom{}, &mail.Error{
			Code: mail.Unavailable, Msg: "room " + string(name) + " could not be moved away and was not removed: " +
				"" + err.Error(),
			Err: err,
		}
	}
	o.Bell.ring("")
	o.Log.Info("room removed", "room", name, "files", to)
	return wire.RemovedRoom{Room: name, Files: to}, nil
}

// claim marks the entry of a room as going, so that no one else opens the room until forget. The entry's room is nil
// if the room was not open.
func (o *Set) claim(ctx context.Context, name mail.RoomName) (*Entry, error) {
	for {
		o.mu.Lock()
		e := o.rooms[name]
		if e == nil {
			e = &Entry{ready: make(chan struct{})}
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
				e.gone, e.removed = make(chan struct{}), true // unless that fails
				delete(o.known, name)
				delete(o.kept, name)
				o.mu.Unlock()
				return e, nil
			}
		default:
		}
		closed := o.closed
		o.mu.Unlock()
		if closed {
			return nil, ErrStopping()
		}
		select {
		case <-pending:
		case <-ctx.Done():
			return nil, notInTime(ctx, name)
		}
	}
}

func (o *Set) setRemoved(e *Entry, removed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	e.removed = removed
}

// IsGoing reports whether a room is being closed.
func (o *Set) IsGoing(e *Entry) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return e.gone != nil
}

// IsRemoved reports whether the room of an entry was removed while the entry was in use.
func (o *Set) IsRemoved(e *Entry) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return e.removed
}

// moveDir renames a directory durably.
func moveDir(from, to string) error {
	if err := durable.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return errors.Join(durable.SyncDir(filepath.Dir(to)), durable.SyncDir(filepath.Dir(from)))
}

// CheckRemoved refuses to make a removed room again, except for a change by the user: agents that still run there
// would revive it with their next heartbeat, and a watch would continue in another room of the same name.
func (o *Set) CheckRemoved(name mail.RoomName, caller mail.Name, changes bool) error {
	if o.InUse(name) || changes && caller == mail.User || o.Exists(name) {
		return nil
	}
	dirs, _ := os.ReadDir(o.Config.Home.Removed()) // without the directory no room was removed
	for _, d := range dirs {
		at, ok := strings.CutPrefix(d.Name(), string(name)+"-")
		if _, err := time.Parse(removedForm, at); ok && err == nil {
			return ErrRemoved(name)
		}
	}
	return nil
}

// ErrRemoved says that the user has removed a room.
func ErrRemoved(name mail.RoomName) error {
	return mail.Errorf(mail.NotFound, "room %s was removed by the user, who can create it again by sending mail to it",
		name)
}

// unused reports whether opening made the room and it is still empty: the caller was refused, or only looked. A room
// begins with its first event.
func (e *Entry) unused() bool {
	select {
	case <-e.ready:
		return e.made && e.err == nil && e.files.Last() == 0
	default:
		return false
	}
}

// dropUnused removes the files of a room that is unused, unless another process wrote into its journal.
func (o *Set) dropUnused(name mail.RoomName) {
	if info, err := os.Stat(o.journal(name)); err == nil && info.Size() > 0 {
		return
	}
	if err := os.RemoveAll(o.Dir(name)); err != nil {
		o.Log.Warn("unused room not removed", "room", name, "err", err)
	}
}
