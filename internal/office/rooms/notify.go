package rooms

import (
	"context"

	"pennypost/internal/mail"
	"pennypost/internal/office/notify"
	"pennypost/internal/room/mailroom"
)

// newNotifier returns the notifier that tells the person of mail in all rooms.
func (o *Set) newNotifier() *notify.Notifier {
	return notify.New(notify.Options{
		Config: o.Config.Notify, Home: string(o.Config.Home), File: o.Config.Home.Told(), Log: o.Log,
		Use: func(ctx context.Context, room mail.RoomName, use func(notify.Room) error) error {
			return o.elsewhere(ctx, room, func(r *mailroom.Room) error { return use(r) })
		},
		Pages: func() string { return o.Phone },
		Card: func(id mail.ID) (c mail.Card, held bool) {
			if o.Card != nil {
				c, held = o.Card(id)
			}
			return c, held
		},
		Desk:    func(ctx context.Context, q mail.DeskQuery) (mail.Desk, error) { return o.Desk(ctx, q) },
		Dialogs: func(ctx context.Context) (mail.Cards, error) { return o.AllDialogs(ctx) },
		Login: func(room mail.RoomName, id mail.ID) (string, error) {
			if o.LetterLink == nil {
				return "", mail.Errorf(mail.Unavailable,
					"there are no pages, because the post office listens on no TCP address")
			}
			return o.LetterLink(room, id)
		},
	})
}
