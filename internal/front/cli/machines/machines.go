package machines

import (
	"cmp"
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
was last heard, how far its clock is from the servers', how many rooms are open there, how many
letters are kept there until the way to their rooms is back, and its version. Then the servers:
whether each is heard, how often it syncs what it stores, whether copies of rooms there are behind;
how many more of them may fail before mail stops; erased text that their own logs may still have;
and what to do if something is not as it should be. Machines that use this post office from
elsewhere are listed by "pennypost invite --list".`

const machinesRemoveHelp = `Forget a machine that will not come back. Where all machines have to do
something, as when a message is erased from every disk, nobody waits for it any more, and its name
is free for another one. A machine that is there is not removed. Only the user may remove one.`

const machinesAdmitHelp = `Admit a machine to the rooms on NATS servers to which this one belongs. Each machine signs
what it sends with its own key, and a message counts only if a machine of the room has signed it, even
for those who have the servers' password. Without arguments, print the command that admits this
machine: type it on a machine that belongs to the rooms, and carry it there in a way that you trust.
Admit a machine again if its data directory was created again, since its key is new then. Machines of
"pennypost cluster" are admitted by the code with which they join.`

func newMachines(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "machines", Short: "list the machines that share rooms, and the servers; forget one", Long: machinesHelp,
		Example: "pennypost machines\npennypost machines remove laptop-2",
		Args:    cli.NoArgs,
		RunE:    cli.RunAt(a.AtOffice, a.machines),
	}
	cmd.AddCommand(&cobra.Command{
		Use: "admit [NAME KEY]", Short: "admit a machine to the rooms, by its key", Long: machinesAdmitHelp,
		Example: "pennypost machines admit\npennypost machines admit laptop-2 " +
			"O2onvM62pC1io6jQKm8Nc2UyFXcd4kOmOsBIoYtZ2ik",
		Args: cobra.MaximumNArgs(2),
		RunE: cli.RunAt(a.AtOffice, a.machinesAdmit),
	}, &cobra.Command{
		Use: "remove NAME", Short: "forget a machine that will not come back", Long: machinesRemoveHelp,
		Example: "pennypost machines remove laptop-2",
		Args:    cli.NArgs(1, "the name of one machine"),
		RunE:    cli.RunOne(a.machinesRemove),
	})
	return cmd
}

func (a *app) machines(ctx context.Context, office *client.Office, _ []string) error {
	list, err := office.Machines(ctx)
	return cli.Answer(a.App, list, err, a.showMachines)
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
		if skew.Abs() > mail.WrongClock {
			clock = a.Out.Red(clock)
		}
		kept := ""
		if m.Kept > 0 {
			kept = a.Out.Red(wording.Plural(m.Kept, "letter") + " kept")
		}
		rows = append(rows, []string{mark + " " + string(m.Name), heard, clock,
			wording.Plural(m.Rooms, "room") + " open", kept, cli.OneLine(m.Version)})
	}
	a.Out.TableOr("This post office has no rooms on NATS servers, so it knows no other machines.", rows)
	a.showServers(&list.ServersHealth)
	return nil
}

// showServers lists the NATS servers, and their faults.
func (a *app) showServers(h *mail.ServersHealth) {
	if len(h.Servers) == 0 {
		return
	}
	rows := make([][]string, 0, len(h.Servers))
	for i := range h.Servers {
		s := &h.Servers[i]
		rows = append(rows, []string{"  " + cli.OneLine(s.Name), a.serverState(s), syncs(s), a.behind(s),
			cli.OneLine(s.Version)})
	}
	a.Out.Line("NATS servers")
	a.Out.Table(rows)
	if h.Unknown > 0 {
		a.Out.Line("  Of %s more nothing is known.", wording.Plural(h.Unknown, "server"))
	}
	if h.MayFail != nil {
		a.mayFail(*h.MayFail)
	}
	if h.Erasing != nil {
		a.Out.Line("%s", cli.OneLine(h.Erasing.String()))
	}
	for _, d := range h.Degraded {
		a.Out.Line("%s", a.Out.Red(cli.OneLine(d.Text)))
		a.Out.Line("  → %s", cli.OneLine(d.Fix))
	}
}

// mayFail says how many more servers may fail.
func (a *app) mayFail(n int) {
	switch {
	case n < 0:
		a.Out.Line("%s", a.Out.Red("Mail has stopped in some rooms."))
	case n == 0:
		a.Out.Line("No more of them may fail: mail would stop.")
	case n == 1:
		a.Out.Line("One more of them may fail, and mail goes on.")
	default:
		a.Out.Line("%d more of them may fail, and mail goes on.", n)
	}
}

func (a *app) serverState(s *mail.ServerStatus) string {
	switch s.State {
	case mail.ServerUp:
		return "up"
	case mail.ServerSilent:
		return a.Out.Red("not heard since " + s.Since.Std().Local().Format("15:04:05"))
	}
	return "not known"
}

func syncs(s *mail.ServerStatus) string {
	switch s.Sync {
	case "":
		return "not known how it syncs"
	case "always":
		return "syncs each write"
	}
	return "syncs every " + s.Sync
}

// behind says how far the copies of rooms on a server lag.
func (a *app) behind(s *mail.ServerStatus) string {
	if s.BehindIn == 0 {
		return ""
	}
	return a.Out.Red("behind in " + wording.Plural(s.BehindIn, "room") + ", by up to " +
		wording.Plural(int(s.Behind), "write"))
}

func (a *app) machinesAdmit(ctx context.Context, office *client.Office, args []string) error {
	switch len(args) {
	case 0:
		return a.showAdmit(ctx, office)
	case 1:
		return mail.Errorf(mail.Invalid, "the key of %s is missing. It is printed there by: pennypost machines admit",
			args[0])
	}
	name, err := mail.ParseMachine(args[0])
	if err == nil {
		err = office.AdmitMachine(ctx, name, args[1])
	}
	return a.Said(err, struct {
		Admitted mail.Machine `json:"admitted"`
	}{name}, "%s is admitted to each room of this machine: within seconds if it is open here, else when it is opened.",
		name)
}

// showAdmit prints the key with which this machine is admitted.
func (a *app) showAdmit(ctx context.Context, office *client.Office) error {
	list, err := office.Machines(ctx)
	for i := range list.Machines {
		m := &list.Machines[i]
		if m.Here && m.Key != "" {
			return a.Said(err, m, "pennypost machines admit %s %s\n"+
				"Type this line on a machine that belongs to the rooms.", m.Name, m.Key)
		}
	}
	return cmp.Or(err, error(mail.Errorf(mail.NotFound, "this post office has no rooms on NATS servers")))
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
