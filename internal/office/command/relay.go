package command

import (
	"github.com/spf13/cobra"

	"pennypost/internal/config"
	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
	"pennypost/internal/office/relay"
)

const relayHelp = `Act as the post office on a machine that has joined another's (pennypost join). Commands, hooks
and MCP servers of this machine find the relay where they would find a post office. It identifies the
caller, passes the call on over TLS, and rings agents here when they have mail there.

You need not run this: commands start the relay as they would start a post office, and
pennypost serve runs it too. It ends after an hour without connections and sessions.`

func newRelay(a *app) *cobra.Command {
	f := serveFlags{relay: true}
	return f.automatic(&cobra.Command{
		Use: "relay", Short: "act as the post office that this machine has joined", Long: relayHelp,
		Example: "pennypost relay", Hidden: true, Args: cli.NoArgs,
		RunE: cli.RunWith(a.serve, &f),
	}, cli.Flag{Into: &f.listen, Name: "listen",
		About: "TCP `HOST:PORT` of this machine for the pages and MCP, or \"none\""})
}

// remote returns the post office that this machine has joined, nil if it has joined none and f asks for no relay.
func (a *app) remote(home config.Home, f serveFlags) (*relay.Remote, error) {
	joined, err := config.LoadRemote(home)
	switch {
	case err != nil:
		return nil, err
	case joined == nil && f.relay:
		return nil, cli.Hinted(mail.Errorf(mail.NotFound,
			"this machine has joined no post office"), "pennypost join URL CODE")
	case joined == nil:
		return nil, nil
	case f.tls != "":
		return nil, cli.Hinted(mail.Errorf(mail.Conflict,
			"this machine uses the post office at %s: invite other machines there, with pennypost invite",
			joined.URL),
			"to use a post office on this machine again: pennypost leave")
	}
	conf, err := joined.TLS()
	if err != nil {
		return nil, err
	}
	return &relay.Remote{URL: joined.URL, TLS: conf, Token: joined.Token, Machine: joined.Machine,
		Agent: joined.Agent, Room: joined.Only()}, nil
}
