package command

import (
	"cmp"
	"context"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
	"pennypost/internal/office/tui"
)

const deskHelp = `Show what needs you, what is new and who is there, over all rooms, on the whole screen. It is what
pennypost does on a terminal when it is given no command. Press ? for its keys.`

func newDesk(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "desk", Short: "look at everything that is for you, on the whole screen", Long: deskHelp, Hidden: true,
		Example: "pennypost\npennypost --room lab", Args: cli.NoArgs,
		RunE: cli.Run(a.desk),
	}
}

func (a *app) desk(ctx context.Context) error {
	who, err := a.Who()
	if err != nil {
		return err
	}
	if who != mail.User {
		return mail.Errorf(mail.Denied, "this view is the person's, and not %s's: use pennypost inbox", who)
	}
	var room mail.RoomName
	if a.Room != "" {
		if room, err = mail.ParseRoom(a.Room); err != nil {
			return err
		}
	}
	link := make(chan bool, 8)
	a.Link = func(up bool) {
		select {
		case link <- up:
		default: // so often lately that the last one does not matter
		}
	}
	a.Whole = true
	office, err := a.Post()
	if err != nil {
		return err
	}
	// what the keyboard sends as ^C is a key; these come from elsewhere, and when the terminal is closed
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	return tui.Run(ctx, tui.Options{Office: office, Room: room, Link: link,
		Editor: cmp.Or(a.Env.Getenv("VISUAL"), a.Env.Getenv("EDITOR"), "vi")})
}
