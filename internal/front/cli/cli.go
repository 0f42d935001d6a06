// Package cli is the command line: one file a verb, each a few lines over mail.Service.
//
// What holds for every verb: the answer goes to standard output and everything else to standard error; --json gives
// the values of package mail, one a line, with what a terminal would obey escaped; an error is "pennypost: what
// happened" and, where something can be done, "hint: what to type next"; exit statuses are in exit.go. Mail is text
// from strangers: what a terminal would obey is made visible (text.go).
//
// A command is run thousands of times a day by agents and hooks, so it builds the one verb that was asked for, asks
// the post office once, and reads no configuration.
package cli

import (
	"context"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/office/daemon"
	"pennypost/internal/wire/client"
)

// Env is what a command gets from the system it runs on.
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
		dir = "/" // it was removed: there is no repository around it
	}
	return Env{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Environ: os.Environ(), Dir: dir}
}

// Getenv returns the value of a variable, "" without one.
func (e *Env) Getenv(name string) string {
	for _, v := range e.Environ {
		if value, ok := strings.CutPrefix(v, name); ok && strings.HasPrefix(value, "=") {
			return value[1:]
		}
	}
	return ""
}

// app is one run of a command.
type app struct {
	env    Env
	stdout *modelWriter // what env.Stdout is for verbs that people and agents read
	out    *printer

	// Flags of every verb.
	room, as string
	json     bool

	verb   string         // for hints
	office *client.Office // made by the first who needs it
}

// Main runs the command with the given arguments and returns the exit status.
func Main(args []string, env Env) int {
	if len(args) > 0 && args[0] == "--version" {
		args = append([]string{"version"}, args[1:]...)
	}
	a := &app{env: env, out: newPrinter(env), json: wantsJSON(args)}
	a.stdout = &modelWriter{w: env.Stdout, json: a.json}
	if isHook(args) {
		return a.hook(args)
	}
	a.env.Stdout = a.stdout
	if a.json {
		a.env.Stdout = &jsonWriter{w: a.stdout}
	}
	a.out.w = a.env.Stdout
	if _, agent := daemon.AgentClient(env.Environ); agent {
		a.forModel()
	}
	root := newRoot(a, args)
	root.SetArgs(args)
	err := root.ExecuteContext(context.Background())
	if a.office != nil {
		a.office.Close()
	}
	if err == nil {
		err = a.out.err
	}
	if left := a.stdout.flush(); err == nil {
		err = left
	}
	return a.finish(err)
}

// forModel notes that a model reads what the command says.
func (a *app) forModel() {
	a.stdout.forModel()
	a.out.color = a.out.color && !a.stdout.reading
}

// wantsJSON finds --json where the flags themselves may be what is wrong.
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

// post returns the post office, which is started by the first call if it does not run.
func (a *app) post() (*client.Office, error) {
	if a.office != nil {
		return a.office, nil
	}
	home, err := config.FindHome(a.env.Getenv)
	if err != nil {
		return nil, err
	}
	if err := home.CheckSocket(false); err != nil {
		return nil, err
	}
	a.office, err = client.New(client.Options{Socket: home.Socket(), Start: func(ctx context.Context) error {
		return a.autostart(ctx, home)
	}})
	return a.office, err
}

// service returns the room that the command means as whoever runs the command sees it.
func (a *app) service(ctx context.Context) (mail.Service, error) {
	who, err := a.who()
	if err != nil {
		return nil, err
	}
	return a.roomAs(ctx, who)
}

// roomAs returns the room that the command means as somebody sees it. That the command may speak for them has been
// checked.
func (a *app) roomAs(ctx context.Context, who mail.Name) (mail.Service, error) {
	room, err := a.roomName()
	if err != nil {
		return nil, err
	}
	office, err := a.post()
	if err != nil {
		return nil, err
	}
	return office.Room(ctx, room, who)
}

func (a *app) roomName() (mail.RoomName, error) {
	return config.FindRoom(a.room, a.env.Getenv, a.env.Dir)
}

// who returns as whom the command speaks: --as, else $PENNYPOST_AGENT, else the user. An agent's process cannot be the
// user.
func (a *app) who() (mail.Name, error) {
	name := a.as
	if name == "" {
		name = a.env.Getenv("PENNYPOST_AGENT")
	}
	if name != "" && name != string(mail.User) {
		a.forModel()
		return mail.ParseName(name)
	}
	if v, found := daemon.AgentClient(a.env.Environ); found {
		return "", hinted(daemon.RefuseUser(v),
			"say which agent you are: --as NAME, or PENNYPOST_AGENT=NAME in the environment")
	}
	return mail.User, nil
}

// verb is a line in the table of verbs.
type verb struct {
	name string
	new  func(*app) *cobra.Command
}

// verbs returns all verbs in the order of the manual.
func verbs() []verb {
	out := []verb{
		{"serve", newServe}, {"open", newOpen}, {"status", newStatus}, {"stop", newStop},
		{"send", newSend}, {"inbox", newInbox}, {"read", newRead}, {"mark", newMark},
		{"wait", newWait}, {"watch", newWatch}, {"history", newHistory},
		{"agents", newAgents}, {"rooms", newRooms},
		{"export", newExport}, {"import", newImport}, {"verify", newVerify}, {"archive", newArchive},
		{"erase", newErase},
		{"bridge", newBridge},
		{"install", newInstall}, {"uninstall", newUninstall}, {"doctor", newDoctor}, {"service", newService},
		{"monitor", newMonitor}, {"poster", newPoster},
		{"config", newConfig}, {"mcp", newMCP}, {"hook", newHook}, {"demo", newDemo}, {"demo-agent", newDemoAgent},
		{"completion", newCompletion}, {"version", newVersion},
	}
	return append(out, dialectVerbs()...)
}

// newRoot returns the root command with the verb that args name, or with all if they name none.
func newRoot(a *app, args []string) *cobra.Command {
	root := &cobra.Command{
		Use:           "pennypost",
		Short:         "a post office for AI agents and the people who work with them",
		Long:          rootHelp,
		SilenceErrors: true, SilenceUsage: true,
		Args:              cobra.ArbitraryArgs,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownVerb(args[0])
			}
			return cmd.Help()
		},
	}
	root.SetOut(a.env.Stdout)
	root.SetErr(a.env.Stderr)
	root.SetIn(a.env.Stdin)
	root.SetHelpFunc(a.manual)
	root.SetFlagErrorFunc(a.badFlag)
	flags := root.PersistentFlags()
	flags.StringVar(&a.room, "room", "",
		"`ROOM` to use; default: $PENNYPOST_ROOM, else that of the Git repository, else \"default\"")
	flags.StringVar(&a.as, "as", "",
		"`NAME` to act as; default: $PENNYPOST_AGENT, else the user. Inside an agent's session: that agent")
	flags.BoolVar(&a.json, "json", a.json, "answer in JSON, one value a line")
	_ = root.RegisterFlagCompletionFunc("room", a.completeRoom)
	_ = root.RegisterFlagCompletionFunc("as", a.completeAgent)
	for _, v := range a.chosen(args) {
		root.AddCommand(v.new(a))
	}
	if a.verb != "" {
		root.SetHelpCommand(&cobra.Command{Hidden: true}) // "help" is another verb
	}
	return root
}

// chosen returns the verb that args begin with, or all.
func (a *app) chosen(args []string) []verb {
	all := verbs()
	if len(args) == 0 {
		return all
	}
	for _, v := range all {
		if v.name == args[0] {
			a.verb = v.name
			return []verb{v}
		}
	}
	return all
}
