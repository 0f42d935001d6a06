package machines

import (
	"context"
	"time"

	"pennypost/internal/front/cli"

	"github.com/spf13/cobra"

	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

const machinesHelp = `List the machines whose post offices have rooms on the same NATS servers: when each
was last heard, how far its clock is from the servers', how many rooms are open there, and its
version. Machines that use this post office from elsewhere are listed by "pennypost invite --list".`

const machinesRemoveHelp = `Forget a machine that will not come back. Where all machines have to do
something, as when a message is erased from every disk, nobody waits for it any more, and its name
is free for another one. A machine that is there is not removed. Only the user may remove one.`

func newMachines(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "machines", Short: "list the machines that share rooms, and forget one", Long: machinesHelp,
		Example: "pennypost machines\npennypost machines remove laptop-2",
		Args:    cli.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.machines(cmd.Context()) },
	}
	cmd.AddCommand(&cobra.Command{
		Use: "remove NAME", Short: "forget a machine that will not come back", Long: machinesRemoveHelp,
		Example: "pennypost machines remove laptop-2",
		Args:    cli.NArgs(1, "the name of one machine"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.machinesRemove(cmd.Context(), args[0])
		},
	})
	return cmd
}

// wrongClock is how far a clock may be from the servers' before that is pointed out.
const wrongClock = time.Second

func (a *app) machines(ctx context.Context) error {
	office, err := a.Post()
	if err != nil {
		return err
	}
	list, err := office.Machines(ctx)
	if err != nil {
		return err
	}
	if a.JSON {
		a.Out.Value(wire.Machines{Machines: list})
		return nil
	}
	if len(list) == 0 {
		a.Out.Line("This post office has no rooms on NATS servers, so it knows no other machines.")
		return nil
	}
	rows := make([][]string, 0, len(list))
	for i := range list {
		m := &list[i]
		mark, heard := " ", "there"
		switch {
		case m.Here:
			mark = "*"
		case m.Away && m.Heard == 0:
			heard = a.Out.Red("away")
		case m.Away:
			heard = a.Out.Red("away, heard of " + a.Out.Ago(m.Heard))
		}
		skew := time.Duration(m.Skew) * time.Millisecond
		clock := "clock " + skew.String()
		if skew >= 0 {
			clock = "clock +" + skew.String()
		}
		if skew.Abs() > wrongClock {
			clock = a.Out.Red(clock)
		}
		rows = append(rows, []string{mark + " " + string(m.Name), heard, clock,
			wording.Plural(m.Rooms, "room") + " open", cli.OneLine(m.Version)})
	}
	a.Out.Table(rows)
	return nil
}

func (a *app) machinesRemove(ctx context.Context, arg string) error {
	name, err := mail.ParseMachine(arg)
	if err != nil {
		return err
	}
	office, err := a.Post()
	if err != nil {
		return err
	}
	if err := office.RemoveMachine(ctx, name); err != nil {
		return err
	}
	if a.JSON {
		a.Out.Value(struct {
			Removed mail.Machine `json:"removed"`
		}{name})
		return nil
	}
	a.Out.Line("%s is forgotten. Nobody waits for it any more.", name)
	return nil
}
