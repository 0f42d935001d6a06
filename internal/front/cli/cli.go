package cli

import (
	"cmp"
	"context"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pennypost/internal/base/process"
	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/policy"
	"pennypost/internal/wire"
	"pennypost/internal/wire/client"
)

// Env is the environment of a command.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Environ        []string // "NAME=value"
	Dir            string   // working directory
}

// System returns the environment of this process.
func System() Env {
	dir, err := os.Getwd()
	if err != nil {
		dir = "/" // it was removed: no repository contains it
	}
	dir, environ := outOfPlugin(dir, os.Environ())
	os.Unsetenv(frontVariable) // it concerns this process, and not those that it starts
	return Env{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Environ: environ, Dir: dir}
}

// outOfPlugin returns the session's directory and variables where Copilot CLI starts a program of a plugin (seen with
// 1.0.102): in the plugin's directory, and with the variables of Claude Code's plugins.
func outOfPlugin(dir string, environ []string) (string, []string) {
	const root = "COPILOT_PLUGIN_ROOT"
	if in := config.Getenv(environ, root); in == "" || in != dir {
		return dir, environ
	}
	return cmp.Or(process.SetterDir(root), dir), slices.DeleteFunc(environ, func(v string) bool {
		return strings.HasPrefix(v, "CLAUDE_PLUGIN_")
	})
}

// Getenv returns the value of a variable, "" without one.
func (e *Env) Getenv(name string) string { return config.Getenv(e.Environ, name) }

// App is one run of a command.
type App struct {
	Env    Env
	Stdout *ModelWriter // env.Stdout, for verbs that people and agents read
	Out    *Printer

	// Flags of every verb.
	Room, As string
	JSON     bool
	Remote   string // URL of another post office; "": this machine's
	Insecure bool   // the token may be sent where others can read it on the way
	Beside   bool   // part of its client, not a command in an agent's shell
	Whole    bool   // uses the whole screen, so no other question may be asked there

	args   []string
	front  []Group        // verbs that every program has
	linked []Verb         // verbs of the post office's program
	Asked  string         // the verb, for hints
	Office *client.Office // created at first use
	Link   func(up bool)  // called when the connection of a watch breaks, and when there is another

	server  string // directory of the client's server that runs this and serves several windows; "": none
	placed  map[wire.Place]wire.Placed
	token   *wire.Status // the post office's answer about the token, once asked
	shows   bool         // show an agent's token to this machine's post office
	guessed bool         // Who found its answer only by the shell in which the command runs
}

// Main runs the command with the given arguments and returns the exit status. front are the groups of verbs that
// every program has, linked the post office's verbs that are linked into this program; without them this is only the
// front, which runs the other program for them.
func Main(args []string, env Env, front []Group, linked ...Verb) int {
	if len(args) > 0 && args[0] == "--version" {
		args = append([]string{"version"}, args[1:]...)
	}
	a := &App{Env: env, Out: NewPrinter(env), JSON: wantsJSON(args), args: args, front: front, linked: linked}
	a.Stdout = &ModelWriter{To: env.Stdout, json: a.JSON}
	if isHook(args) {
		return a.hook(args)
	}
	a.Env.Stdout = a.Stdout
	if a.JSON {
		a.Env.Stdout = &JSONWriter{To: a.Stdout}
	}
	a.Out.To = a.Env.Stdout
	if _, agent := config.AgentClient(env.Environ); agent {
		a.ForModel()
	}
	if id, client := a.Session(); id != "" && client == "codex" {
		a.LeaveServer()
	}
	a.meetFront()
	root := newRoot(a, args)
	root.SetArgs(keyLast(args))
	err := root.ExecuteContext(context.Background())
	if a.Office != nil {
		a.meetOffice(a.Office.Version())
		a.Office.Close()
	}
	if err == nil {
		err = a.Out.err
	}
	if left := a.Stdout.flush(); err == nil {
		err = left
	}
	return a.finish(err)
}

// keyLast moves a machine's key that begins with a dash, as one in 64 does, to the end, where it is no flag.
func keyLast(args []string) []string {
	for i, arg := range args {
		if arg == "--" {
			break
		}
		if !strings.HasPrefix(arg, "-") {
			continue
		}
		if _, err := mail.ParseKey(arg); err == nil {
			return slices.Concat(args[:i], args[i+1:], []string{"--", arg})
		}
	}
	return args
}

// ForModel records that a model reads the command's output.
func (a *App) ForModel() {
	a.Stdout.forModel()
	if a.Stdout.Reading {
		a.Out.Color, a.Out.Wide = false, 0
	}
}

// wantsJSON finds --json even where the flags themselves may be wrong.
func wantsJSON(args []string) bool {
	for _, arg := range args {
		switch arg {
		case "--json", "--json=true":
			return true
		case "--":
			return false
		}
	}
	return false
}

// Post returns the post office, which the first call starts if it does not run.
func (a *App) Post() (*client.Office, error) {
	if a.Office != nil {
		return a.Office, nil
	}
	if a.Remote != "" {
		office, err := a.remote()
		a.Office = office
		return office, err
	}
	opts := client.Options{Token: a.ownToken(), Link: a.Link}
	if !a.shows {
		opts.Session, opts.Use = a.shell()
		opts.Token, opts.Guessed, opts.Confirm = a.scriptToken(), a.guessed, a.confirm
	}
	office, err := a.local(true, opts)
	a.Office = office
	return office, err
}

// local returns the post office of this machine, which the first call starts if starts is true and none runs.
func (a *App) local(starts bool, opts client.Options) (*client.Office, error) {
	home, err := config.FindHome(a.Env.Getenv)
	if err == nil {
		err = home.CheckSocket(false)
	}
	if err != nil {
		return nil, err
	}
	opts.Socket = home.Socket()
	if starts {
		opts.Start = func(ctx context.Context) error { return a.autostart(ctx, home) }
	}
	return client.New(opts)
}

// Service returns the command's room, as its caller sees it.
func (a *App) Service(ctx context.Context) (mail.Service, error) {
	who, err := a.Who()
	if err != nil {
		return nil, err
	}
	return a.RoomAs(ctx, who)
}

// Existing is Service for a command that only looks: a room that --room names must exist, since a misspelt name would
// look like a room without mail. The room of a directory may have no mail yet.
func (a *App) Existing(ctx context.Context) (mail.Service, error) {
	svc, err := a.Service(ctx)
	if err != nil || a.Room == "" {
		return svc, err
	}
	st, err := svc.Status(ctx)
	switch code := mail.CodeOf(err); {
	case code == mail.Unavailable, code == mail.Timeout: // do not wait twice for a post office that does not answer
		return nil, err
	case err != nil || st.Seq != 0:
		return svc, nil // the command's own call reports the error
	}
	rooms, err := a.Office.Rooms(ctx)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(rooms))
	for i, r := range rooms {
		names[i] = string(r.Name)
	}
	if slices.Contains(names, a.Room) {
		return svc, nil
	}
	if near := policy.Nearest(a.Room, names, 1); len(near) > 0 {
		return nil, mail.Errorf(mail.NotFound, "there is no room %q. Did you mean %s?", a.Room, near[0])
	}
	return nil, mail.Errorf(mail.NotFound, "there is no room %q. To list the rooms: pennypost rooms", a.Room)
}

// RoomAs returns the command's room as an agent or the user sees it. The caller has checked that the command may
// speak for them.
func (a *App) RoomAs(ctx context.Context, who mail.Name) (mail.Service, error) {
	room, err := a.RoomName()
	if err != nil {
		return nil, err
	}
	office, err := a.Post()
	if err != nil {
		return nil, err
	}
	return office.Room(ctx, room, who)
}

// RoomName returns the command's room.
func (a *App) RoomName() (mail.RoomName, error) {
	if a.ByToken() {
		return a.farRoom()
	}
	p, err := a.findPlace(a.As, a.Env.Getenv, "", a.Env.Dir)
	if err != nil {
		return "", err
	}
	p.File.Agent = "" // no agent is needed here
	if id, client := a.Session(); a.server != "" && id != "" && p.Room == "" {
		at, err := a.place(&p, client, id, false)
		return at.Room, err
	}
	if p.Room != "" {
		return p.Room, nil
	}
	if p.File.Room == "" || p.File.Room == p.Own {
		return p.Own, nil
	}
	at, err := a.place(&p, "", "", false)
	return at.Room, err
}

// Who returns the name under which the command speaks: --as, else $PENNYPOST_AGENT, else the agent in whose shell it
// runs, else the user. An agent's process cannot be the user.
func (a *App) Who() (mail.Name, error) {
	if a.ByToken() {
		return a.farWho()
	}
	name := a.As
	if name == "" && a.scriptToken() != "" {
		return mail.User, nil
	}
	if name == "" {
		name = a.Env.Getenv("PENNYPOST_AGENT")
	}
	if name != "" && name != string(mail.User) {
		a.ForModel()
		return mail.ParseName(name)
	}
	if name == "" {
		if name, err := a.inShell(); name != "" || err != nil {
			a.ForModel()
			a.guessed = true
			return name, err
		}
	}
	if v, found := config.AgentClient(a.Env.Environ); found {
		return "", Hinted(config.RefuseUser(v),
			"name your agent: --as NAME, or PENNYPOST_AGENT=NAME in the environment")
	}
	return mail.User, nil
}

// OnlyUser refuses anyone but the user.
func (a *App) OnlyUser(may string) error {
	who, err := a.Who()
	if err == nil && who != mail.User {
		err = mail.Errorf(mail.Denied, "only the user may %s; you are %s", may, who)
	}
	return err
}

// Group makes the commands of some verbs: it returns nil for a verb of another group.
type Group func(a *App, verb string) *cobra.Command

// NewGroup returns the group of some verbs. Their commands are made from the value that of returns for a run of the
// program.
func NewGroup[Run any](of func(*App) Run, verbs map[string]func(Run) *cobra.Command) Group {
	return func(a *App, verb string) *cobra.Command {
		if command := verbs[verb]; command != nil {
			return command(of(a))
		}
		return nil
	}
}

// Verb is a line in the table of verbs.
type Verb struct {
	Name string
	// Short describes a verb of the post office's program, where its New is.
	Short string
	New   func(*App) *cobra.Command
	Also  string // another name, with a line of its own outside the manual

	group string // in the manual; "": programs run it, and the manual omits it
}

// verbs returns all verbs in the order of the manual. Those without New are in a group of the front, or they are the
// post office's and linked only into its program.
func verbs() []Verb {
	const (
		openalice   = "OpenAlice's workspace Inbox: inbox_push, /api/inbox and data/inbox/entries.jsonl"
		claudeteams = "Claude Code's agent teams: inboxes below ~/.claude/teams, and teams that Pennypost runs " +
			"in the same form"
	)
	var all []Verb
	for _, g := range []struct {
		name  string
		verbs []Verb
	}{
		{"Mail", []Verb{
			{Name: "inbox"}, {Name: "read"}, {Name: "reply"},
			{Name: "answer"}, {Name: "adopt"},
			{Name: "decline"}, {Name: "mark"},
			{Name: "send"}, {Name: "outbox"}, {Name: "scheduled"}, {Name: "withdraw"}, {Name: "wait"},
			{Name: "watch"}, {Name: "history"}, {Name: "waiting"},
			{Name: "stuck"}, {Name: "dialogs"}, {Name: "claims"}, {Name: "away"},
		}},
		{"Agents", []Verb{{Name: "agents"}, {Name: "attach"}}},
		{"Office", []Verb{
			{Name: "open"}, {Name: "status"}, {Name: "stop"},
			{Name: "serve", Short: "run the post office"}, {Name: "rooms"},
			{Name: "demo", Short: "watch a small team at work"},
		}},
		{"Set up", []Verb{
			{Name: "setup"}, {Name: "remove"},
			{Name: "install"}, {Name: "uninstall"}, {Name: "doctor"},
			{Name: "config"}, {Name: "notify"}, {Name: "service"},
			{Name: "credentials"}, {Name: "cluster"}, {Name: "machines"},
			{Name: "invite"}, {Name: "join"}, {Name: "leave"},
			{Name: "mcp", Short: "serve MCP on standard input and output"}, {Name: "completion", New: newCompletion},
			{Name: "version", New: newVersion}, {Name: "update", Short: "get a newer release, or the previous one"},
		}},
		{"Data", []Verb{
			{Name: "export"}, {Name: "import"}, {Name: "backup"},
			{Name: "restore", Short: "create a home from a backup"}, {Name: "archive"},
			{Name: "erase"}, {Name: "verify"}, {Name: "bridge"},
		}},
		{"Dialects", []Verb{
			{Name: "agenties", Short: "the mailbox of Agenties: .agenties/mailbox.jsonl and its three tools"},
			{Name: "haak", Short: "HAAK's agent mailbox: sessions, roles, tags, data/agent-mailbox.jsonl"},
			{Name: "superportia", Short: "mailboxes of agents by identity, as in SuperPortia's agent messaging"},
			{Name: "openalice", Short: openalice, Also: "workspace"},
			{Name: "claudeteams", Short: claudeteams, Also: "team"},
		}},
		{"", []Verb{
			{Name: "hook", New: newHook}, {Name: "monitor"}, {Name: "poster"}, {Name: "demo-agent"},
			{Name: deskVerb}, {Name: "doors"}, {Name: "relay"}, {Name: "workspace", Short: openalice},
			{Name: "team", Short: claudeteams},
		}},
	} {
		for _, v := range g.verbs {
			v.group = g.name
			all = append(all, v)
		}
	}
	return all
}

// ownWords are the verbs whose answer to an agent contains no text of others except their names, and those that pass
// bytes to programs. The output of any other verb for an agent is fenced.
var ownWords = []string{"send", "reply", "answer", "decline", "mark", "withdraw", "stop", "serve", "demo", "install",
	"uninstall", "setup", "remove", "config", "service", "join", "leave", "mcp", "completion", "version", "update",
	"export", "import", "backup", "restore", "archive", "erase", "hook", "monitor", "poster", "demo-agent", "doors",
	"relay"}

// newRoot returns the root command with the verb that args name, or with all verbs if they name none.
func newRoot(a *App, args []string) *cobra.Command {
	root := &cobra.Command{
		Use:           "pennypost",
		Short:         "a post office for AI agents and the people who work with them",
		Long:          rootHelp,
		SilenceErrors: true, SilenceUsage: true,
		Args:              cobra.ArbitraryArgs,
		PersistentPreRunE: a.checkHere,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownVerb(args[0])
			}
			return a.alone(cmd)
		},
	}
	root.SetOut(a.Env.Stdout)
	root.SetErr(a.Env.Stderr)
	root.SetIn(a.Env.Stdin)
	root.SetHelpFunc(a.manual)
	root.SetFlagErrorFunc(a.badFlag)
	flags := root.PersistentFlags()
	flags.StringVar(&a.Room, "room", "",
		"`ROOM` to use; default: $PENNYPOST_ROOM, else that of the Git repository, else \"default\"")
	flags.StringVar(&a.As, "as", "",
		"`NAME` to act as; default: $PENNYPOST_AGENT, else the user. Inside an agent's session: that agent")
	flags.BoolVar(&a.JSON, "json", a.JSON, "answer in JSON, one value per line")
	flags.StringVar(&a.Remote, "remote", "",
		"`URL` of another post office to use; $PENNYPOST_TOKEN identifies you there")
	flags.BoolVar(&a.Insecure, "insecure", false,
		"send the token to --remote even if others can read it on the way")
	_ = root.RegisterFlagCompletionFunc("room", a.CompleteRoom)
	_ = root.RegisterFlagCompletionFunc("as", a.CompleteAgent)
	for _, v := range a.chosen(args) {
		root.AddCommand(a.command(v))
	}
	if a.Asked != "" {
		root.SetHelpCommand(&cobra.Command{Hidden: true}) // "help" is another verb
	}
	return root
}

// chosen returns the verb that args begin with, or all verbs.
func (a *App) chosen(args []string) []Verb {
	all := verbs()
	if len(args) == 0 {
		return all
	}
	for _, v := range all {
		if v.Name == args[0] {
			a.Asked, a.Stdout.ours = v.Name, slices.Contains(ownWords, v.Name)
			return []Verb{v}
		}
	}
	return all
}
