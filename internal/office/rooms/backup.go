package rooms

import (
	"context"
	"errors"

	"pennypost/internal/mail"
	"pennypost/internal/office/backup"
	"pennypost/internal/room/journal/jsonl"
)

// Backup adds a room. A room that was removed meanwhile is left out. If a room cannot be opened, its files are
// copied as they are: its fault must not cost the backup of the others.
func (o *Set) Backup(ctx context.Context, name mail.RoomName, to *backup.Writer) error {
	if !o.Exists(name) {
		return nil
	}
	kept, bad := backup.OpenKept(o.Dir(name))
	defer func() {
		for _, f := range kept {
			f.Close()
		}
	}()
	files, err := o.snapshot(ctx, name)
	if err != nil {
		o.mu.Lock()
		stopping := o.closed
		o.mu.Unlock()
		switch {
		case stopping || ctx.Err() != nil:
			return err
		case !o.Exists(name):
			return nil
		}
		var unread error
		files, unread = jsonl.RawSnapshot(o.Dir(name))
		err = errors.Join(err, unread)
	}
	defer files.Close()
	return to.Room(name, files, kept, errors.Join(err, bad))
}

// snapshot keeps the room open only until its files are open, so a slow reader does not hold the room. It closes a
// room that was closed before; otherwise a backup of many rooms would soon reach the limit of open rooms.
func (o *Set) snapshot(ctx context.Context, name mail.RoomName) (*jsonl.Snapshot, error) {
	open, _, _ := o.LastKnown(name)
	e, err := o.Borrow(ctx, name)
	if err != nil {
		return nil, err
	}
	files, err := e.files.Snapshot(ctx)
	o.GiveBack(e, name)
	if !open { // and no agent had to be woken there
		_ = o.Sweep(func(x *Entry) bool { return x == e && x.users == 0 && x.Bridges.Len() == 0 }) // Sweep logs errors
	}
	return files, err
}
