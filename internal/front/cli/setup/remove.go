package setup

import (
	"os"
	"strings"

	"github.com/spf13/cobra"

	"pennypost/internal/config"
	"pennypost/internal/front/cli"
	"pennypost/internal/front/install"
	"pennypost/internal/mail"
)

const removeHelp = `Undo pennypost setup, and ask before each step: remove Pennypost from the settings of the clients,
remove the service, the links on the PATH and the additions to config.toml, stop the post office, and, if
you agree, delete the mail and your token.

A file that is unchanged since setup is restored byte for byte; your own changes stay, and are named.
Project installations (--project) are removed in the project: pennypost uninstall CLIENT --project. Mail
stays unless you agree or give --mail; --yes alone keeps it. Delete the programs yourself.`

func newRemove(a *app) *cobra.Command {
	g := &guide{app: a}
	var withMail bool
	return cli.WithFlags(&cobra.Command{
		Use: "remove", Short: "undo what setup did, and ask about the mail", Long: removeHelp,
		Example: "pennypost remove\npennypost remove --dry-run\npennypost remove --yes --mail", Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return g.begin(cmd.Context(), func() error { return g.remove(withMail) })
		},
	}, append(g.flags(), cli.Flag{Into: &withMail, Name: "mail", About: "delete the mail and the token too"})...)
}

func (g *guide) remove(withMail bool) error {
	if err := g.OnlyUser("remove Pennypost"); err != nil {
		return err
	}
	links, err := g.ourLinks()
	if err != nil {
		return err
	}
	taken, err := g.takeOut()
	if err != nil {
		return err
	}
	u, err := g.unit(g.ctx)
	service := err == nil && u.before != ""
	if service {
		taken = true
		if err := g.removes("the service "+u.Path, func() error { return g.serviceUninstall(u, false) }); err != nil {
			return err
		}
	}
	for _, link := range links {
		taken = true
		if err := g.removes(link, func() error { return os.Remove(link) }); err != nil {
			return err
		}
	}
	if !taken {
		g.Out.Line("Clients, services and PATH contain nothing of Pennypost.")
	}
	g.sayPathLine()
	return g.removeMail(withMail)
}

// takeOut takes Pennypost out of every client that has it.
func (g *guide) takeOut() (taken bool, err error) {
	o, err := g.installOptions(installFlags{})
	if err != nil {
		return false, err
	}
	for _, r := range install.Look(*o) {
		if r.Scope != install.User || !r.Installed() {
			continue
		}
		taken = true
		if err := g.removes("Pennypost from "+r.Client.Title, func() error {
			p, err := carryOut(r.Client, o, install.Uninstall, false)
			if err != nil {
				return cli.Hinted(err, "pennypost uninstall "+r.Client.Name)
			}
			g.showPlan(p, false)
			return nil
		}); err != nil {
			return taken, err
		}
	}
	return taken, nil
}

// removes removes one thing if the person agrees.
func (g *guide) removes(what string, do func() error) error {
	if g.dryRun {
		g.Out.Line("This would be removed: %s", what)
		return nil
	}
	yes, err := g.asks("Remove "+what+"?", true)
	if err != nil || !yes {
		return err
	}
	return do()
}

// removeMail deletes the data directory if the person agrees; otherwise it removes the lines that setup added to the
// configuration. It ends the post office first, and asks about that too.
func (g *guide) removeMail(sure bool) error {
	home, err := config.FindHome(g.Env.Getenv)
	if err != nil {
		return err
	}
	if _, err := os.Stat(string(home)); err != nil {
		return nil
	}
	if !sure && !g.dryRun {
		if sure, err = g.asks("Delete all mail, the configuration and your token in "+string(home)+
			"? This cannot be undone.", false); err != nil {
			return err
		}
	}
	switch {
	case !sure:
		return g.keepMail(home)
	case g.dryRun:
		g.Out.Line("The post office would be stopped, and mail, configuration and your token in %s deleted.", home)
		return nil
	}
	if c, err := config.LoadCluster(home); err == nil && c != nil {
		return cli.Hinted(mail.Errorf(mail.Conflict, "this machine is in a cluster, which would lose its server. "+
			"Nothing was deleted"), "pennypost cluster leave")
	}
	if _, _, err := g.StopOffice(g.ctx); err != nil {
		return err
	}
	for _, path := range home.Files() { // only our files, in case someone put others there
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	if err := os.Remove(string(home)); err != nil {
		g.Out.Line("Mail, configuration and token are deleted. %s stays: it contains other files.", home)
		return nil
	}
	g.Out.Line("Deleted %s.", home)
	return nil
}

// keepMail leaves the data directory as it was before setup.
func (g *guide) keepMail(home config.Home) error {
	ours, changed, err := g.AddedToConfig()
	if err != nil {
		return err
	}
	if len(ours) > 0 {
		what := strings.Join(ours, ", ") + " from " + home.File() + ", as setup wrote it"
		if err := g.removes(what, g.TakeFromConfig); err != nil {
			return err
		}
	}
	if len(changed) > 0 {
		g.Out.Line("In %s you have changed lines that setup wrote; they stay: %s", home.File(),
			strings.Join(changed, ", "))
	}
	if cli.Listens(home) {
		stop := "Stop the post office? The next command starts one again."
		if yes, err := g.asks(stop, true); err != nil {
			return err
		} else if yes {
			if _, _, err := g.StopOffice(g.ctx); err != nil {
				return err
			}
		}
	}
	if g.dryRun {
		g.Out.Line("Mail, configuration and your token are in %s. They stay unless you give --mail.", home)
	} else {
		g.Out.Line("Mail, configuration and your token stay in %s.", home)
	}
	return nil
}
