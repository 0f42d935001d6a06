package command

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"pennypost/internal/base/durable"
	"pennypost/internal/config"
	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
	"pennypost/internal/office/daemon"
)

const serveHelp = `Run the post office until it is stopped, with ^C or by pennypost stop.

A post office has one data directory ($PENNYPOST_HOME, else $XDG_STATE_HOME/pennypost, else
~/.local/state/pennypost) and serves all rooms in it: on a Unix socket there, for commands and
agents of this user, and on TCP, where every caller needs a token. A command that finds no post office
starts one, which ends after an hour without work. A post office started by this command keeps
running. With --tls it also listens for phones and for other machines, which join with pennypost invite.

On a machine that has joined another's post office (pennypost join) this runs the relay to it.

Structured logs go to standard error. They contain no message and no token.`

type serveFlags struct {
	listen   string
	insecure bool
	tls      string
	idleExit string
	auto     bool
	relay    bool // fail unless there is a post office to relay to
	dev      bool
}

// everywhere is where --tls listens: on every network of the machine, in addition to the port for this machine.
const everywhere = "0.0.0.0:8766"

func newServe(a *app) *cobra.Command {
	var f serveFlags
	cmd := f.automatic(&cobra.Command{
		Use: "serve", Short: "run the post office", Long: serveHelp,
		Example: "pennypost serve\npennypost serve --listen 127.0.0.1:9000\npennypost serve --listen none\n" +
			"pennypost serve --tls\npennypost serve --tls 192.0.2.7:8766",
		Args: f.args,
		RunE: cli.RunWith(a.serve, &f),
	},
		cli.Flag{Into: &f.listen, Name: "listen",
			About: "TCP `HOST:PORT` to listen on, or \"none\"; default 127.0.0.1:8765"},
		cli.Flag{Into: &f.tls, Name: "tls",
			About: "also listen for other machines, with TLS, at `[HOST:PORT]`; default " + everywhere},
		cli.Flag{Into: &f.insecure, Name: "insecure",
			About: "allow an address that other machines can reach, without TLS"},
		cli.Flag{Into: &f.dev, Name: "dev",
			About: "add routes that are for development only, such as POST /api/inbox/seed"})
	cmd.Flags().Lookup("tls").NoOptDefVal = everywhere
	return cmd
}

// args accepts the address of --tls as an argument, because --tls may also be given without a value.
func (f *serveFlags) args(cmd *cobra.Command, args []string) error {
	if len(args) == 1 && f.tls == everywhere && strings.Contains(args[0], ":") {
		f.tls, args = args[0], nil
	}
	return cli.NoArgs(cmd, args)
}

// automatic returns a command with its flags and the hidden flags for automatic starts.
func (f *serveFlags) automatic(cmd *cobra.Command, flags ...cli.Flag) *cobra.Command {
	cli.WithFlags(cmd, append(flags,
		cli.Flag{Into: &f.idleExit, Name: "idle-exit",
			About: "with --auto: end after `DURATION` without work; default 1h"},
		cli.Flag{Into: &f.auto, Name: "auto", About: "run as a post office that a command started"})...)
	for _, hidden := range []string{"auto", "idle-exit"} {
		_ = cmd.Flags().MarkHidden(hidden)
	}
	return cmd
}

func (a *app) serve(ctx context.Context, f serveFlags) error {
	cfg, err := a.serveConfig(f)
	if err != nil {
		return err
	}
	remote, err := a.remote(cfg.Home, f)
	if err != nil {
		return err
	}
	logTo := a.Env.Stderr
	if f.auto {
		file, err := daemon.OpenLog(cfg.Home.Log())
		if err != nil {
			return err
		}
		defer file.Close()
		logTo = file
	}
	log, err := newLog(logTo, &cfg)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	err = daemon.Run(ctx, daemon.Options{
		Config: cfg, Version: cli.Version(), Log: log, Auto: f.auto, Dev: f.dev, Remote: remote,
		Ready: func(p daemon.Place) {
			if !f.auto {
				a.announce(p)
			}
		},
	})
	if _, runs := errors.AsType[*durable.LockedError](err); runs {
		if f.auto {
			return nil // another command started one first, which is just as good
		}
		return cli.Hinted(err, "to see it: pennypost status; to stop it: pennypost stop")
	}
	if f.auto && err != nil {
		log.Error("post office failed", "err", err)
	}
	return err
}

// serveConfig loads the configuration and overrides it with the flags.
func (a *app) serveConfig(f serveFlags) (config.Config, error) {
	home, err := config.FindHome(a.Env.Getenv)
	if err != nil {
		return config.Config{}, err
	}
	cfg, err := config.Load(home, a.Env.Getenv)
	if err != nil {
		return cfg, cli.Hinted(err, "pennypost config check")
	}
	if f.listen != "" {
		cfg.Listen = f.listen
	}
	if f.tls != "" {
		cfg.TLS.Listen = f.tls
	}
	cfg.Insecure = cfg.Insecure || f.insecure
	if f.idleExit != "" {
		if cfg.IdleExit, err = config.ParseDuration(f.idleExit); err != nil {
			return cfg, err
		}
	}
	return cfg, nil
}

func newLog(w io.Writer, cfg *config.Config) (*slog.Logger, error) {
	level, err := cfg.Level()
	if err != nil {
		return nil, err
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level})), nil
}

// place has the addresses of the post office, for --json.
type place struct {
	Socket string `json:"socket"`
	HTTP   string `json:"http,omitempty"`
	HTTPS  string `json:"https,omitempty"`
	// Fingerprint is the fingerprint of the HTTPS certificate.
	Fingerprint string `json:"fingerprint,omitempty"`
	Login       string `json:"login,omitempty"` // opens the pages, once; only printed to a terminal
	MCP         string `json:"mcp,omitempty"`
	TokenFile   string `json:"token_file"`
}

func (a *app) announce(p daemon.Place) {
	at := place{Socket: p.Socket, HTTP: p.HTTP, HTTPS: p.HTTPS, Fingerprint: p.Fingerprint,
		TokenFile: p.Token, Login: a.loginLink(p, "")}
	if p.HTTP != "" {
		at.MCP = p.HTTP + "/mcp"
	}
	if a.JSON {
		a.Out.Value(at)
		return
	}
	self := cli.ProgramName()
	rows := [][]string{{"socket", at.Socket}}
	switch {
	case at.HTTP == "":
		rows = append(rows, []string{"http", "none"})
	case at.Login == "":
		rows = append(rows, []string{"page", "open with: " + self + " open"})
	default:
		rows = append(rows, []string{"page", at.Login + " (once, within ten minutes; again with: " + self + " " +
			"open)"})
	}
	if at.HTTP != "" {
		rows = append(rows, []string{"http", at.HTTP}, []string{"mcp", at.MCP},
			[]string{"token", at.TokenFile + " (yours; for an agent: " + self + " agents token NAME)"})
	}
	if at.HTTPS != "" {
		rows = append(rows, []string{"phone", "invite with: " + self + " open --phone (it listens at " +
			"" + at.HTTPS + ")"},
			[]string{"", "certificate " + at.Fingerprint},
			[]string{"machines", "invite with: " + self + " invite"})
	}
	rows = append(rows,
		[]string{"claude", "claude mcp add --scope user pennypost -- " + self + " mcp"},
		[]string{"codex", "codex mcp add pennypost -- " + self + " mcp"},
		[]string{"others", `{"mcpServers":{"pennypost":{"command":"` + self + `","args":["mcp"]}}}`},
	)
	if r := p.Remote; r != nil {
		a.Out.Line("%s", a.Out.Bold("The relay to the post office at "+r.URL+" is open. This machine is "+
			string(r.Machine)+" there."))
	} else {
		a.Out.Line("%s", a.Out.Bold("The post office is open."))
	}
	a.Out.Table(rows, 0)
}

// loginLink returns a link that opens the pages, for a terminal, and "" for an output that may be stored: anyone who
// reads a log could then act as the person.
func (a *app) loginLink(p daemon.Place, room mail.RoomName) string {
	if p.Login == nil || !cli.IsTerminal(a.Stdout.To) {
		return ""
	}
	link, err := p.Login(room)
	if err != nil {
		return "" // pennypost open explains it at length
	}
	return link
}
