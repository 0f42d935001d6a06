package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"

	"pennypost/internal/mail"
	"pennypost/internal/office/backup"
	"pennypost/internal/room/journal/jsonl"
)

// backup writes the whole home to a stream. Each room is copied as it was when its turn came, while its mail goes on.
// It returns the rooms whose files were copied as they stood, because the room could not be opened.
func (d *daemon) backup(ctx context.Context, to io.Writer) (raw []mail.RoomName, err error) {
	if f := d.office.far; f != nil {
		return nil, mail.Errorf(mail.Unavailable,
			"the mail is where the post office runs, which is at %s; back it up "+
				"there", f.remote.URL)
	}
	w := backup.NewWriter(to, d.opts.Version)
	if err := w.Settings(d.opts.Config.Home); err != nil {
		return nil, err
	}
	names, err := d.office.names()
	if err != nil {
		return nil, fmt.Errorf("list the rooms: %w", err)
	}
	for _, name := range names {
		if err := d.office.backup(ctx, name, w); err != nil {
			return nil, err
		}
	}
	for _, room := range w.Raw() {
		raw = append(raw, room.Name)
		d.log.Warn("room backed up as it stands, since not all of it can be read", "room", room.Name, "why", room.Raw)
	}
	return raw, w.Close()
}

// backup adds a room. One that was removed meanwhile is left out. Of one that cannot be opened the files are taken as
// they stand: whatever is wrong with it, that must not cost the backup of the others.
func (o *office) backup(ctx context.Context, name mail.RoomName, to *backup.Writer) error {
	if !o.exists(name) {
		return nil
	}
	kept, bad := backup.OpenKept(o.dir(name))
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
		case !o.exists(name):
			return nil
		}
		var unread error
		files, unread = jsonl.RawSnapshot(o.dir(name))
		err = errors.Join(err, unread)
	}
	defer files.Close()
	return to.Room(name, files, kept, errors.Join(err, bad))
}

// snapshot keeps the room open only until its files are open: a slow reader keeps it from nothing. A room that was
// closed is closed again at once, or the backup of many rooms would soon have as many open as there may be.
func (o *office) snapshot(ctx context.Context, name mail.RoomName) (*jsonl.Snapshot, error) {
	open, _, _ := o.lastKnown(name)
	e, err := o.borrow(ctx, name)
	if err != nil {
		return nil, err
	}
	files, err := e.files.Snapshot(ctx)
	o.giveBack(e, name)
	if !open { // nor was anybody to be woken there
		_ = o.sweep(func(x *entry) bool { return x == e && x.users == 0 && x.bridges.Len() == 0 }) // which logs
	}
	return files, err
}
