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

const machinesHelp = `List the machines whose post offices have rooms on the same NATS servers: when each was last
heard, the difference between its clock and the servers', its open rooms, the messages kept there until
their rooms are reachable again, and its version. Then list the servers: whether each is heard, how often
it syncs its data, whether its copies of rooms lag, how many more servers may fail before mail stops,
erased text that their own logs may still contain, and the fix for each problem. For the machines that
use this post office remotely, use pennypost invite --list.`

const machinesRemoveHelp = `Forget a machine that will not return. Operations that need every machine, such as erasing
a message from every disk, stop waiting for it, and its name becomes free. A machine that is still
running is not removed. Only the user may remove one.`

const machinesAdmitHelp = `Admit a machine to the rooms on NATS servers that this one uses. Each machine signs its
messages with its own key, and a message counts only if it is signed by a machine of the room, even for
those who have the servers' password. Without arguments, print the command that admits this machine: type
it on a machine of those rooms, and carry it there over a channel that you trust. If the data directory
of a machine was created again, admit the machine again, because its key is new. Machines of "pennypost
cluster" are admitted by the code with which they join.`

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
		Use: "remove NAME", Short: "forget a machine that will not return", Long: machinesRemoveHelp,
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
			heard = a.Out.Red("away, last heard " + a.Out.Ago(m.Heard))
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
		a.Out.Line("  Nothing is known of %s more.", wording.Plural(h.Unknown, "server"))
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
		a.Out.Line("One more of them may fail, and mail continues.")
	default:
		a.Out.Line("%d more of them may fail, and mail continues.", n)
	}
}

func (a *app) serverState(s *mail.ServerStatus) string {
	switch s.State {
	case mail.ServerUp:
		return "up"
	case mail.ServerSilent:
		return a.Out.Red("not heard since " + s.Since.Std().Local().Format("15:04:05"))
	}
	return "unknown"
}

func syncs(s *mail.ServerStatus) string {
	switch s.Sync {
	case "":
		return "sync unknown"
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
		return mail.Errorf(mail.Invalid, "the key of %s is missing. To print it, type there: pennypost machines "+
			"admit",
			args[0])
	}
	name, err := mail.ParseMachine(args[0])
	if err == nil {
		err = office.AdmitMachine(ctx, name, args[1])
	}
	return a.Said(err, struct {
		Admitted mail.Machine `json:"admitted"`
	}{name}, "%s is admitted to every room of this machine: within seconds to open rooms, and to closed ones "+
		"when they open.",
		name)
}

// showAdmit prints the key with which this machine is admitted.
func (a *app) showAdmit(ctx context.Context, office *client.Office) error {
	list, err := office.Machines(ctx)
	for i := range list.Machines {
		m := &list.Machines[i]
		if m.Here && m.Key != "" {
			return a.Said(err, m, "pennypost machines admit %s %s\n"+
				"Type this line on a machine of those rooms.", m.Name, m.Key)
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
	}{name}, "%s is forgotten, and nothing waits for it.", name)
}
