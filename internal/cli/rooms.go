package cli

import (
	"context"

	"github.com/spf13/cobra"

	"pennypost/internal/mail"
)

const roomsHelp = `List the rooms of the post office. The one that commands use here is marked; see --room.`

func newRooms(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "rooms", Short: "list the rooms", Long: roomsHelp, Example: "pennypost rooms", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.rooms(cmd.Context()) },
	}
}

func (a *app) rooms(ctx context.Context) error {
	office, err := a.post()
	if err != nil {
		return err
	}
	list, err := office.Rooms(ctx)
	if err != nil {
		return err
	}
	if a.json {
		if list == nil {
			list = []mail.RoomStatus{}
		}
		a.out.value(struct {
			Rooms []mail.RoomStatus `json:"rooms"`
		}{list})
		return nil
	}
	here, err := a.roomName()
	if err != nil {
		return err
	}
	if len(list) == 0 {
		a.out.line("There is no room yet. The first message makes one; here it would be %s.", here)
		return nil
	}
	rows := make([][]string, 0, len(list))
	for _, r := range list {
		mark, unread := " ", ""
		if r.Name == here {
			mark = "*"
		}
		if r.Unread > 0 {
			unread = a.out.bold(itoa(r.Unread) + " for you")
		}
		rows = append(rows, []string{mark + " " + string(r.Name), plural(r.Messages, "message"), plural(r.Agents, "agent"), size(r.Bytes), unread})
	}
	a.out.table(rows)
	return nil
}
