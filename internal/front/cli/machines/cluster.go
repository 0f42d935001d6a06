package machines

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"pennypost/internal/base/wording"
	"pennypost/internal/config"
	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
	"pennypost/internal/wire"
	"pennypost/internal/wire/ownserver"
)

const clusterHelp = `Give several machines the same rooms. Each machine runs a post office and a NATS server, which
Pennypost runs in a process of its own (pennypost-nats). With three machines each room is on three
servers, and mail continues while any one of them is away; two machines are no safer than one.

Type pennypost cluster init on the first machine, and the line that it prints on each other one. No
further configuration or installation is needed. The machines know each other by their keys, and all
traffic between them is encrypted. The server starts with the post office, and continues after it ends.

init, join, leave and remove change the list of machines. A change that would leave a room without a
majority of its servers is refused. To use NATS servers that you run yourself, name them in [journal] in
config.toml instead.`

const clusterInitHelp = `Create a cluster with this machine, and print a line to type on each of two others. New rooms
are in the cluster once one has joined; a room in a file stays there until you move it: pennypost rooms
move ROOM --to jetstream.

The others reach this machine at --address, which needs two open ports: that one (4222 by default), and
the one 2000 above it.`

const clusterJoinHelp = `Join this machine to a cluster. The line to type is printed by pennypost cluster init and by
pennypost cluster invite. When the command returns and there are three machines, each room is on all
three.

A machine with rooms in files does not join, because such a room hides the cluster's room of the same
name. With --keep-rooms it joins anyway; pennypost rooms move ROOM --to jetstream brings them in.`

const clusterRemoveHelp = `Remove a machine from the cluster, whether it is running or lost. The contents of its
server are copied to the others first, and its key is void afterwards. The command is refused if fewer
than three machines would be left, or if a room would lose the majority of its servers: add the new
machine first, then remove the old one. To return, a removed machine has to join again, under another
name.`

const clusterLeaveHelp = `Remove this machine from its cluster, as pennypost cluster remove does on another machine.
The files of its server move to the directory "removed" in the data directory. The last machine can leave
only when no rooms are in the cluster.`

// clusterFlags are the flags of the subcommands of cluster.
type clusterFlags struct {
	name, address, expires string
	keepRooms              bool
}

func newCluster(a *app) *cobra.Command {
	f := clusterFlags{}
	name := cli.Flag{Into: &f.name, Name: "name", About: "call this machine `NAME`; default: its host name"}
	address := cli.Flag{Into: &f.address, Name: "address",
		About: "where the others reach this machine: `HOST[:PORT]`; default: its network address, port 4222"}
	f.expires = "30m"
	cmd := &cobra.Command{
		Use: "cluster", Short: "give several machines the same rooms", Long: clusterHelp,
		Example: "pennypost cluster init\npennypost cluster status", Args: cli.NoArgs, RunE: cli.GroupRun,
	}
	cmd.AddCommand(
		cli.WithFlags(&cobra.Command{Use: "init", Short: "create a cluster with this machine", Long: clusterInitHelp,
			Example: "pennypost cluster init\npennypost cluster init --address 10.0.0.1 --name desk", Args: cli.NoArgs,
			RunE: cli.RunWith(a.clusterInit, &f)}, name, address),
		cli.WithFlags(&cobra.Command{Use: "join ADDRESS CODE", Short: "join this machine to a cluster",
			Long: clusterJoinHelp, Example: "pennypost cluster join 10.0.0.1:4222 k3vq2mzt…",
			Args: func(_ *cobra.Command, args []string) error {
				if len(args) < 2 {
					return cli.Hinted(cli.Usage("pennypost cluster join needs an address and a code"),
						"on a machine of the cluster, type pennypost cluster invite; here, type the line that it "+
							"prints")
				}
				return nil
			},
			RunE: func(cmd *cobra.Command, args []string) error {
				return a.clusterJoin(cmd.Context(), args[0], strings.Join(args[1:], ""), f)
			}}, name, address, cli.Flag{Into: &f.keepRooms, Name: "keep-rooms",
			About: "join even if rooms in files here hide those of the same name"}),
		cli.WithFlags(&cobra.Command{Use: "invite", Short: "let another machine join", Args: cli.NoArgs,
			Long:    "Print the line that lets one more machine join the cluster, once. Type it on that machine.",
			Example: "pennypost cluster invite --expires 10m", RunE: cli.RunWith(a.clusterInvite, &f)},
			cli.Flag{Into: &f.expires, Name: "expires", About: "how long the code is valid: `DURATION`, at most " +
				"a day"}),
		&cobra.Command{Use: "status", Short: "show the state of the cluster", Args: cli.NoArgs,
			Long: "List the machines of the cluster, whether the server of each is running, and how many more " +
				"may fail.",
			Example: "pennypost cluster status", RunE: cli.Run(a.clusterStatus)},
		&cobra.Command{Use: "remove MACHINE", Short: "remove a machine", Long: clusterRemoveHelp,
			Example: "pennypost cluster remove tower", Args: cli.NArgs(1, "the name of one machine"),
			RunE: cli.RunOne(a.clusterRemove)},
		&cobra.Command{Use: "leave", Short: "remove this machine", Long: clusterLeaveHelp,
			Example: "pennypost cluster leave", Args: cli.NoArgs, RunE: cli.Run(a.clusterLeave)},
		&cobra.Command{Use: "start", Short: "start this machine's server", Args: cli.NoArgs,
			Long: "Start the NATS server of this machine, after pennypost cluster stop. Otherwise it starts by " +
				"itself.",
			Example: "pennypost cluster start", RunE: cli.Run(a.clusterStart)},
		&cobra.Command{Use: "stop", Short: "stop this machine's server", Args: cli.NoArgs,
			Long: "Stop the NATS server of this machine, until pennypost cluster start. The post office here " +
				"uses another one.",
			Example: "pennypost cluster stop", RunE: cli.Run(a.clusterStop)})
	return cmd
}

// clusterHome returns the data directory. Only the person changes a cluster.
func (a *app) clusterHome() (config.Home, error) {
	if v, found := config.AgentClient(a.Env.Environ); found {
		return "", config.RefuseUser(v)
	}
	home, err := config.FindHome(a.Env.Getenv)
	if err == nil && home.HasRemote() {
		err = cli.Hinted(mail.Errorf(mail.Conflict, "this machine uses another machine's post office. Nothing "+
			"was done"),
			"pennypost leave")
	}
	return home, err
}

// own is the address at which the others find this machine. If it has no host, join finds one.
func own(typed string) string {
	host, port, err := net.SplitHostPort(typed)
	if err != nil {
		host, port = strings.Trim(typed, "[]"), "4222"
	}
	return net.JoinHostPort(host, port)
}

// likeliest returns the address of this machine that others can most likely reach: on a private network, IPv4.
func likeliest() string {
	all, _ := net.InterfaceAddrs()
	best, rank := "127.0.0.1", 3
	for _, a := range all {
		n, ok := a.(*net.IPNet)
		if !ok {
			continue
		}
		ip, ok := netip.AddrFromSlice(n.IP)
		if ip = ip.Unmap(); !ok || !ip.IsGlobalUnicast() {
			continue
		}
		r := 2
		if ip.Is4() && ip.IsPrivate() {
			r = 0
		} else if ip.Is4() {
			r = 1
		}
		if r < rank {
			best, rank = ip.String(), r
		}
	}
	return best
}

func (a *app) clusterInit(ctx context.Context, f clusterFlags) error {
	home, err := a.clusterHome()
	if err != nil {
		return err
	}
	name, err := a.machineName(f.name)
	if err != nil {
		return err
	}
	if f.address == "" {
		f.address = likeliest()
	}
	var st wire.ClusterStatus
	if err := a.atServer(ctx, home, "init", wire.ClusterInit{Name: name, Address: own(f.address)}, &st); err != nil {
		return err
	}
	var in [2]wire.ClusterInvited // a cluster needs three machines
	for i := range in {
		if err := ownserver.Ask(ctx, home, "invite", wire.ClusterInvite{}, &in[i]); err != nil {
			return err
		}
	}
	if err := a.restart(ctx, home); err != nil {
		return err
	}
	return cli.Answer(a.App, in, nil, func(in [2]wire.ClusterInvited) error {
		a.Out.Line("Created a cluster with the machine %s.", st.Machine)
		a.tellRooms(home)
		a.Out.Write(joinLine(in[0]) + joinLine(in[1]))
		a.Out.Line("Type one of these lines on each of two other machines, before %s.", a.Out.Moment(in[0].Expires))
		a.Out.Line("New rooms are in the cluster once there are two machines, and survive the loss of any " +
			"machine once there are three.")
		return nil
	})
}

// atServer asks the process of the server, and starts it if it does not run.
func (a *app) atServer(ctx context.Context, home config.Home, what string, question, answer any) error {
	if err := ownserver.Start(ctx, home, a.Env.Environ); err != nil {
		return err
	}
	return ownserver.Ask(ctx, home, what, question, answer)
}

// tellRooms lists the rooms that are not in the cluster.
func (a *app) tellRooms(home config.Home) {
	if rooms := inFiles(home); len(rooms) > 0 {
		a.Out.Line("In files on this machine only: %s. To move one to the cluster: pennypost rooms move ROOM "+
			"--to jetstream",
			cli.Joined(rooms, ", "))
	}
}

func inFiles(home config.Home) (rooms []mail.RoomName) {
	dirs, _ := os.ReadDir(home.Rooms())
	for _, d := range dirs {
		name, err := mail.ParseRoom(d.Name())
		_, other := os.Stat(filepath.Join(home.Rooms(), d.Name(), "journal.toml"))
		if err == nil && d.IsDir() && errors.Is(other, fs.ErrNotExist) {
			rooms = append(rooms, name)
		}
	}
	return rooms
}

// joinLine is the line to type on a machine that joins. It is not wrapped, however narrow the terminal is.
func joinLine(in wire.ClusterInvited) string {
	return "pennypost cluster join " + in.Address + " " + in.Code + "\n"
}

func (a *app) clusterJoin(ctx context.Context, at, code string, f clusterFlags) error {
	home, err := a.clusterHome()
	if err != nil {
		return err
	}
	if rooms := inFiles(home); len(rooms) > 0 && !f.keepRooms {
		return cli.Hinted(mail.Errorf(mail.Conflict, "rooms of this machine are in files, and would hide the "+
			"cluster's rooms of the same names: %s. Nothing was done, and the code is still valid. To join and "+
			"keep them, add --keep-rooms", cli.Joined(rooms[:min(len(rooms), 5)], ", ")), "pennypost cluster join "+
			"ADDRESS CODE --keep-rooms")
	}
	name, err := a.machineName(f.name)
	if err != nil {
		return err
	}
	var st wire.ClusterStatus
	if err := a.atServer(ctx, home, "join", wire.ClusterJoin{At: own(at), Code: code, Name: name, Named: f.name != "",
		Address: own(f.address)}, &st); err != nil {
		return err
	}
	if err := a.restart(ctx, home); err != nil {
		return err
	}
	return cli.Answer(a.App, st, nil, func(st wire.ClusterStatus) error {
		a.Out.Line("This machine is now in the cluster, as %s.", st.Machine)
		a.tellRooms(home)
		a.showCluster(&st)
		return nil
	})
}

func (a *app) clusterInvite(ctx context.Context, f clusterFlags) error {
	home, err := a.clusterHome()
	if err != nil {
		return err
	}
	var ask wire.ClusterInvite
	if ask.Good, err = cli.Seconds(f.expires); err != nil {
		return err
	}
	var in wire.ClusterInvited
	err = a.running(ctx, home, "invite", ask, &in)
	return cli.Answer(a.App, in, err, func(in wire.ClusterInvited) error {
		a.Out.Write(joinLine(in))
		a.Out.Line("Type this line on the next machine, before %s. It lets one machine join, "+
			"once.", a.Out.Moment(in.Expires))
		return nil
	})
}

// running asks the server's process of a machine that is in a cluster.
func (a *app) running(ctx context.Context, home config.Home, what string, question, answer any) error {
	c, err := config.LoadCluster(home)
	switch {
	case err != nil:
		return err
	case c == nil:
		return cli.Hinted(mail.Errorf(mail.NotFound, "this machine is not in a cluster"), "pennypost cluster init")
	case c.Removed:
		return cli.Hinted(mail.Errorf(mail.Denied, "this machine was removed from its cluster"), "pennypost cluster "+
			"leave")
	case c.Stopped && !ownserver.Listens(home):
		return cli.Hinted(mail.Errorf(mail.Unavailable, "the NATS server of this machine was stopped"),
			"pennypost cluster start")
	}
	return a.atServer(ctx, home, what, question, answer)
}

func (a *app) clusterStatus(ctx context.Context) error {
	home, err := config.FindHome(a.Env.Getenv)
	if err != nil {
		return err
	}
	var st wire.ClusterStatus
	err = a.running(ctx, home, "status", wire.None{}, &st)
	return cli.Answer(a.App, st, err, func(st wire.ClusterStatus) error {
		a.showCluster(&st)
		return nil
	})
}

// showCluster lists the machines, and how many may fail.
func (a *app) showCluster(st *wire.ClusterStatus) {
	rows := make([][]string, 0, len(st.Members))
	for i := range st.Members {
		m := &st.Members[i]
		mark, state := " ", "up"
		if m.Machine == st.Machine {
			mark = "*"
		}
		if !m.Up {
			state = a.Out.Red("away")
		}
		rows = append(rows, []string{mark + " " + string(m.Machine), state, m.Address,
			wording.Plural(m.Streams, "stream"), cli.OneLine(m.Version)})
	}
	a.Out.Table(rows)
	if st.Trouble != "" {
		a.Out.Line("%s", a.Out.Red(cli.OneLine(st.Trouble)))
		return
	}
	switch {
	case len(st.Members) == 1:
		a.Out.Line("It is the only machine, and keeps no rooms yet. To add another: pennypost cluster invite")
	case len(st.Members) < config.DefaultReplicas:
		a.Out.Line("Mail stops while either of them is away: two are no safer than one. With a third, any one " +
			"may be away.")
	case st.Lacking > 0:
		a.Out.Line("%s of %d are not yet up to date on all servers: a copy is in progress.",
			wording.Plural(st.Lacking, "stream"),
			st.Streams)
	}
	if st.MayFail == nil || len(st.Members) < config.DefaultReplicas {
		return
	}
	a.mayFail(*st.MayFail)
}

func (a *app) clusterRemove(ctx context.Context, arg string) error {
	name, err := mail.ParseMachine(arg)
	if err != nil {
		return err
	}
	home, err := a.clusterHome()
	if err != nil {
		return err
	}
	c, err := config.LoadCluster(home)
	if err == nil && c != nil && c.Machine == name {
		return a.clusterLeave(ctx)
	}
	var st wire.ClusterStatus
	err = a.running(ctx, home, "remove", wire.ClusterRemove{Machine: name}, &st)
	return cli.Answer(a.App, st, err, func(st wire.ClusterStatus) error {
		a.Out.Line("%s has left the cluster, and its key is void.", name)
		a.showCluster(&st)
		return nil
	})
}

func (a *app) clusterLeave(ctx context.Context) error {
	home, err := a.clusterHome()
	if err != nil {
		return err
	}
	c, err := config.LoadCluster(home)
	if err == nil && c != nil && !c.Removed {
		err = a.running(ctx, home, "remove", wire.ClusterRemove{}, new(wire.ClusterStatus))
	} else if err == nil && c == nil {
		err = cli.Hinted(mail.Errorf(mail.NotFound, "this machine is not in a cluster; there is nothing to leave"),
			"pennypost cluster status")
	}
	if err == nil {
		err = awaitServerEnd(ctx, home)
	}
	if err == nil {
		err = forgetCluster(home)
	}
	if err == nil {
		err = a.restart(ctx, home)
	}
	return a.Said(err, struct {
		Left bool `json:"left"`
	}{true}, "This machine has left its cluster. The files of its server are in %s.", home.Removed())
}

// forgetCluster moves the server's data away, and removes the files of the cluster.
func forgetCluster(home config.Home) error {
	err := home.PutServersAway()
	for _, path := range []string{home.ClusterKey(), home.ClusterCodes(), home.Cluster()} {
		if bad := os.Remove(path); err == nil && !errors.Is(bad, fs.ErrNotExist) {
			err = bad
		}
	}
	return err
}

func awaitServerEnd(ctx context.Context, home config.Home) error {
	ctx, cancel := context.WithTimeout(ctx, cli.StopWait)
	defer cancel()
	return cli.AwaitUnlocked(ctx, home.ServerLock(), "the NATS server")
}

func (a *app) clusterStart(ctx context.Context) error {
	home, err := a.clusterHome()
	if err != nil {
		return err
	}
	c, err := config.LoadCluster(home)
	if err == nil && (c == nil || c.Removed) {
		return a.running(ctx, home, "status", wire.None{}, new(wire.ClusterStatus))
	}
	if err == nil {
		err = ownserver.Start(ctx, home, a.Env.Environ)
	}
	return a.Said(err, struct {
		Runs bool `json:"runs"`
	}{true}, "The server of this machine is running.")
}

func (a *app) clusterStop(ctx context.Context) error {
	home, err := a.clusterHome()
	if err != nil {
		return err
	}
	if !ownserver.Listens(home) {
		a.Out.Line("The server of this machine is not running.")
		return nil
	}
	err = ownserver.Ask(ctx, home, "stop", wire.None{}, new(wire.None))
	if err == nil {
		err = awaitServerEnd(ctx, home)
	}
	return a.Said(err, struct {
		Stopped bool `json:"stopped"`
	}{true}, "The server of this machine is stopped. To start it: pennypost cluster start")
}
