package office

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"pennypost/internal/base/wording"
	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

const restoreHelp = `Repair a room on the NATS servers whose stream was deleted, truncated, or given limits. Every
machine that has used the room has a copy of it. The command compares the copies with each other and with
the stream, shows the result, asks, and makes the machine with the fullest copy write the stream again.
Mail waits meanwhile. Events that only another copy has are appended when that machine reads the room
again.

A complete stream is not changed. After an interruption, run the command again. Only the user may restore
a room.`

type restore struct {
	from   string
	yes    bool
	dryRun bool
}

func newRestore(a *app) *cobra.Command {
	var r restore
	return cli.WithFlags(&cobra.Command{
		Use: "restore ROOM", Short: "rebuild the stream of a room from a copy", Long: restoreHelp,
		Example: "pennypost rooms restore lab\npennypost rooms restore lab --from laptop --yes",
		Args:    cli.NArgs(1, "the name of one room"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.roomsRestore(cmd.Context(), args[0], r)
		},
		ValidArgsFunction: a.CompleteRoom,
	}, cli.Flag{Into: &r.from, Name: "from", About: "`MACHINE` whose copy to use; default: the fullest"},
		cli.Flag{Into: &r.dryRun, Name: "dry-run", About: "compare, and change nothing"},
		cli.Flag{Into: &r.yes, Name: "yes", About: "do not ask"})
}

func (a *app) roomsRestore(ctx context.Context, arg string, r restore) error {
	room, err := mail.ParseRoom(arg)
	if err != nil {
		return err
	}
	if err := a.OnlyUser("restore a room"); err != nil {
		return err
	}
	office, err := a.Post()
	if err != nil {
		return err
	}
	found, err := office.RestoreRoom(ctx, room, "")
	if err != nil {
		return err
	}
	if found.Damage == "" || r.dryRun {
		return cli.Answer(a.App, found, nil, a.showCopies)
	}
	if !a.JSON {
		if err := a.showCopies(found); err != nil {
			return err
		}
	}
	from := mail.Machine(r.from)
	if from == "" {
		from = found.Copies[0].Machine
	}
	if !r.yes && !a.agrees(fmt.Sprintf("Rebuild room %s from the copy of %s? [y/N] ", room, from)) {
		return cli.Hinted(mail.Errorf(mail.Denied, "room %s is unchanged: not confirmed", room),
			"pennypost rooms restore "+string(room)+" --yes")
	}
	done, err := office.RestoreRoom(ctx, room, from)
	return a.Said(err, done, "Room %s is on the NATS servers again, from the copy of %s.", done.Room, from)
}

func (a *app) showCopies(found wire.RestoredRoom) error {
	var rows [][]string
	for _, c := range found.Copies {
		row := []string{string(c.Machine), wording.Plural(c.Events, "event"), fmt.Sprintf("up to %d", c.Last),
			a.Out.Ago(c.At), differences(&c)}
		if c.Trouble != "" {
			row = []string{string(c.Machine), "unknown", "", "", c.Trouble}
		}
		rows = append(rows, row)
	}
	a.Out.TableOr("No machine has a copy of the room.", rows)
	if found.Damage == "" {
		a.Out.Line("The stream of room %s is complete.", found.Room)
	} else {
		a.Out.Line("Room %s: %s.", found.Room, cli.OneLine(found.Damage))
	}
	return nil
}

// differences says how a copy differs from the fullest one.
func differences(c *wire.RoomCopy) (said string) {
	add := func(text string) {
		if said != "" {
			said += ", "
		}
		said += text
	}
	if c.Lacks > 0 {
		add(fmt.Sprintf("lacks %d", c.Lacks))
	}
	if c.Besides > 0 {
		add(fmt.Sprintf("has %d extra", c.Besides))
	}
	if c.Differs {
		add("differs")
	}
	return said
}
