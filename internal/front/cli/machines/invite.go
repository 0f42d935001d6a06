package machines

import (
	"context"

	"github.com/spf13/cobra"

	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
	"pennypost/internal/wire"
	"pennypost/internal/wire/client"
)

const inviteHelp = `Let another machine use this post office. The command prints one line; type it on that machine.
From then on commands, hooks, MCP servers and pages work there as they do here. The code in the line lets
one machine in, once, within 30 minutes. It contains the fingerprint of this post office's key, so the
other machine talks to no other. Anyone who has the code can use it, so send it over a channel that you
trust, such as ssh.

Without --room and --agent the machine has the same access to mail as this one: Pennypost identifies its
programs there and holds them to their names, and the person there is you. With --room it enters only
those rooms, and sees no others. With --agent everything on it is that agent, and never you.

The post office has to listen for other machines: pennypost serve --tls, or [tls] in config.toml.

--list shows the machines that are in, and the codes that are still valid; --revoke revokes either.
Connections of a revoked machine end immediately.`

const inviteExamples = `pennypost invite
pennypost invite --room lab --agent builder-1 --for 90d
pennypost invite --list
pennypost invite --revoke laptop-2      a machine, or a code by its id`

// inviteFlags are the flags of invite.
type inviteFlags struct {
	rooms                        []string
	agent, expires, span, revoke string
	list                         bool
}

func newInvite(a *app) *cobra.Command {
	f := inviteFlags{expires: "30m"}
	cmd := cli.WithFlags(&cobra.Command{
		Use: "invite", Short: "let another machine in", Long: inviteHelp, Example: inviteExamples, Args: cli.NoArgs,
		RunE: cli.RunWith(a.invite, &f),
	},
		// For every command --room names the room that it uses; here it can be given more than once.
		cli.Flag{Into: &f.rooms, Name: "room", About: "let the machine into `ROOM` only; repeatable", Each: true},
		cli.Flag{Into: &f.agent, Name: "agent", About: "let the machine act only as the agent `NAME`"},
		cli.Flag{Into: &f.expires, Name: "expires", About: "how long the code is valid: `DURATION`, at most a day"},
		cli.Flag{Into: &f.span, Name: "for", About: "let the machine in for `DURATION`; default: until it is revoked"},
		cli.Flag{Into: &f.list, Name: "list", About: "list the machines that are in, and the valid codes"},
		cli.Flag{Into: &f.revoke, Name: "revoke",
			About: "revoke the machine `NAME`, or the code with that id"})
	for _, making := range []string{"room", "agent", "expires", "for"} {
		cmd.MarkFlagsMutuallyExclusive("list", "revoke", making)
	}
	return cmd
}

func (a *app) invite(ctx context.Context, f inviteFlags) error {
	office, err := a.Post()
	switch {
	case err != nil:
		return err
	case f.list:
		return a.invites(ctx, office)
	case f.revoke != "":
		return a.putOut(ctx, office, f.revoke)
	}
	ask := wire.Invite{Agent: mail.Name(f.agent)}
	for _, r := range f.rooms {
		ask.Rooms = append(ask.Rooms, mail.RoomName(r))
	}
	if ask.Good, err = cli.Seconds(f.expires); err != nil {
		return err
	}
	if f.span != "" {
		if ask.For, err = cli.Seconds(f.span); err != nil {
			return err
		}
	}
	made, err := office.Invite(ctx, ask)
	return cli.Answer(a.App, made, err, a.showInvite)
}

func (a *app) showInvite(made wire.Invited) error {
	a.Out.Write("pennypost join " + made.URL + " " + made.Code + "\n") // not wrapped, however narrow the terminal is
	a.Out.Line("Type this line on the other machine, before %s. It lets one machine in, once.",
		a.Out.Moment(made.Expires))
	a.Out.Line("certificate %s", made.Fingerprint)
	return nil
}

// invites lists the machines that are in, and the open codes.
func (a *app) invites(ctx context.Context, office *client.Office) error {
	list, err := office.Invites(ctx)
	return cli.Answer(a.App, list, err, a.showInvites)
}

func (a *app) showInvites(list wire.Invites) error {
	var rows [][]string
	for _, m := range list.Machines {
		seen := "never used"
		if m.Seen != 0 {
			seen = "used " + a.Out.Ago(m.Seen) + " from " + cli.OneLine(m.From)
		}
		rows = append(rows, []string{string(m.Name), scope(m.Rooms, m.Agent), "joined " + a.Out.Ago(m.Joined), seen,
			a.Until(m.Expires)})
	}
	for _, c := range list.Codes {
		rows = append(rows, []string{"code " + c.ID, scope(c.Rooms, c.Agent), "made " + a.Out.Ago(c.Made), "not used",
			a.Until(c.Expires)})
	}
	a.Out.TableOr("No other machine is in, and no code is valid.", rows)
	return nil
}

// scope describes the access of a machine.
func scope(rooms []mail.RoomName, agent mail.Name) string {
	what := "all rooms"
	if len(rooms) > 0 {
		what = "room " + cli.Joined(rooms, ", ")
	}
	if agent != "" {
		what += " as " + cli.OneLine(string(agent))
	}
	return what
}

// putOut revokes the access of a machine, or a code.
func (a *app) putOut(ctx context.Context, office *client.Office, name string) error {
	if err := office.Revoke(ctx, name); err != nil {
		return cli.HintedIf(mail.NotFound, err, "to list them: pennypost invite --list")
	}
	a.Out.Line("%s is revoked.", cli.OneLine(name))
	return nil
}
