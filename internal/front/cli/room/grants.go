package room

import (
	"cmp"
	"context"
	"strings"

	"github.com/spf13/cobra"

	"pennypost/internal/config"
	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
)

const grantHelp = `Let the sessions of an agent's client be an agent that their command line, or the file
.pennypost.toml of their project, names and that they may not be without your word: the
orchestrator, or somebody who is there already. It counts from their next session on. When one asks
for it, a card on your desk asks you; answering that records the same.

Without --dir it counts wherever the client works, without --client for any client. With --refuse it
is taken back, or refused before anybody asks.`

func newAgentsGrant(a *app) *cobra.Command {
	var g mail.Grant
	var refuse bool
	return cli.WithFlags(&cobra.Command{
		Use: "grant NAME", Short: "let sessions be an agent, such as the orchestrator", Long: grantHelp,
		Example: "pennypost agents grant orchestrator --client claude\npennypost agents grant lead --role " +
			"orchestrator --dir .\npennypost agents grant lead --dir ../shop --refuse",
		Args: cli.NArgs(1, "the agent's name"), ValidArgsFunction: a.CompleteAgent,
		RunE: func(cmd *cobra.Command, args []string) error {
			g.Agent, g.Refused = mail.Name(args[0]), refuse
			if g.Agent == mail.Orchestrator {
				g.Role = string(mail.Orchestrator)
			}
			if g.Dir != "" {
				g.Dir = config.HomeDir(a.Absolute(g.Dir))
			}
			return cli.Ask(cmd.Context(), a.App, a.Service, mail.Service.Grant, g, a.showGrant)
		},
	},
		cli.Flag{Into: &g.Role, Name: "role", About: "`ROLE` that it then has: orchestrator"},
		cli.Flag{Into: &g.Dir, Name: "dir", About: "only where the client works in `DIRECTORY`, or in its repository"},
		cli.Flag{Into: &g.Client, Name: "client", About: "only for this `CLIENT`: claude, codex, …"},
		cli.Flag{Into: &refuse, Name: "refuse", About: "take it back, or refuse it"})
}

func (a *app) showGrant(g mail.Grant) error {
	a.Out.Line("%s", grantLine(&g))
	return nil
}

func newAgentsGrants(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "grants", Short: "list what sessions may be", Long: "List whom you let sessions be, and whom not.",
		Example: "pennypost agents grants", Args: cli.NoArgs,
		RunE: cli.RunAt(a.Service, a.grants),
	}
}

// grants are all grants, in JSON.
type grants struct {
	Grants []mail.Grant `json:"grants"`
}

func (a *app) grants(ctx context.Context, svc mail.Service, _ []string) error {
	list, err := svc.Grants(ctx)
	return cli.Answer(a.App, grants{list}, err, func(all grants) error {
		if len(all.Grants) == 0 {
			a.Out.Line("Nothing is granted. What is said here: pennypost agents grant --help")
		}
		for _, g := range all.Grants {
			_ = a.showGrant(g)
		}
		return nil
	})
}

// grantLine describes a grant in one line.
func grantLine(g *mail.Grant) string {
	who := cmp.Or(g.Client, "any client")
	where := ""
	if g.Dir != "" {
		where = " in " + g.Dir
	}
	may := " may be "
	if g.Refused {
		may = " may not be "
	}
	switch {
	case g.Agent == "" && g.Room == "":
		return cli.OneLine(g.Dir + " is at home in this room")
	case g.Agent == "":
		may = strings.Replace(may, " be ", " go", 1)
	}
	line := who + where + may + string(g.Agent)
	if g.Role != "" && g.Agent != mail.Orchestrator {
		line += ", the orchestrator"
	}
	if g.Room != "" {
		line += " to room " + string(g.Room)
	}
	return cli.OneLine(line)
}
