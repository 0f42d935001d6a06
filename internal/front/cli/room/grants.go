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

const grantHelp = `Let the sessions of an agent's client be an agent that needs your permission: the orchestrator, or
an agent that already exists. Such a name comes from their command line, or from the file .pennypost.toml
of their project. The grant applies from their next session on. When a session asks for a name, a card on
your desk asks you; your answer there records the same grant.

Without --dir the grant applies wherever the client works, without --client to any client. --refuse takes
it back, or refuses before a session asks.`

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
		cli.Flag{Into: &g.Dir, Name: "dir", About: "only if the client works in `DIRECTORY`, or in its repository"},
		cli.Flag{Into: &g.Client, Name: "client", About: "only for this `CLIENT`: claude, codex, …"},
		cli.Flag{Into: &refuse, Name: "refuse", About: "take the grant back, or refuse it"})
}

func (a *app) showGrant(g mail.Grant) error {
	a.Out.Line("%s", grantLine(&g))
	return nil
}

func newAgentsGrants(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "grants", Short: "list the grants", Long: "List the grants and refusals.",
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
			a.Out.Line("There are no grants. To make one: pennypost agents grant --help")
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
		return cli.OneLine(g.Dir + " belongs to this room")
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
