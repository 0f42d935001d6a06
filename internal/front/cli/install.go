package cli

import (
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pennypost/internal/config"
	"pennypost/internal/front/install"
	"pennypost/internal/mail"
)

const installHelp = `Write Pennypost into the configuration of an agent client: its MCP server, and the hooks that
tell the agent about its mail. Without CLIENT, show which clients are known and what is installed.

What is in the files is kept, with comments, order and layout. A file is copied to
NAME.pennypost-backup before it is changed for the first time, and replaced whole. A file that
cannot be understood is left alone. A second installation changes nothing, unless this program
moved: then the entries follow it. With --as the entries hold that name; without, the agent's name
is made of client and directory.

CLIENT is one of:
`

const uninstallHelp = `Take Pennypost out of the configuration of an agent client.

A file that nobody changed since the installation becomes again exactly what it was before; if there
was no file, it is removed. From any other file only our entries are removed. The copy from before
then stays beside it until the next installation.

CLIENT is one of:
`

type installFlags struct {
	project, user, dryRun, trust bool
}

func newInstall(a *App) *cobra.Command {
	var f installFlags
	cmd := &cobra.Command{
		Use: "install [CLIENT]", Short: "make an agent client use Pennypost", Long: installHelp + clientRows(),
		Example: "pennypost install claude\npennypost install codex --dry-run\npennypost install cursor --project " +
			"--as builder",
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.installed(f)
			}
			return a.change(f, args, install.Install)
		},
	}
	f.register(cmd, "install")
	cmd.Flags().BoolVar(&f.trust, "trust", false,
		"of codex: trust the hooks, as its dialog does; without, it asks you")
	return cmd
}

func newUninstall(a *App) *cobra.Command {
	var f installFlags
	cmd := &cobra.Command{
		Use: "uninstall CLIENT", Short: "undo what install did", Long: uninstallHelp + clientRows(),
		Example: "pennypost uninstall claude\npennypost uninstall cursor --project --dry-run",
		RunE:    func(_ *cobra.Command, args []string) error { return a.change(f, args, install.Uninstall) },
	}
	f.register(cmd, "undo")
	return cmd
}

func (f *installFlags) register(cmd *cobra.Command, do string) {
	cmd.Flags().BoolVar(&f.user, "user", false, do+" it for all your projects, which is the default")
	cmd.Flags().BoolVar(&f.project, "project", false, do+" it for the project around the working directory")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "show what would change, as a diff, and change nothing")
	for _, c := range install.Clients() {
		cmd.ValidArgs = append(cmd.ValidArgs, c.Name)
	}
}

// clientRows lists the clients for the manual.
func clientRows() string {
	var b strings.Builder
	for _, c := range install.Clients() {
		b.WriteString("  " + pad(c.Name, 10) + c.Title)
		if !slices.Contains(c.Scopes, install.Project) {
			b.WriteString(" (--user only)")
		}
		b.WriteString("\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// installOptions returns where and what is installed.
func (a *App) installOptions(f installFlags) (*install.Options, error) {
	if f.project && f.user {
		return nil, Usage("--project and --user exclude each other")
	}
	home := a.Env.Getenv("HOME")
	if home == "" {
		home = a.Env.Getenv("USERPROFILE") // Windows
	}
	if home == "" {
		return nil, Usage("there is no home directory: set HOME")
	}
	o := &install.Options{
		Scope: install.User, Home: home, Root: config.ProjectDir(a.Env.Dir), Getenv: a.Env.Getenv, GOOS: runtime.GOOS,
		Trust: f.trust,
	}
	if o.Root == home { // which may be kept in Git, and is no project
		o.Root = a.Env.Dir
	}
	if f.project {
		o.Scope = install.Project
	}
	if f.project && o.Root == home {
		return nil, Usage("your home directory is no project; go into one, or leave --project away")
	}
	if a.As != "" {
		name, err := mail.ParseName(a.As)
		if err == nil {
			err = name.CheckNew()
		}
		if err != nil {
			return nil, err
		}
		o.As = name
	}
	var err error
	o.Binary, err = install.Binary()
	return o, err
}

// outcome is what install and uninstall say in JSON.
type outcome struct {
	Client  string           `json:"client"`
	Scope   install.Scope    `json:"scope"`
	DryRun  bool             `json:"dry_run,omitzero"`
	Changed bool             `json:"changed"`
	Binary  string           `json:"binary"`
	Files   []install.Change `json:"files"`
	Notes   []string         `json:"notes,omitzero"`
	Diff    string           `json:"diff,omitempty"` // with dry_run
}

// change installs or uninstalls.
func (a *App) change(f installFlags, args []string, plan func(install.Client, *install.Options) (*install.Plan,
	error)) error {
	if len(args) != 1 {
		return Usage("say one client: pennypost %s CLIENT", a.verb)
	}
	c, err := install.Find(args[0])
	if err != nil {
		return err
	}
	o, err := a.installOptions(f)
	if err != nil {
		return err
	}
	if _, err := a.OfficeProgram(); err != nil && a.verb == "install" {
		return err // the client would start what cannot start
	}
	again := "pennypost " + a.verb + " " + c.Name
	if f.project && slices.Contains(c.Scopes, install.Project) {
		again += " --project"
	}
	p, err := plan(c, o)
	if err != nil {
		return Hinted(err, again)
	}
	if !f.dryRun {
		if err := p.Apply(); err != nil {
			return Hinted(err, again)
		}
	}
	if a.JSON {
		out := outcome{c.Name, o.Scope, f.dryRun, p.Changed(), o.Binary, slices.Concat([]install.Change{}, p.Changes),
			p.Notes, ""}
		if f.dryRun {
			out.Diff = strings.ToValidUTF8(string(p.Diff()), "\uFFFD")
		}
		a.Out.Value(out)
		return nil
	}
	a.showPlan(p, f.dryRun)
	return nil
}

func (a *App) showPlan(p *install.Plan, dryRun bool) {
	if dryRun {
		a.Out.write(string(p.Diff()))
	}
	var rows [][]string
	for _, ch := range p.Changes {
		row := []string{string(ch.Action), OneLine(ch.Path), ch.What}
		if ch.Backup != "" && ch.Action != install.Keep {
			row = append(row, "copy: "+OneLine(ch.Backup[strings.LastIndexAny(ch.Backup, `/\`)+1:]))
		}
		rows = append(rows, row)
	}
	switch {
	case !p.Changed() && a.verb == "uninstall":
		a.Out.Line("There is nothing of Pennypost in the configuration of %s.", p.Client.Title)
	case !p.Changed():
		a.Out.Line("%s has it already; nothing was changed.", p.Client.Title)
		a.Out.Table(rows)
	case dryRun:
		a.Out.Line("Nothing was changed; this would be:")
		a.Out.Table(rows)
	default:
		a.Out.Table(rows)
		for _, note := range p.Notes {
			a.Out.Line("%s", note)
		}
	}
}

// installed shows what is installed where.
func (a *App) installed(f installFlags) error {
	o, err := a.installOptions(f)
	if err != nil {
		return err
	}
	type row struct {
		Client    string        `json:"client"`
		Scope     install.Scope `json:"scope"`
		Present   bool          `json:"present"`
		Installed bool          `json:"installed"`
	}
	list, rows := []row{}, [][]string{}
	for _, r := range install.Look(*o) {
		list = append(list, row{r.Client.Name, r.Scope, r.Present, r.Installed()})
		state := a.Out.Dim("not installed")
		switch {
		case r.Installed():
			state = "installed"
		case r.Present && r.Scope == install.User:
			state = "the client is here: pennypost install " + r.Client.Name
		}
		rows = append(rows, []string{r.Client.Name, string(r.Scope), r.Client.Title, state})
	}
	if a.JSON {
		a.Out.Value(struct {
			Clients []row `json:"clients"`
		}{list})
		return nil
	}
	a.Out.Table(rows)
	return nil
}
