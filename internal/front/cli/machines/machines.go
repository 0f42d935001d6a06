package machines

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"pennypost/internal/base/wording"
	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
	"pennypost/internal/wire"
	"pennypost/internal/wire/client"
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
		RunE:    cli.RunAt(a.AtOffice, a.machines),
	}
	cmd.AddCommand(&cobra.Command{
		Use: "remove NAME", Short: "forget a machine that will not come back", Long: machinesRemoveHelp,
		Example: "pennypost machines remove laptop-2",
		Args:    cli.NArgs(1, "the name of one machine"),
		RunE:    cli.RunOne(a.machinesRemove),
	})
	return cmd
}

// wrongClock is how far a clock may be from the servers' before that is pointed out.
const wrongClock = time.Second

func (a *app) machines(ctx context.Context, office *client.Office, _ []string) error {
	list, err := office.Machines(ctx)
	return cli.Answer(a.App, wire.Machines{Machines: list}, err, a.showMachines)
}

func (a *app) showMachines(list wire.Machines) error {
	var rows [][]string
	for i := range list.Machines {
		m := &list.Machines[i]
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
	a.Out.TableOr("This post office has no rooms on NATS servers, so it knows no other machines.", rows)
	return nil
}

func (a *app) machinesRemove(ctx context.Context, arg string) error {
	name, err := mail.ParseMachine(arg)
	if err != nil {
		return err
	}
	office, err := a.Post()
	if err == nil {
		err = office.RemoveMachine(ctx, name)
	}
	return a.Said(err, struct {
		Removed mail.Machine `json:"removed"`
	}{name}, "%s is forgotten. Nobody waits for it any more.", name)
}
