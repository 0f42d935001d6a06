package cli

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"pennypost/internal/mail"
)

const roomsHelp = `List the rooms of the post office. The one that commands use here is marked; see --room. A room is
made by the first message, or the first agent, in it.`

const roomsRemoveHelp = `Remove a room from the post office. All waits and watches there end, the tokens of its agents
become void, and agents that still run there are refused. Nothing is deleted: the journal, the
archive and all other files of the room are moved, unchanged, below the directory "removed" in the
data directory, and the answer says where. To bring the room back, stop the post office and move
them back below "rooms". Foreign mailboxes that were bridged to the room stay as they are.

The command asks first, unless --yes is given. Only the user may remove a room.`

func newRooms(a *App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "rooms", Short: "list and remove rooms", Long: roomsHelp,
		Example: "pennypost rooms\npennypost rooms remove lab",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return Hinted(Usage("there is no command \"rooms %s\"", args[0]), "pennypost rooms --help")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return a.rooms(cmd.Context()) },
	}
	var yes bool
	remove := &cobra.Command{
		Use: "remove ROOM", Short: "remove a room and keep its files elsewhere", Long: roomsRemoveHelp,
		Example: "pennypost rooms remove lab\npennypost rooms remove lab --yes",
		Args:    NArgs(1, "the name of one room"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.roomsRemove(cmd.Context(), args[0], yes)
		},
		ValidArgsFunction: a.completeRoom,
	}
	remove.Flags().BoolVar(&yes, "yes", false, "do not ask")
	cmd.AddCommand(remove)
	return cmd
}

func (a *App) roomsRemove(ctx context.Context, arg string, yes bool) error {
	room, err := mail.ParseRoom(arg)
	if err != nil {
		return err
	}
	who, err := a.Who()
	if err != nil {
		return err
	}
	if who != mail.User {
		return mail.Errorf(mail.Denied, "only the user may remove a room; you are %s", who)
	}
	office, err := a.Post()
	if err != nil {
		return err
	}
	if !yes && !a.agrees(fmt.Sprintf("Remove room %s? Its files are kept elsewhere. [y/N] ", room)) {
		return Hinted(mail.Errorf(mail.Denied, "room %s stays: nobody said yes", room), "pennypost rooms remove "+
			string(room)+" --yes")
	}
	done, err := office.RemoveRoom(ctx, room)
	if err != nil {
		return err
	}
	if a.JSON {
		a.Out.Value(done)
		return nil
	}
	a.Out.Line("Room %s is removed. Its files are in %s", done.Room, OneLine(done.Files))
	return nil
}

// agrees asks on standard error, where it is in nobody's way, and reports whether the answer was yes.
func (a *App) agrees(question string) bool {
	fmt.Fprint(a.Env.Stderr, question)
	answer, _ := bufio.NewReader(a.Env.Stdin).ReadString('\n') // without an answer it is no
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}

func (a *App) rooms(ctx context.Context) error {
	office, err := a.Post()
	if err != nil {
		return err
	}
	list, err := office.Rooms(ctx)
	if err != nil {
		return err
	}
	if a.JSON {
		if list == nil {
			list = []mail.RoomStatus{}
		}
		a.Out.Value(struct {
			Rooms []mail.RoomStatus `json:"rooms"`
		}{list})
		return nil
	}
	here, err := a.RoomName()
	if err != nil {
		return err
	}
	if len(list) == 0 {
		a.Out.Line("There is no room yet. The first message makes one; here it would be %s.", here)
		return nil
	}
	rows := make([][]string, 0, len(list))
	for _, r := range list {
		mark, unread := " ", ""
		if r.Name == here {
			mark = "*"
		}
		if r.Unread > 0 {
			unread = a.Out.Bold(itoa(r.Unread) + " for you")
		}
		rows = append(rows, []string{mark + " " + string(r.Name), plural(r.Messages, "message"),
			plural(r.Agents, "agent"), size(r.Bytes), unread})
	}
	a.Out.Table(rows)
	return nil
}
