package daemon

import (
	"context"

	"pennypost/internal/mail"
	"pennypost/internal/office/notify"
	"pennypost/internal/room/mailroom"
)

// newNotifier returns what tells the person of mail in all rooms.
func (o *roomSet) newNotifier() *notify.Notifier {
	return notify.New(notify.Options{
		Config: o.cfg.Notify, Home: string(o.cfg.Home), File: o.cfg.Home.Told(), Log: o.log,
		Use: func(ctx context.Context, room mail.RoomName, use func(notify.Room) error) error {
			return o.elsewhere(ctx, room, func(r *mailroom.Room) error { return use(r) })
		},
		Pages: func() string { return o.phone },
		Login: func(room mail.RoomName, id mail.ID) (string, error) {
			if o.letterLink == nil {
				return "", mail.Errorf(mail.Unavailable,
					"there are no pages, since the post office listens on no TCP address")
			}
			return o.letterLink(room, id)
		},
	})
}
