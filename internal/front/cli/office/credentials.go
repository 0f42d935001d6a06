package office

import (
	"context"

	"github.com/spf13/cobra"

	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
	"pennypost/internal/wire"
	"pennypost/internal/wire/client"
)

const credentialsHelp = `Credentials for your programs that have no terminal: cron, CI, services, editors. Such a
program cannot be told apart from one that an agent left running, so the post office does not accept it
as you without a credential: put it into PENNYPOST_TOKEN. With it the program reads, sends and marks in
your name. It cannot answer questions to you, or make tokens, links, invitations or roles. Its messages
say that they are from a program of yours. In an agent's session the credential has no effect.

Without a subcommand, the valid credentials are listed. A credential is shown once, when it is made.`

const passphraseHelp = `Set a passphrase. If config.toml has

[user]
confirm = true

it is asked for before sensitive acts: making tokens, links, invitations and credentials, giving the role
orchestrator, and erasing. Each terminal asks once, until the post office ends. On the pages, where you
have logged in, it is not asked for. To replace a passphrase, you need the old one.`

const credentialsExamples = `pennypost credentials add nightly
pennypost credentials add ci --room shop --for 90d
PENNYPOST_TOKEN=pp-script.… pennypost send --to lead --body 'The nightly build failed'
pennypost credentials revoke nightly`

func newCredentials(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "credentials", Short: "let your scripts send and mark", Long: credentialsHelp,
		Example: credentialsExamples, Args: cli.NoArgs,
		RunE: cli.RunAt(a.AtOffice, a.credentials),
	}
	var span string
	add := cli.WithFlags(&cobra.Command{
		Use: "add NAME", Short: "make a credential for a script", Example: "pennypost credentials add nightly",
		Long: "Make a credential and print it: it is not shown again. With --room it is valid in that room only.",
		Args: cli.NArgs(1, "a name for the credential"),
		RunE: cli.RunAt(a.AtOffice, func(ctx context.Context, office *client.Office, args []string) error {
			ask := wire.NewCredential{Name: args[0], Room: mail.RoomName(a.Room)}
			return a.addCredential(ctx, office, ask, span)
		}),
	}, cli.Flag{Into: &span, Name: "for", About: "how long it is valid: `DURATION`; default: until it is revoked"})
	cmd.AddCommand(add, &cobra.Command{
		Use: "revoke NAME", Short: "revoke a credential", Example: "pennypost credentials revoke nightly",
		Long: "Revoke a credential. Programs that use it are refused from then on, and their connections end.",
		Args: cli.NArgs(1, "the name of one credential"),
		RunE: cli.RunOne(a.revokeCredential),
	}, &cobra.Command{
		Use: "passphrase", Short: "set the passphrase for sensitive acts", Long: passphraseHelp,
		Example: "pennypost credentials passphrase", Args: cli.NoArgs,
		RunE: cli.RunAt(a.AtOffice, a.setPassphrase),
	})
	return cmd
}

func (a *app) setPassphrase(ctx context.Context, office *client.Office, _ []string) (err error) {
	var ask wire.NewPassphrase
	if ask.Old, err = cli.AskSecret("The current passphrase (Enter if there is none): "); err != nil {
		return err
	}
	if ask.New, err = cli.AskSecret("The new passphrase: "); err != nil {
		return err
	}
	again, err := cli.AskSecret("The new passphrase again: ")
	switch {
	case err != nil:
		return err
	case again != ask.New:
		return mail.Errorf(mail.Invalid, "the two differ. Nothing was changed")
	}
	if err := office.SetPassphrase(ctx, ask); err != nil {
		return err
	}
	a.Out.Line("The passphrase is set. Each terminal asks for it once while [user] confirm = true.")
	return nil
}

func (a *app) credentials(ctx context.Context, office *client.Office, _ []string) error {
	list, err := office.Credentials(ctx)
	return cli.Answer(a.App, list, err, a.showCredentials)
}

func (a *app) showCredentials(list wire.Credentials) error {
	var rows [][]string
	for _, c := range list.Credentials {
		opens, seen := "all rooms", "never used"
		if c.Room != "" {
			opens = "room " + string(c.Room)
		}
		if c.Seen != 0 {
			seen = "used " + a.Out.Ago(c.Seen)
		}
		rows = append(rows, []string{c.Name, opens, "made " + a.Out.Ago(c.Made), seen, a.Until(c.Expires)})
	}
	a.Out.TableOr("There are no credentials for scripts. To make one: pennypost credentials add NAME", rows)
	return nil
}

func (a *app) addCredential(ctx context.Context, office *client.Office, ask wire.NewCredential,
	span string) (err error) {
	if span != "" {
		if ask.For, err = cli.Seconds(span); err != nil {
			return err
		}
	}
	made, err := office.AddCredential(ctx, ask)
	return cli.Answer(a.App, made, err, a.showCredential)
}

func (a *app) showCredential(made wire.MadeCredential) error {
	a.Out.Write(made.Token + "\n") // not wrapped, however narrow the terminal is
	a.Out.Line("Keep it: it is not shown again. Give it to the script in the environment, as %s.", cli.TokenVariable)
	return nil
}

func (a *app) revokeCredential(ctx context.Context, name string) error {
	office, err := a.Post()
	if err == nil {
		err = office.RevokeCredential(ctx, name)
	}
	if err == nil && !a.JSON {
		a.Out.Line("Revoked the credential %s.", name)
	}
	return err
}
