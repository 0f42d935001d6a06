package machines

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pennypost/internal/base/durable"
	"pennypost/internal/base/wording"
	"pennypost/internal/config"
	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
	"pennypost/internal/wire"
	"pennypost/internal/wire/client"
)

const joinHelp = `Use the post office of another machine from this one. Type the line that pennypost invite printed
there. The code contains the fingerprint of that post office's key, which is checked before anything is
sent, and admits this machine there. From then on commands, hooks, MCP servers and doors here work as
before, with the mail of that post office.

The address, key and token are kept in remote.toml in the data directory, which only you can read.
Joining again, with a new code, replaces them. pennypost leave undoes the join.

A machine with rooms of its own keeps them and does not join, unless you give the other post office
another data directory: PENNYPOST_HOME=DIR pennypost join URL CODE.`

const joinExamples = `pennypost join https://192.168.1.5:8766 k3vq2mzt…
pennypost join https://192.168.1.5:8766 k3vq2mzt… --name laptop-2`

const leaveHelp = `Undo pennypost join: this machine uses its own post office again, and its token for the other one
is revoked there. The mail stays where it is.

The command refuses while mail is kept on this machine because the other post office is unreachable,
since it would be lost. --set-aside moves that mail to the directory "removed" in the data directory, and
it is never sent.`

func newJoin(a *app) *cobra.Command {
	var name string
	return cli.WithFlags(&cobra.Command{
		Use: "join URL CODE", Short: "use the post office of another machine", Long: joinHelp, Example: joinExamples,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return cli.Hinted(cli.Usage("pennypost join needs an address and a code"),
					"at the other post office, type pennypost invite; here, type the line that it prints")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			// a terminal that wraps the line may put spaces into the code
			return a.join(cmd.Context(), args[0], strings.Join(args[1:], ""), name)
		},
	}, cli.Flag{Into: &name, Name: "name", About: "call this machine `NAME` there; default: its host name"})
}

func newLeave(a *app) *cobra.Command {
	var aside bool
	return cli.WithFlags(&cobra.Command{
		Use: "leave", Short: "undo join", Long: leaveHelp, Example: "pennypost leave", Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.leave(cmd.Context(), aside) },
	}, cli.Flag{Into: &aside, Name: "set-aside", About: "leave, and do not send the mail that is kept on this " +
		"machine"})
}

// keeps refuses to leave a post office for which mail is kept here.
func keeps(home config.Home) error {
	if _, err := os.Stat(home.Outbox()); err == nil {
		return cli.Hinted(mail.Errorf(mail.Conflict, "mail is kept on this machine for the post office that you "+
			"would leave, and would never be sent. Nothing was done. It is sent when that post office is "+
			"reachable again; to list it: pennypost outbox; to withdraw it: pennypost outbox --withdraw "+
			"KEY"), "to leave it unsent: pennypost leave "+
			"--set-aside")
	}
	return nil
}

// setAside ensures that mail kept for the post office that was left is not sent to another one. No process that
// would send it runs.
func setAside(home config.Home) error {
	if _, err := os.Stat(home.Outbox()); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := durable.MkdirAll(home.Removed(), 0o700); err != nil {
		return err
	}
	to := filepath.Join(home.Removed(), "outbox-"+time.Now().UTC().Format("20060102T150405")+".jsonl")
	if err := os.Rename(home.Outbox(), to); err != nil {
		return err
	}
	return durable.SyncDir(home.Removed())
}

func (a *app) join(ctx context.Context, address, text, name string) error {
	if v, found := config.AgentClient(a.Env.Environ); found {
		return config.RefuseUser(v)
	}
	code, err := wire.ParseCode(text)
	if err != nil {
		return cli.Hinted(err, "pennypost join URL CODE")
	}
	u, err := config.CheckRemote(address)
	if err != nil {
		return err
	}
	machine, err := a.machineName(name)
	if err != nil {
		return err
	}
	home, err := config.FindHome(a.Env.Getenv)
	if err != nil {
		return err
	}
	if err := noRooms(home); err != nil {
		return err
	}
	before, err := config.LoadRemote(home)
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		before = nil // it will be replaced
	}
	r := &config.Remote{URL: u.String(), Pin: code.Trust.Pin, Public: code.Trust.Public}
	opts := client.Options{URL: r.URL, TLS: code.Trust.Config(u.Hostname())}
	if before != nil && before.Pin == r.Pin { // this shows that this is the machine of that name
		opts.Token = before.Token
	}
	office, err := client.New(opts)
	if err != nil {
		return err
	}
	defer office.Close()
	ctx, cancel := context.WithTimeout(ctx, cli.JoinPatience)
	defer cancel()
	in, err := office.Join(ctx, wire.Join{Secret: code.Secret.String(), Machine: machine})
	if err != nil {
		return cli.Hinted(err, joinHint(err))
	}
	r.Token, r.Machine, r.Rooms, r.Agent = in.Token, in.Machine, in.Rooms, in.Agent
	if err := a.keep(ctx, home, r); err != nil {
		return err
	}
	a.tellJoined(r, in.Expires)
	return nil
}

// machineName returns this machine's name there: the typed one, or its own.
func (a *app) machineName(typed string) (mail.Machine, error) {
	if typed == "" {
		cfg, err := a.LoadConfig()
		return cfg.MachineName(), err
	}
	return mail.ParseMachine(typed)
}

// keep stores the joined post office, and makes the next command use it.
func (a *app) keep(ctx context.Context, home config.Home, r *config.Remote) error {
	err := home.Create()
	if err == nil {
		err = r.Write(home)
	}
	if err == nil {
		err = a.restart(ctx, home)
	}
	return err
}

func joinHint(err error) string {
	if mail.CodeOf(err) == mail.Unavailable {
		return "check the address, and that the post office runs there with pennypost serve --tls"
	}
	return "pennypost join --help"
}

func (a *app) tellJoined(r *config.Remote, expires mail.Time) {
	if a.JSON {
		a.Out.Value(struct {
			URL     string          `json:"url"`
			Machine mail.Machine    `json:"machine"`
			Rooms   []mail.RoomName `json:"rooms,omitempty"`
			Agent   mail.Name       `json:"agent,omitempty"`
			Expires mail.Time       `json:"expires,omitzero"`
		}{r.URL, r.Machine, r.Rooms, r.Agent, expires})
		return
	}
	a.Out.Line("This machine is now %s at %s: %s, %s.", r.Machine, r.URL, scope(r.Rooms, r.Agent), a.Until(expires))
	a.Out.Line("To see the mail there: pennypost inbox. To undo this: pennypost leave")
}

// noRooms refuses a data directory with mail of its own, which would become invisible.
func noRooms(home config.Home) error {
	dirs, err := os.ReadDir(home.Rooms())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var rooms []string
	for _, d := range dirs {
		if _, err := mail.ParseRoom(d.Name()); err == nil && d.IsDir() {
			rooms = append(rooms, d.Name())
		}
	}
	if len(rooms) == 0 {
		return nil
	}
	return cli.Hinted(mail.Errorf(mail.Conflict,
		"this machine has a post office of its own, with %s in %s, which would be hidden. Nothing was changed, "+
			"and the code is still valid. Either give the other post office its own data directory, by setting "+
			"PENNYPOST_HOME where you use it; or take the mail along (pennypost export --room ROOM here, "+
			"pennypost import there) and remove the rooms here (pennypost rooms remove ROOM)",
		wording.Plural(len(rooms), "room")+" ("+strings.Join(rooms[:min(len(rooms), 5)], ", ")+")", home.Rooms()),
		"PENNYPOST_HOME="+filepath.Join(filepath.Dir(string(home)), "pennypost-joined")+" pennypost join URL CODE")
}

// restart ends the process that answers on the socket of home, so that the next command starts the right one.
func (a *app) restart(ctx context.Context, home config.Home) error {
	if !cli.Listens(home) {
		return nil
	}
	office, err := a.QuietOffice()
	if err != nil {
		return err
	}
	defer office.Close()
	if err := office.Stop(ctx); err != nil && !slices.Contains([]mail.Code{mail.Unavailable, mail.Timeout},
		mail.CodeOf(err)) {
		return err
	}
	return cli.AwaitEnd(ctx, home)
}

func (a *app) leave(ctx context.Context, aside bool) error {
	if v, found := config.AgentClient(a.Env.Environ); found {
		return config.RefuseUser(v)
	}
	home, err := config.FindHome(a.Env.Getenv)
	if err != nil {
		return err
	}
	r, err := config.LoadRemote(home)
	if err == nil && r == nil {
		a.Out.Line("This machine has not joined another post office; there is nothing to undo.")
		return nil
	}
	if kept := keeps(home); kept != nil && !aside {
		return kept
	}
	ctx, cancel := context.WithTimeout(ctx, cli.JoinPatience)
	defer cancel()
	if err == nil {
		err = goodbye(ctx, r)
	}
	if err := os.Remove(home.Remote()); err != nil {
		return err
	}
	if err := a.restart(ctx, home); err != nil {
		return err
	}
	if err := setAside(home); err != nil {
		return err
	}
	switch {
	case r == nil: // the file was invalid
		a.Out.Line("This machine uses its own post office again.")
	case err == nil:
		a.Out.Line("This machine uses its own post office again. Its token for %s is revoked.", r.URL)
	default:
		a.Out.Line("This machine uses its own post office again. %s was not told (%s); type there: pennypost "+
			"invite --revoke %s", r.URL, cli.OneLine(err.Error()), r.Machine)
	}
	return nil
}

// goodbye makes the token of this machine void. A token that is void already is no error.
func goodbye(ctx context.Context, r *config.Remote) error {
	conf, err := r.TLS()
	if err != nil {
		return err
	}
	office, err := client.New(client.Options{URL: r.URL, Token: r.Token, TLS: conf})
	if err != nil {
		return err
	}
	defer office.Close()
	if err := office.Leave(ctx); mail.CodeOf(err) != mail.Unknown {
		return err
	}
	return nil
}
