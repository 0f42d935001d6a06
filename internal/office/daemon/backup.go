package daemon

import (
	"context"
	"fmt"
	"io"

	"pennypost/internal/mail"
	"pennypost/internal/office/backup"
	"pennypost/internal/room/journal/jsonl"
)

// backup writes the whole home to a stream. Each room is copied as it was when its turn came, while its mail goes on.
func (d *daemon) backup(ctx context.Context, to io.Writer) error {
	w := backup.NewWriter(to, d.opts.Version)
	if err := w.Settings(d.opts.Config.Home); err != nil {
		return err
	}
	names, err := d.office.names()
	if err != nil {
		return fmt.Errorf("list the rooms: %w", err)
	}
	for _, name := range names {
		if err := d.office.backup(ctx, name, w); err != nil {
			return err
		}
	}
	return w.Close()
}

// backup adds a room. One that was removed meanwhile is left out.
func (o *office) backup(ctx context.Context, name mail.RoomName, to *backup.Writer) error {
	if !o.exists(name) {
		return nil
	}
	files, err := o.snapshot(ctx, name)
	if err != nil {
		return err
	}
	defer files.Close()
	return to.Room(name, files)
}

// snapshot keeps the room open only until its files are open: a slow reader keeps it from nothing.
func (o *office) snapshot(ctx context.Context, name mail.RoomName) (*jsonl.Snapshot, error) {
	e, err := o.borrow(ctx, name)
	if err != nil {
		return nil, err
	}
	defer o.giveBack(e, name)
	return e.files.Snapshot(ctx)
}
