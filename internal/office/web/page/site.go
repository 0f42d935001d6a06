package page

import (
	"context"
	"log/slog"

	"pennypost/internal/mail"
	"pennypost/internal/office/dialect/openalice"
	"pennypost/internal/office/web/asset"
	"pennypost/internal/office/web/undo"
	"pennypost/internal/wire"
)

// Site is what all pages of a post office share.
type Site struct {
	Office  mail.Office // rooms; they are always entered as the user
	Log     *slog.Logger
	Version string
	// Attach brings the session of an agent before the person. Nil: nobody can from here.
	Attach func(context.Context, mail.RoomName, mail.Name) (wire.Attached, error)
	// Documents reads what messages name. Nil: the files of this machine.
	Documents *openalice.Documents

	// Away is the switch by which the person has agents ask here and not in their terminals. Nil: there is none.
	Away Away

	// Kept lists the mail that this machine keeps until its rooms can be reached. Nil: there is none.
	Kept func(which func(*mail.Kept) bool) mail.Outbox

	Assets    asset.Set
	Templates *templates
	Undo      undo.List
	Stuck     func(*View) int // how many things are stuck in the rooms that a page shows
}

// Away says for whom the person is away from their agents' terminals. It is asked in the person's name.
type Away interface {
	Away(ctx context.Context) (wire.Aways, error)
	SetAway(ctx context.Context, a wire.Away) (wire.Aways, error)
}
