package office

import (
	"bufio"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"pennypost/internal/base/wording"
	"pennypost/internal/config"
	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
	"pennypost/internal/wire"
	"pennypost/internal/wire/client"
)

const roomsHelp = `List the rooms of the post office. The room that commands use here is marked; see --room. The first
message, or the first agent, in a room creates it.`

const roomsRemoveHelp = `Remove a room from the post office. All waits and watches there end, the tokens of its agents
become void, and agents that still run there are refused. Nothing is deleted: the journal, the archive
and all other files of the room move, unchanged, into the directory "removed" in the data directory, and
the answer names the new path. To restore the room, stop the post office and move them back into "rooms".
Foreign mailboxes that were bridged to the room stay as they are.

The command asks first, unless --yes is given. Only the user may remove a room.`

const roomsMoveHelp = `Move a room to the NATS servers that config.toml names, where the post offices of other
machines share it, or back to a file on this machine. Mail continues meanwhile; calls wait only for a
moment at the end. Everything moves: messages, marks, sequence numbers, the archive, bridges. After an
interruption, run the command again: it continues where it stopped.

With --to shard:N, a room on the servers moves to that shard, a stream that rooms share there; pennypost
rooms shards lists them. With --to file, the room is on this machine only; other machines keep their
copy, and say where the room is. Only the user may move a room.`

func newRooms(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "rooms", Short: "list, move and remove rooms", Long: roomsHelp,
		Example: "pennypost rooms\npennypost rooms move lab --to jetstream\npennypost rooms remove lab",
		Args:    cli.NoArgs,
		RunE:    cli.RunAt(a.AtOffice, a.rooms),
	}
	var yes bool
	remove := cli.WithFlags(&cobra.Command{
		Use: "remove ROOM", Short: "remove a room, and keep its files elsewhere", Long: roomsRemoveHelp,
		Example: "pennypost rooms remove lab\npennypost rooms remove lab --yes",
		Args:    cli.NArgs(1, "the name of one room"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.roomsRemove(cmd.Context(), args[0], yes)
		},
		ValidArgsFunction: a.CompleteRoom,
	}, cli.Flag{Into: &yes, Name: "yes", About: "do not ask"})
	var to string
	move := cli.WithFlags(&cobra.Command{
		Use: "move ROOM --to jetstream|shard:N|file", Short: "move a room to NATS servers, or to a file",
		Long: roomsMoveHelp,
		Example: "pennypost rooms move lab --to jetstream\npennypost rooms move lab --to shard:2\n" +
			"pennypost rooms move lab --to file",
		Args: cli.NArgs(1, "the name of one room"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.roomsMove(cmd.Context(), args[0], to)
		},
		ValidArgsFunction: a.CompleteRoom,
	}, cli.Flag{Into: &to, Name: "to", About: "`WHERE`: jetstream, shard:N or file",
		Complete: cli.OneOf(config.KindJetStream, config.KindFile)})
	cmd.AddCommand(remove, move, newRestore(a), newShards(a))
	return cmd
}

func (a *app) roomsRemove(ctx context.Context, arg string, yes bool) error {
	room, err := mail.ParseRoom(arg)
	if err != nil {
		return err
	}
	if err := a.OnlyUser("remove a room"); err != nil {
		return err
	}
	office, err := a.Post()
	if err != nil {
		return err
	}
	if !yes && !a.agrees(fmt.Sprintf("Remove room %s? Its files are kept elsewhere. [y/N] ", room)) {
		return cli.Hinted(mail.Errorf(mail.Denied, "room %s is unchanged: not confirmed", room),
			"pennypost rooms remove "+
				string(room)+" --yes")
	}
	done, err := office.RemoveRoom(ctx, room)
	return a.Said(err, done, "Room %s is removed. Its files are in %s", done.Room, cli.OneLine(done.Files))
}

func (a *app) roomsMove(ctx context.Context, arg, to string) error {
	room, err := mail.ParseRoom(arg)
	if err != nil {
		return err
	}
	shard, toShard := wire.MoveRoom{To: to}.Shard()
	if to != config.KindJetStream && to != config.KindFile && !toShard {
		return cli.Usage("say where to move the room: --to jetstream, --to shard:N, or --to file")
	}
	office, err := a.Post()
	if err != nil {
		return err
	}
	done, err := office.MoveRoom(ctx, room, to)
	where := "on the NATS servers"
	switch {
	case toShard:
		where = fmt.Sprint("in shard ", shard)
	case to == config.KindFile:
		where = "in a file on this machine"
	}
	if done.Moved {
		return a.Said(err, done, "Room %s is now %s, with all of its %d events.", done.Room, where, done.Seq)
	}
	return a.Said(err, done, "Room %s is already %s.", done.Room, where)
}

// agrees asks on standard error, apart from the output, and reports whether the answer was yes.
func (a *app) agrees(question string) bool {
	fmt.Fprint(a.Env.Stderr, question)
	answer, _ := bufio.NewReader(a.Env.Stdin).ReadString('\n') // without an answer it means no
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}

func (a *app) rooms(ctx context.Context, office *client.Office, _ []string) error {
	list, err := office.Rooms(ctx)
	return cli.Answer(a.App, wire.Rooms{Rooms: append([]mail.RoomStatus{}, list...)}, err, a.showRooms)
}

func (a *app) showRooms(list wire.Rooms) error {
	here, err := a.RoomName()
	if err != nil {
		return err
	}
	var rows [][]string
	var troubles []string
	for _, r := range list.Rooms {
		mark, unread := " ", ""
		if r.Trouble != "" && !slices.Contains(troubles, r.Trouble) {
			troubles = append(troubles, r.Trouble)
		}
		if r.Name == here {
			mark = "*"
		}
		if r.Unread > 0 {
			unread = a.Out.Bold(strconv.Itoa(r.Unread) + " for you")
		}
		row := []string{mark + " " + string(r.Name), wording.Plural(r.Messages, "message"),
			wording.Plural(r.Agents, "agent"), cli.Size(r.Bytes), unread}
		if r.Seq == 0 && r.Trouble != "" { // it cannot be opened
			row[1], row[2] = "unknown", ""
		}
		rows = append(rows, row)
	}
	a.Out.TableOr("There is no room yet. The first message creates one; here it would be "+string(here)+".", rows)
	for _, t := range troubles {
		a.Out.Line("%s", cli.OneLine(t))
	}
	return nil
}
