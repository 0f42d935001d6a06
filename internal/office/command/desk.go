package command

import (
	"cmp"
	"context"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"pennypost/internal/base/durable"
	"pennypost/internal/config"
	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
	"pennypost/internal/office/tui"
)

const deskHelp = `Show what needs you, what is new, the agents, what is stuck and who waits, over all rooms, on the
whole screen. It opens with the first question. On a terminal, pennypost without a command does this.
Press ? for its keys.`

func newDesk(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "desk", Short: "show everything that is for you, on the whole screen", Long: deskHelp, Hidden: true,
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
		return mail.Errorf(mail.Denied, "this view is for the person, not for %s: use pennypost inbox", who)
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
		default: // many changes are pending, so this one does not matter
		}
	}
	a.Whole = true
	office, err := a.Post()
	if err != nil {
		return err
	}
	// ^C from the keyboard is a key; these signals come from elsewhere, and when the terminal is closed
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	home, err := config.FindHome(a.Env.Getenv)
	if err != nil {
		return err
	}
	if room == "" {
		room = keptRoom(ctx, home, office)
	}
	// The screen continues while the post office is away, but it has nothing to show to anyone but the person.
	switch _, err := office.Desk(ctx, mail.DeskQuery{Limit: 1}); mail.CodeOf(err) {
	case mail.Denied, mail.Unknown:
		return err
	}
	return tui.Run(ctx, tui.Options{Office: office, Room: room, Link: link, Plain: a.Env.Getenv("NO_COLOR") != "",
		Editor: cmp.Or(a.Env.Getenv("VISUAL"), a.Env.Getenv("EDITOR"), "vi"),
		Keep:   func(room mail.RoomName) { keepRoom(home, room) }})
}

// keptRoom returns the room that the person chose when they last looked, "" for all.
func keptRoom(ctx context.Context, home config.Home, office mail.Office) mail.RoomName {
	text, err := durable.ReadFile(home.Screen())
	if err != nil {
		return ""
	}
	room, err := mail.ParseRoom(strings.TrimSpace(string(text)))
	if err != nil {
		return ""
	}
	rooms, err := office.Rooms(ctx)
	if err == nil && !slices.ContainsFunc(rooms, func(r mail.RoomStatus) bool { return r.Name == room }) {
		return "" // it has been removed since
	}
	return room
}

// keepRoom stores the room that the person sees. It ignores failures: the person sees the room, and can choose it
// again with a key.
func keepRoom(home config.Home, room mail.RoomName) {
	if home.Create() == nil {
		_ = durable.WriteFile(home.Screen(), []byte(room+"\n"), 0o600)
	}
}
