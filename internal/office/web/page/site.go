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

	Assets    asset.Set
	Templates *templates
	Undo      undo.List
	Stuck     func(*View) int // how many things are stuck in a room
}
