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

// Site is shared by all pages of a post office.
type Site struct {
	Office  mail.Office // rooms, always entered as the user
	Log     *slog.Logger
	Version string
	// Attach brings an agent's session to the front. Nil: not available.
	Attach func(context.Context, mail.RoomName, mail.Name) (wire.Attached, error)
	// Documents reads the documents named in messages. Nil: files of this machine.
	Documents *openalice.Documents

	// Away is the switch that sends agents' questions here instead of to their terminals. Nil: none.
	Away Away

	// Kept lists the mail in this machine's outbox. Nil: none.
	Kept func(which func(*mail.Kept) bool) mail.Outbox

	Assets    asset.Set
	Templates *templates
	Undo      undo.List
	Stuck     func(*View) int // the number of stuck groups in the rooms of a page
}

// Away is the switch for questions while the person is away from the agents' terminals. Calls act for the person.
type Away interface {
	Away(ctx context.Context) (wire.Aways, error)
	SetAway(ctx context.Context, a wire.Away) (wire.Aways, error)
}
