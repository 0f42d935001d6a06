package setup

import (
	"context"
	"os/exec"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pennypost/internal/config"
	"pennypost/internal/front/cli"
	"pennypost/internal/front/install"
	"pennypost/internal/mail"
)

const installHelp = `Write Pennypost into the configuration of an agent client: its MCP server, and the hooks that
tell the agent about its mail. Without CLIENT, list the known clients and what is installed.

If a client asks you before it uses a tool, Pennypost's tools are allowed, and no others, because an
agent that is alone would wait at that question. --ask omits this, or removes it again.

The content of the files is kept, with comments, order and layout. Before its first change a file is
copied to NAME.pennypost-backup; files are replaced atomically. A file that cannot be parsed is not
changed. A second installation changes nothing, unless this program has moved: then the entries are
updated. With --as the entries contain that name; without, the agent's name is made from client and
directory.

CLIENT is one of:
`

const uninstallHelp = `Remove Pennypost from the configuration of an agent client.

A file that is unchanged since the installation is restored byte for byte; if there was none, it is
removed. From any other file only our entries are removed, and the copy from before the installation
stays beside it until the next one.

CLIENT is one of:
`

const kitInstallHelp = `Add to this project the files that agents of this dialect use: the scripts, which run
Pennypost with the same flags; the hook that shows the mail at session start; and the instructions that
tell the agent when to look again. From then on the project's mailbox is kept in step.

The content of the files is kept. If the project already has scripts of these names, it keeps them, and
none of ours are added; they continue to work, in step with the room. With --replace ours take their
place; uninstall restores the originals byte for byte. A second installation updates the files that are
as we wrote them, and leaves edited ones.`

const kitUninstallHelp = `Remove the files that install added to the project.

Edited scripts and instructions stay. A file that is unchanged since the installation is restored byte
for byte. Mail stays, and the mailbox's files are kept in step until the bridge is removed: pennypost
bridge remove.`

type installFlags struct {
	project, user, dryRun, trust, ask, dialogs, orchestrator, replace bool
}

func newInstall(a *app) *cobra.Command {
	var f installFlags
	return f.with("install", &cobra.Command{
		Use: "install [CLIENT]", Short: "make an agent client use Pennypost", Long: installHelp + clientRows(),
		Example: "pennypost install claude\npennypost install codex --dry-run\npennypost install cursor --project " +
			"--as builder",
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.installed(f)
			}
			return a.changeClient(f, args, install.Install)
		},
	},
		cli.Flag{Into: &f.trust, Name: "trust",
			About: "for codex: trust the hooks, as its dialog does; without, it asks you"},
		cli.Flag{Into: &f.ask, Name: "ask",
			About: "make the client ask you before it uses Pennypost's tools; without, they are allowed (claude, " +
				"gemini, qwen, copilot)"},
		cli.Flag{Into: &f.dialogs, Name: "dialogs",
			About: "for copilot: let its extension answer its dialogs, besides the dialog itself, when you " +
				"answer at your desk"},
		cli.Flag{Into: &f.orchestrator, Name: "orchestrator",
			About: "let the post office resume the orchestrator's session when mail should wake it and it has " +
				"ended (claude, codex, copilot, opencode, pi)"})
}

func newUninstall(a *app) *cobra.Command {
	var f installFlags
	return f.with("undo", &cobra.Command{
		Use: "uninstall CLIENT", Short: "undo what install did", Long: uninstallHelp + clientRows(),
		Example: "pennypost uninstall claude\npennypost uninstall cursor --project --dry-run",
		RunE:    func(_ *cobra.Command, args []string) error { return a.changeClient(f, args, install.Uninstall) },
	})
}

// with returns a command that changes a client, with its flags.
func (f *installFlags) with(do string, cmd *cobra.Command, more ...cli.Flag) *cobra.Command {
	for _, c := range install.Clients() {
		cmd.ValidArgs = append(cmd.ValidArgs, c.Name)
	}
	return cli.WithFlags(cmd, append(more, f.dry(),
		cli.Flag{Into: &f.user, Name: "user", About: do + " it for all your projects, which is the default"},
		cli.Flag{Into: &f.project, Name: "project",
			About: do + " it for the project around the working directory"})...)
}

func (f *installFlags) dry() cli.Flag {
	return cli.Flag{Into: &f.dryRun, Name: "dry-run", About: "show the changes as a diff, and change nothing"}
}

// clientRows lists the clients for the manual.
func clientRows() string {
	var b strings.Builder
	for _, c := range install.Clients() {
		b.WriteString("  " + cli.Pad(c.Name, 10) + c.Title)
		if !slices.Contains(c.Scopes, install.Project) {
			b.WriteString(" (--user only)")
		}
		b.WriteString("\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// installOptions returns the options of an installation.
func (a *app) installOptions(f installFlags) (*install.Options, error) {
	if f.project && f.user {
		return nil, cli.Usage("--project and --user exclude each other")
	}
	home := a.Env.Getenv("HOME")
	if home == "" {
		home = a.Env.Getenv("USERPROFILE") // Windows
	}
	if home == "" {
		return nil, cli.Usage("there is no home directory: set HOME")
	}
	o := &install.Options{
		Scope: install.User, Home: home, Root: config.ProjectDir(a.Env.Dir), Getenv: a.Env.Getenv, GOOS: runtime.GOOS,
		Trust: f.trust, Ask: f.ask, Dialogs: f.dialogs, Orchestrator: f.orchestrator, Replace: f.replace,
	}
	if o.Root == home { // it may be kept in Git, and is not a project
		o.Root = a.Env.Dir
	}
	if f.project {
		o.Scope = install.Project
	}
	if f.project && o.Root == home {
		return nil, cli.Usage("your home directory is not a project; go into one, or omit --project")
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
	data, err := config.FindHome(a.Env.Getenv)
	if err != nil {
		return nil, err
	}
	o.Config = data.File()
	if o.Room, err = a.RoomName(); err != nil {
		return nil, err
	}
	o.Binary, err = install.Binary()
	return o, err
}

// InstallFor makes a client that works in dir use Pennypost there as an agent of a room, and returns a report in
// lines. The directory's ProjectFile names the agent and the room, so that an installation for all projects, if there
// is one, serves this one too.
func InstallFor(run *cli.App, name, dir string, agent mail.Name, room mail.RoomName) (lines []string, err error) {
	a := &app{run}
	c, err := install.Find(name)
	if err != nil {
		return nil, err
	}
	o, err := a.installOptions(installFlags{})
	if err != nil {
		return nil, err
	}
	o.As, o.Root = "", dir
	everywhere := slices.ContainsFunc(install.Look(*o), func(r install.Report) bool {
		return r.Client.Name == name && r.Scope == install.User && r.Installed()
	})
	if slices.Contains(c.Scopes, install.Project) && !everywhere && dir != o.Home {
		o.Scope = install.Project
	}
	p, err := install.Install(c, o)
	if err != nil {
		return nil, err
	}
	file, changed, err := config.WriteProject(dir, config.Project{Room: room, Agent: agent})
	if err != nil {
		return nil, err
	}
	if changed {
		lines = append(lines, "written: "+file+" (who works there, and in which room)")
	}
	home := config.HomeDir(dir)
	if err := a.Record(context.Background(), room, mail.Grant{Dir: home},
		mail.Grant{Dir: home, Agent: agent}); err != nil {
		lines = append(lines, "a card on your desk will ask whether that file counts: "+err.Error())
	}
	if err := p.Apply(); err != nil {
		return lines, err
	}
	for _, ch := range p.Changes {
		lines = append(lines, string(ch.Action)+": "+ch.Path+" ("+ch.What+")")
	}
	return append(lines, p.Notes...), nil
}

// outcome is the JSON answer of install and uninstall.
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

// KitCommands returns the commands that put a kit into the project and take it out again. done is called after a kit
// was installed.
func KitCommands(run *cli.App, kit install.Client, done func(context.Context)) []*cobra.Command {
	a, f := &app{run}, installFlags{project: true}
	command := func(verb, short, long string, run func(context.Context) error, more ...cli.Flag) *cobra.Command {
		return cli.WithFlags(&cobra.Command{
			Use: verb, Short: short, Long: long, Args: cli.NoArgs,
			Example: "pennypost " + kit.Name + " " + verb + "\npennypost " + kit.Name + " " + verb + " --dry-run",
			RunE:    cli.Run(run),
		}, append(more, f.dry())...)
	}
	replace := cli.Flag{Into: &f.replace, Name: "replace",
		About: "replace the project's own scripts with Pennypost's; uninstall restores them"}
	return []*cobra.Command{
		command("install", "Add the files that "+kit.Title+"'s agents use to the project", kitInstallHelp,
			func(ctx context.Context) error {
				if _, err := a.OfficeProgram(); err != nil {
					return err // the scripts would start a missing program
				}
				err := a.change(f, kit, install.Install, "pennypost "+kit.Name+" install")
				if err == nil && !f.dryRun {
					done(ctx)
				}
				return err
			}, replace),
		command("uninstall", "Undo what install did", kitUninstallHelp, func(context.Context) error {
			return a.change(f, kit, install.Uninstall, "pennypost "+kit.Name+" uninstall")
		}),
	}
}

// changeClient installs or uninstalls the client that args name.
func (a *app) changeClient(f installFlags, args []string, plan planner) error {
	if len(args) != 1 {
		return cli.Usage("name one client: pennypost %s CLIENT", a.Asked)
	}
	c, err := install.Find(args[0])
	if err != nil {
		return err
	}
	if _, err := a.OfficeProgram(); err != nil && a.Asked == "install" {
		return err // the client would start a missing program
	}
	again := "pennypost " + a.Asked + " " + c.Name
	if f.project && slices.Contains(c.Scopes, install.Project) {
		again += " --project"
	}
	return a.change(f, c, plan, again)
}

// planner is install.Install or install.Uninstall.
type planner func(install.Client, *install.Options) (*install.Plan, error)

// carryOut makes a plan and, except for a dry run, carries it out. If the client writes one of the files meanwhile,
// it makes the plan again.
func carryOut(c install.Client, o *install.Options, plan planner, dryRun bool) (p *install.Plan, err error) {
	const tries = 3
	for range tries {
		if p, err = plan(c, o); err != nil || dryRun {
			return p, err
		}
		if err = p.Apply(); mail.CodeOf(err) != mail.Conflict {
			break
		}
	}
	return p, err
}

// change installs or uninstalls. again is the command to type after an error.
func (a *app) change(f installFlags, c install.Client, plan planner, again string) error {
	o, err := a.installOptions(f)
	if err != nil {
		return err
	}
	if program, err := exec.LookPath(c.Program); err == nil {
		o.Program = program
	}
	p, err := carryOut(c, o, plan, f.dryRun)
	if err != nil {
		return cli.Hinted(err, again)
	}
	if !p.Undoes && o.Program == "" && c.Program != "" {
		p.Notes = append(p.Notes, absent(c))
	}
	if o.As == mail.Orchestrator && a.Asked == "install" && !f.dryRun {
		a.grantLead(o, c, p)
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

// grantLead records that the client may be the orchestrator of the room, which the person who installs it so has
// granted. In other rooms a card asks.
func (a *app) grantLead(o *install.Options, c install.Client, p *install.Plan) {
	g := mail.Grant{Agent: mail.Orchestrator, Role: string(mail.Orchestrator), Client: c.Name}
	if o.Scope == install.Project {
		g.Dir = config.HomeDir(o.Root)
	}
	var err error
	if v, found := config.AgentClient(a.Env.Environ); found { // --as is the client's future name
		err = config.RefuseUser(v)
	} else {
		err = a.Record(context.Background(), o.Room, g)
	}
	if err != nil {
		p.Notes = append(p.Notes, "It may not be the orchestrator yet ("+err.Error()+"). A card on your desk "+
			"asks you "+
			"when it starts; or allow it now: pennypost agents grant orchestrator --client "+c.Name)
	}
}

func (a *app) showPlan(p *install.Plan, dryRun bool) {
	if dryRun {
		a.Out.Write(string(p.Diff()))
	}
	var rows, left [][]string
	for _, ch := range p.Changes {
		row := []string{string(ch.Action), cli.OneLine(ch.Path), ch.What}
		if ch.Backup != "" && ch.Action != install.Keep {
			row = append(row, "copy: "+cli.OneLine(ch.Backup[strings.LastIndexAny(ch.Backup, `/\`)+1:]))
		}
		if ch.Action == install.Leave {
			row = append(row, "it was edited; remove it yourself if you want")
			left = append(left, row)
		}
		if ch.Action == install.Spare {
			row = append(row, "it is not Pennypost's")
		}
		rows = append(rows, row)
	}
	switch {
	case !p.Changed() && p.Undoes:
		a.Out.Line("%s contains nothing of Pennypost.", p.Client.Title)
		a.Out.Table(left)
	case p.Spares() && !p.Changed():
		a.Out.Line("This project has scripts of its own. They stay, and continue to work on its files; Pennypost "+
			"added none. To replace them: pennypost %s install --replace", p.Client.Name)
		a.Out.Table(rows)
	case !p.Changed():
		a.Out.Line("%s is set up already; nothing was changed.", p.Client.Title)
		a.Out.Table(rows)
		a.showAbsent(p)
	case dryRun:
		a.Out.Line("Nothing was changed. These changes would be made:")
		a.Out.Table(rows)
		a.showAbsent(p)
	default:
		a.Out.Table(rows)
		for _, note := range p.Notes {
			a.Out.Line("%s", note)
		}
	}
}

// showAbsent says that the client is missing, even where the other notes, which concern a change, are omitted.
func (a *app) showAbsent(p *install.Plan) {
	if said := absent(p.Client); slices.Contains(p.Notes, said) {
		a.Out.Line("%s", said)
	}
}

// installed shows the installations.
func (a *app) installed(f installFlags) error {
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
			state = "not installed; to install: pennypost install " + r.Client.Name
		}
		rows = append(rows, []string{r.Client.Name, string(r.Scope), r.Client.Title, state})
	}
	type clients struct {
		Clients []row `json:"clients"`
	}
	return cli.Answer(a.App, clients{list}, nil, func(clients) error {
		a.Out.Table(rows)
		return nil
	})
}
