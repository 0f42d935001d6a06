package daemon

import (
	"context"
	"fmt"
	"io"

	"pennypost/internal/mail"
	"pennypost/internal/office/backup"
)

// backup writes the whole home to a stream. Each room is copied as of its turn, while its mail continues. It returns
// the rooms whose files were copied as they were, because the room could not be opened.
func (d *daemon) backup(ctx context.Context, to io.Writer) (raw []mail.RoomName, err error) {
	if f := d.office.Far; f != nil {
		return nil, mail.Errorf(mail.Unavailable,
			"the mail is in the post office at %s; back it up there", f.Remote.URL)
	}
	w := backup.NewWriter(to, d.opts.Version)
	if err := w.Settings(d.opts.Config.Home); err != nil {
		return nil, err
	}
	names, err := d.office.Set.Names()
	if err != nil {
		return nil, fmt.Errorf("list the rooms: %w", err)
	}
	for _, name := range names {
		if err := d.office.Set.Backup(ctx, name, w); err != nil {
			return nil, err
		}
	}
	for _, room := range w.Raw() {
		raw = append(raw, room.Name)
		d.log.Warn("room backed up as raw files: not all of it is readable", "room", room.Name, "why", room.Raw)
	}
	return raw, w.Close()
}
