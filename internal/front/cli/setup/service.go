package setup

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"pennypost/internal/config"
	"pennypost/internal/front/cli"
	"pennypost/internal/front/install"
	"pennypost/internal/mail"
)

const serviceHelp = `Let the system run the post office: a systemd unit of this user, or a launchd agent on macOS.
This is optional, because commands start a post office when none is running. It is for a machine where
one should always run, for instance because you keep its pages open.

A post office that a command started keeps running until pennypost stop; then the system starts its own.`

func newService(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "service", Short: "let the system run the post office", Long: serviceHelp,
		Example: "pennypost service install\npennypost service install --dry-run\npennypost service " +
			"status\npennypost service uninstall",
		Args: cli.NoArgs,
		RunE: cli.RunAt(a.unit, a.serviceStatus),
	}
	var dryRun bool
	dry := cli.Flag{Into: &dryRun, Name: "dry-run", About: "show what would be done, and do nothing"}
	cmd.AddCommand(cli.WithFlags(&cobra.Command{
		Use: "install", Short: "write the unit and start it", Args: cli.NoArgs,
		RunE: cli.RunAt(a.unit, func(_ context.Context, u unit, _ []string) error {
			return a.serviceInstall(u, dryRun)
		}),
	}, dry), cli.WithFlags(&cobra.Command{
		Use: "uninstall", Short: "stop the unit and remove it", Args: cli.NoArgs,
		RunE: cli.RunAt(a.unit, func(_ context.Context, u unit, _ []string) error {
			return a.serviceUninstall(u, dryRun)
		}),
	}, dry), &cobra.Command{
		Use: "status", Short: "show whether the unit is installed", Args: cli.NoArgs,
		RunE: cli.RunAt(a.unit, a.serviceStatus),
	})
	return cmd
}

// unit is the service of this system.
type unit struct {
	install.Unit
	before    string // the installed text; "": none
	reachable bool   // its manager is reachable
}

func (a *app) unit(context.Context) (u unit, err error) {
	o, err := a.installOptions(installFlags{})
	if err != nil {
		return u, err
	}
	home, err := config.FindHome(a.Env.Getenv)
	if err != nil {
		return u, err
	}
	u.Unit, err = install.Service(o, string(home), a.Env.Getenv("PENNYPOST_HOME") != "" ||
		a.Env.Getenv("XDG_STATE_HOME") != "")
	if err != nil {
		return u, err
	}
	_, missing := exec.LookPath(u.Manager)
	u.reachable = missing == nil
	if runtime.GOOS == "linux" { // systemctl may exist without a user's systemd, as in a container
		_, err := os.Stat(filepath.Join(a.Env.Getenv("XDG_RUNTIME_DIR"), "bus"))
		u.reachable = u.reachable && a.Env.Getenv("XDG_RUNTIME_DIR") != "" && err == nil
	}
	u.before, err = u.Read()
	return u, err
}

// serviceOutcome is the JSON answer of the verbs of service.
type serviceOutcome struct {
	Path      string   `json:"path"`
	Installed bool     `json:"installed"`
	Changed   bool     `json:"changed"`
	DryRun    bool     `json:"dry_run,omitzero"`
	Ran       []string `json:"ran,omitzero"`
	Type      []string `json:"type,omitzero"` // commands left to type
	Unit      string   `json:"unit,omitempty"`
}

func (a *app) serviceInstall(u unit, dryRun bool) error {
	out := serviceOutcome{Path: u.Path, Installed: !dryRun, Changed: u.before != u.Text, DryRun: dryRun, Unit: u.Text}
	if dryRun {
		out.Type = typed(u.Start)
		return a.sayService(out, "This would be written to "+u.Path+":", u.Text)
	}
	if out.Changed {
		if err := u.Write(); err != nil {
			return err
		}
	}
	if !u.reachable {
		out.Type = typed(u.Start)
	} else if err := a.runAll(u.Start, &out); err != nil {
		return err
	}
	said := "Wrote " + u.Path + "."
	if !out.Changed {
		said = u.Path + " is up to date."
	}
	return a.sayService(out, said, "")
}

// runAll runs commands until one fails.
func (a *app) runAll(commands []install.Command, out *serviceOutcome) error {
	for _, c := range commands {
		if said, err := exec.Command(c[0], c[1:]...).CombinedOutput(); err != nil {
			return cli.Hinted(mail.Errorf(mail.Internal, "%s: %s", c, firstLine(string(said), err)), c.String())
		}
		out.Ran = append(out.Ran, c.String())
	}
	return nil
}

// typed returns the command lines to type.
func typed(commands []install.Command) []string {
	var lines []string
	for _, c := range commands {
		lines = append(lines, c.String())
	}
	return lines
}

// serviceUninstall stops the unit before it removes the file: otherwise the manager would keep a unit without a file.
func (a *app) serviceUninstall(u unit, dryRun bool) error {
	there := u.before != ""
	out := serviceOutcome{Path: u.Path, Changed: there, Installed: dryRun && there, DryRun: dryRun}
	switch {
	case !there:
		return a.sayService(out, "There is no "+u.Path+".", "")
	case dryRun:
		out.Type = append(typed(u.Stop), install.Command{"rm", u.Path}.String())
		return a.sayService(out, "This would be removed: "+u.Path, "")
	case !u.reachable:
		out.Type = typed(u.Stop)
	default:
		if err := a.runAll(u.Stop, &out); err != nil {
			return err
		}
	}
	if err := u.Remove(); err != nil {
		return err
	}
	if u.reachable {
		if err := a.runAll(u.Forget, &out); err != nil {
			return err
		}
	}
	return a.sayService(out, "Removed "+u.Path+".", "")
}

func (a *app) serviceStatus(_ context.Context, u unit, _ []string) error {
	there := u.before != ""
	out := serviceOutcome{Path: u.Path, Installed: there, Changed: there && u.before != u.Text}
	said := "No service is installed. To install one, which is optional: pennypost service install"
	switch {
	case out.Changed:
		said = u.Path + " exists, but differs from what this version would write."
		out.Type = []string{"pennypost service install"}
	case out.Installed:
		said = u.Path + " is installed."
		out.Type = typed(u.Look)
	}
	return a.sayService(out, said, "")
}

func (a *app) sayService(out serviceOutcome, said, text string) error {
	return cli.Answer(a.App, out, nil, func(out serviceOutcome) error {
		a.Out.Line("%s", said)
		a.Out.Write(text)
		for _, line := range out.Ran {
			a.Out.Line("ran   %s", line)
		}
		for _, line := range out.Type {
			a.Out.Line("type  %s", line)
		}
		return nil
	})
}

// service checks the unit, if there is one.
func (d *doctor) service(ctx context.Context) {
	u, err := d.app.unit(ctx)
	switch {
	case err != nil, u.before == "":
	case u.before != u.Text:
		d.say("service", cli.Problem, "pennypost service install",
			"%s differs from what this program would write: it may start another one", u.Path)
	default:
		d.say("service", cli.Well, "", "%s", u.Path)
	}
}
