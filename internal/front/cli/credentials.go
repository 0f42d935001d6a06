package cli

import (
	"context"

	"github.com/spf13/cobra"

	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

const credentialsHelp = `Credentials for programs of yours that have no terminal: cron, CI, services, git hooks, editors.
Such a program cannot be told from one that an agent has left behind, so it is refused as you unless
it shows a credential: put it into PENNYPOST_TOKEN. With it the program sends and marks in your name,
and reads. It answers nothing that is asked of you, and makes no tokens, links, invitations or roles.
What it sends is said to be from a program of yours. Below an agent's session it counts for nothing.

Without a subcommand, those that count are listed. A credential is shown once, when it is made.`

const credentialsExamples = `pennypost credentials add nightly
pennypost credentials add ci --room shop --for 90d
PENNYPOST_TOKEN=pp-script.… pennypost send --to lead --body 'The nightly build failed'
pennypost credentials revoke nightly`

func newCredentials(a *App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "credentials", Short: "let your scripts send and mark", Long: credentialsHelp,
		Example: credentialsExamples, Args: NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.credentials(cmd.Context()) },
	}
	var span string
	add := &cobra.Command{
		Use: "add NAME", Short: "make a credential for a script", Example: "pennypost credentials add nightly",
		Long: "Make a credential and print it: it is not shown again. With --room it opens that room only.",
		Args: NArgs(1, "a name for the credential"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.addCredential(cmd.Context(), wire.NewCredential{Name: args[0], Room: mail.RoomName(a.Room)}, span)
		},
	}
	add.Flags().StringVar(&span, "for", "", "how long it counts: `DURATION`; default: until it is revoked")
	cmd.AddCommand(add, &cobra.Command{
		Use: "revoke NAME", Short: "take a credential back", Example: "pennypost credentials revoke nightly",
		Long: "Take a credential back. Whatever shows it from then on is refused, and what it has open ends.",
		Args: NArgs(1, "the name of one credential"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.revokeCredential(cmd.Context(), args[0]) },
	})
	return cmd
}

func (a *App) credentials(ctx context.Context) error {
	office, err := a.Post()
	if err != nil {
		return err
	}
	list, err := office.Credentials(ctx)
	switch {
	case err != nil:
		return err
	case a.JSON:
		a.Out.Value(list)
		return nil
	case len(list.Credentials) == 0:
		a.Out.Line("There are no credentials for scripts. One is made by: pennypost credentials add NAME")
		return nil
	}
	var rows [][]string
	for _, c := range list.Credentials {
		opens, seen := "all rooms", "never used"
		if c.Room != "" {
			opens = "room " + string(c.Room)
		}
		if c.Seen != 0 {
			seen = "used " + a.Out.ago(c.Seen)
		}
		rows = append(rows, []string{c.Name, opens, "made " + a.Out.ago(c.Made), seen, a.until(c.Expires)})
	}
	a.Out.Table(rows)
	return nil
}

func (a *App) addCredential(ctx context.Context, ask wire.NewCredential, span string) error {
	office, err := a.Post()
	if err != nil {
		return err
	}
	if span != "" {
		if ask.For, err = seconds(span); err != nil {
			return err
		}
	}
	made, err := office.AddCredential(ctx, ask)
	switch {
	case err != nil:
		return err
	case a.JSON:
		a.Out.Value(made)
		return nil
	}
	a.Out.write(made.Token + "\n") // whole, however narrow the terminal is
	a.Out.Line("Keep it: it is not shown again. The script has it in its environment as %s.", tokenVariable)
	return nil
}

func (a *App) revokeCredential(ctx context.Context, name string) error {
	office, err := a.Post()
	if err == nil {
		err = office.RevokeCredential(ctx, name)
	}
	if err == nil && !a.JSON {
		a.Out.Line("The credential %s is taken back.", name)
	}
	return err
}
