package data

import (
	"context"

	"github.com/spf13/cobra"

	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
)

const eraseHelp = `Remove a message and its text from every file of the room, the archive included. This cannot be
undone. The journal keeps the fact that a message with this id was erased, and by whom. Only the user may
erase. A message that is kept on this machine has no id yet: use pennypost outbox --withdraw KEY.`

func newErase(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "erase ID", Short: "remove a message from every file", Long: eraseHelp,
		Example: "pennypost erase msg_V1StGXR8_Z5jdHi6B-myT", Args: cli.NArgs(1, "the id of one message"),
		RunE: cli.RunOne(a.erase),
	}
}

func (a *app) erase(ctx context.Context, arg string) error {
	id, err := mail.ParseID(arg)
	if err != nil {
		return err
	}
	svc, err := a.Existing(ctx)
	if err == nil {
		err = svc.Erase(ctx, id)
	}
	var lingers *mail.Lingering
	also := ""
	if err == nil {
		lingers = a.lingers(ctx)
	}
	if lingers != nil {
		also = "\n" + cli.OneLine(lingers.String()+" To check whether it still may: pennypost machines")
	}
	return a.Said(err, struct {
		Erased  mail.ID         `json:"erased"`
		Erasing *mail.Lingering `json:"erasing,omitempty"`
	}{id, lingers}, "%s is erased.%s", cli.OneLine(arg), also)
}

// lingers asks which erased mail NATS servers may still have.
func (a *app) lingers(ctx context.Context) *mail.Lingering {
	office, err := a.Post()
	if err != nil {
		return nil
	}
	list, err := office.Machines(ctx)
	if err != nil {
		return nil // pennypost machines reports it
	}
	return list.Erasing
}
