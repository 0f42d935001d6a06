package command

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pennypost/internal/base/process"
	"pennypost/internal/config"
	"pennypost/internal/front/cli"
	"pennypost/internal/front/cli/setup"
	"pennypost/internal/front/install"
	"pennypost/internal/mail"
	"pennypost/internal/office/daemon"
	"pennypost/internal/office/dialect"
)

// dialectVerbs returns the commands of the dialects: one per dialect, and one per top-level word of a dialect.
func dialectVerbs() (out []cli.Verb) {
	for _, d := range daemon.Dialects() {
		if len(d.Verbs) == 0 {
			continue
		}
		out = append(out, verbOf(d.Name, func(a *app) *cobra.Command { return newDialect(a, &d, "") }))
		for _, word := range d.Top {
			out = append(out, verbOf(word, func(a *app) *cobra.Command { return newDialect(a, &d, word) }))
		}
	}
	return out
}

func dialectNames() string {
	var names []string
	for _, d := range daemon.Dialects() {
		if len(d.Endpoints) > 0 {
			names = append(names, d.Name)
		}
	}
	return strings.Join(names, ", ")
}

// findDialect returns the dialect whose tools to serve; nil for the native ones.
func findDialect(name string) (*dialect.Dialect, error) {
	if name == "" {
		return nil, nil
	}
	d, err := dialect.Find(daemon.Dialects(), name)
	if err != nil {
		return nil, err
	}
	if len(d.Endpoints) == 0 {
		return nil, mail.Errorf(mail.Invalid, "%s has no MCP tools; %s have", name, dialectNames())
	}
	return d, nil
}

// newDialect returns the command of a dialect or, with under, the command of its verbs that begin with that word.
func newDialect(a *app, d *dialect.Dialect, under string) *cobra.Command {
	root := &cobra.Command{
		Use: d.Name, Short: d.About, Args: cobra.ArbitraryArgs,
		Long: d.About + ".\n\nSee docs/dialects/" + d.Name + ".md.",
	}
	if under != "" {
		root.Use = under
	}
	for i := range d.Verbs {
		v := &d.Verbs[i]
		words := strings.Fields(v.Path)
		if under != "" {
			if words[0] != under {
				continue
			}
			words = words[1:]
		}
		plant(a, root, d, v, words)
		if example, _, _ := strings.Cut(v.Example, "\n"); example != "" && strings.Count(root.Example, "\n") < 3 {
			root.Example += example + "\n"
		}
	}
	root.Example = strings.TrimSuffix(root.Example, "\n")
	for _, kit := range install.Kits() {
		if kit.Name == root.Name() {
			root.AddCommand(setup.KitCommands(a.App, kit, func(ctx context.Context) { a.bridgeProject(ctx, d) })...)
		}
	}
	root.RunE = cli.GroupRun
	return root
}

// plant adds a verb below root, with the groups that its words name.
func plant(a *app, root *cobra.Command, d *dialect.Dialect, v *dialect.Verb, words []string) {
	at := root
	for _, word := range words[:len(words)-1] {
		i := slices.IndexFunc(at.Commands(), func(c *cobra.Command) bool { return c.Name() == word })
		if i < 0 {
			at.AddCommand(&cobra.Command{Use: word, Short: word + " of " + d.Name, Args: cobra.ArbitraryArgs,
				RunE: cli.GroupRun})
			i = slices.IndexFunc(at.Commands(), func(c *cobra.Command) bool { return c.Name() == word })
		}
		at = at.Commands()[i]
	}
	cmd := &cobra.Command{Short: v.Short, Long: v.Long, Example: v.Example, Args: cobra.ArbitraryArgs}
	cmd.Use = strings.TrimSpace(words[len(words)-1] + " " + v.Args)
	collect := v.Bind(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		in := a.invocation(cmd.Context(), d, args)
		if err := collect(in); err != nil {
			return cli.Hinted(err, cmd.CommandPath()+" --help")
		}
		if v.Writes {
			a.bridgeProject(cmd.Context(), d)
		}
		return v.Run(cmd.Context(), in)
	}
	at.AddCommand(cmd)
}

func (a *app) invocation(ctx context.Context, d *dialect.Dialect, args []string) *dialect.Invocation {
	return &dialect.Invocation{
		// Some verbs always write JSON.
		Args: args, Stdin: a.Env.Stdin, Stdout: &cli.JSONWriter{To: a.Env.Stdout}, Stderr: a.Env.Stderr, JSON: a.JSON,
		Fenced: cli.FencedWriter{To: a.Stdout},
		Dir:    a.Env.Dir, Project: config.ProjectDir(a.Env.Dir), Getenv: a.Env.Getenv, Now: time.Now(),
		Caller: func(ctx context.Context) (mail.Name, error) {
			if _, err := a.identify(ctx, d); err != nil {
				return "", err
			}
			return a.Who()
		},
		As: a.serviceAs, Program: clientAbove, Address: a.address,
		Install: func(name, dir string, agent mail.Name, room mail.RoomName) ([]string, error) {
			return setup.InstallFor(a.App, name, dir, agent, room)
		},
		Bridge: func(ctx context.Context, dir string, mode mail.BridgeMode) (mail.BridgeStatus, error) {
			return a.addBridge(ctx, mail.Bridge{Dialect: d.Name, Dir: a.Absolute(dir), Mode: mode})
		},
	}
}

// clientAbove returns the nearest agent's client above this process, even if a wrapper of the hook is in between; if
// there is none, the program that started this process. A program that ends with the hook, such as timeout, does not
// count. Running below the result grants no rights, so it may be one level too high.
func clientAbove() string {
	for _, p := range process.Tree(os.Getppid()) {
		if config.AgentProgram(p.Names()) != "" {
			return p.Key
		}
	}
	program := process.Program(false)
	tree := process.Tree(process.Number(program))
	if len(tree) > 1 && tree[1].PID > 1 && slices.Contains([]string{"timeout", "nice", "sudo"}, tree[0].Names()[0]) {
		return tree[1].Key
	}
	return program
}

// address returns the HTTP address of the post office.
func (a *app) address(ctx context.Context) (string, error) {
	office, err := a.Post()
	if err != nil {
		return "", err
	}
	st, err := office.Status(ctx)
	for _, at := range st.Listen {
		if strings.HasPrefix(at, "http") {
			return at, err
		}
	}
	return "", err
}

// serviceAs returns the room as seen by a name.
func (a *app) serviceAs(ctx context.Context, name mail.Name) (mail.Service, error) {
	if name != mail.User {
		a.ForModel()
		var err error
		if name, err = mail.ParseName(string(name)); err != nil {
			return nil, err
		}
	} else if v, found := config.AgentClient(a.Env.Environ); found {
		return nil, config.RefuseUser(v)
	}
	return a.RoomAs(ctx, name)
}

// look returns the room for a caller without an identity: anyone may look at the roster and the bridges, even before
// it is known who looks.
func (a *app) look(ctx context.Context, d *dialect.Dialect) (mail.Service, error) {
	return a.RoomAs(ctx, "dialect-"+mail.Name(d.Name))
}

// identify finds out with the dialect's own rules for whom the command acts, if nothing else says it, and which other
// names it may use.
func (a *app) identify(ctx context.Context, d *dialect.Dialect) (also []mail.Name, err error) {
	if d.Identify == nil || a.As != "" || a.Env.Getenv("PENNYPOST_AGENT") != "" {
		return nil, nil
	}
	svc, err := a.look(ctx, d)
	if err != nil {
		return nil, err
	}
	all, err := d.Identify(ctx, svc, a.Env.Getenv)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	a.As = string(all[0])
	return all[1:], nil
}

// bridgeProject makes the room keep the dialect's files in the project, where its users expect them, if it keeps none.
func (a *app) bridgeProject(ctx context.Context, d *dialect.Dialect) {
	if !d.InProject {
		return
	}
	dir := config.ProjectDir(a.Env.Dir)
	st, err := a.addProjectBridge(ctx, d, dir)
	switch {
	case err != nil:
		fmt.Fprintf(a.Env.Stderr, "pennypost: the files of %s in %s are not synced: %v\nhint: in a shell of your "+
			"own: "+
			"pennypost bridge add %s %s\n", d.Name, dir, err, d.Name, dir)
	case st.ID != "":
		fmt.Fprintf(a.Env.Stderr,
			"pennypost: the files of %s in %s are now kept in sync; to see it: pennypost bridge list\n", d.Name,
			dir)
	}
}

// addProjectBridge returns an empty status if the dialect already has a bridge.
func (a *app) addProjectBridge(ctx context.Context, d *dialect.Dialect, dir string) (mail.BridgeStatus, error) {
	var none mail.BridgeStatus
	look, err := a.look(ctx, d)
	if err != nil {
		return none, err
	}
	list, err := look.Bridges(ctx)
	if err != nil || slices.ContainsFunc(list, func(b mail.BridgeStatus) bool { return b.Dialect == d.Name }) {
		return none, err
	}
	return a.addBridge(ctx, mail.Bridge{Dialect: d.Name, Dir: a.Absolute(dir)})
}

// addBridge adds a bridge as the user.
func (a *app) addBridge(ctx context.Context, b mail.Bridge) (mail.BridgeStatus, error) {
	user, err := a.serviceAs(ctx, mail.User)
	if err != nil {
		return mail.BridgeStatus{}, err
	}
	return user.AddBridge(ctx, b)
}
