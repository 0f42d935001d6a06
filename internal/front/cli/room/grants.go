package room

import (
	"cmp"
	"context"
	"strings"

	"pennypost/internal/front/cli"

	"github.com/spf13/cobra"

	"pennypost/internal/config"
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
	cmd := &cobra.Command{
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
			return a.grant(cmd.Context(), g)
		},
	}
	cmd.Flags().StringVar(&g.Role, "role", "", "`ROLE` that it then has: orchestrator")
	cmd.Flags().StringVar(&g.Dir, "dir", "", "only where the client works in `DIRECTORY`, or in its repository")
	cmd.Flags().StringVar(&g.Client, "client", "", "only for this `CLIENT`: claude, codex, …")
	cmd.Flags().BoolVar(&refuse, "refuse", false, "take it back, or refuse it")
	return cmd
}

func (a *app) grant(ctx context.Context, g mail.Grant) error {
	svc, err := a.Service(ctx)
	if err != nil {
		return err
	}
	if g, err = svc.Grant(ctx, g); err != nil {
		return err
	}
	return a.Said(g, "%s", grantLine(&g))
}

func newAgentsGrants(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "grants", Short: "list what sessions may be", Long: "List whom you let sessions be, and whom not.",
		Example: "pennypost agents grants", Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			svc, err := a.Service(cmd.Context())
			if err != nil {
				return err
			}
			list, err := svc.Grants(cmd.Context())
			switch {
			case err != nil:
				return err
			case a.JSON:
				a.Out.Value(struct {
					Grants []mail.Grant `json:"grants"`
				}{list})
			case len(list) == 0:
				a.Out.Line("Nothing is granted. What is said here: pennypost agents grant --help")
			}
			for i := range list {
				if !a.JSON {
					a.Out.Line("%s", grantLine(&list[i]))
				}
			}
			return nil
		},
	}
}

// grantLine says in one line what is granted.
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
