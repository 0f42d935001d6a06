package office

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"pennypost/internal/base/wording"
	"pennypost/internal/front/cli"
	"pennypost/internal/wire"
)

const shardsHelp = `List the shards: the streams that the rooms on the NATS servers share. Each line shows the number
of rooms and events in a shard, its size, and the server that leads it.

With a number, add shards until there are that many, at most 64. New rooms are spread over all of them. A
room stays in its shard until you move it: pennypost rooms move ROOM --to shard:N. Four are enough for
thousands of rooms. Shards cannot be removed. Only the user may add shards.`

func newShards(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "shards [N]", Short: "list the streams that rooms share, or add some", Long: shardsHelp,
		Example: "pennypost rooms shards\npennypost rooms shards 4",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.shards(cmd.Context(), args)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
}

func (a *app) shards(ctx context.Context, args []string) error {
	if err := a.OnlyUser("list or add shards"); err != nil {
		return err
	}
	n := 0
	if len(args) > 0 {
		var err error
		if n, err = strconv.Atoi(args[0]); err != nil || n < 1 || n > wire.MostShards {
			return cli.Usage("the number of shards is 1 to %d, not %q", wire.MostShards, args[0])
		}
	}
	office, err := a.Post()
	if err != nil {
		return err
	}
	var list wire.Shards
	if n == 0 {
		list, err = office.Shards(ctx)
	} else {
		list, err = office.MakeShards(ctx, n)
	}
	return cli.Answer(a.App, list, err, a.showShards)
}

func (a *app) showShards(list wire.Shards) error {
	if list.Made > 0 {
		a.Out.Line("%s added.", wording.Plural(list.Made, "shard"))
	}
	var rows [][]string
	for _, s := range list.Shards {
		row := []string{fmt.Sprint("shard ", s.Number), wording.Plural(s.Rooms, "room"),
			wording.Plural(int(s.Messages), "event"), cli.Size(int64(s.Bytes)), "led by " + cli.OneLine(s.Leader)}
		if s.Leader == "" {
			row[2], row[3], row[4] = "unknown", "", "no leader"
		}
		rows = append(rows, row)
	}
	a.Out.TableOr("There is no shard yet. The first room on the NATS servers creates one.", rows)
	return nil
}
