package cli

import (
	"cmp"
	"context"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/wire"
	"pennypost/internal/wire/client"
)

// TokenVariable holds the token for --remote, or a credential for scripts.
const TokenVariable = "PENNYPOST_TOKEN"

// scriptToken returns the command's credential for scripts, "" if it has none. A command that claims to be an agent
// has none.
func (a *App) scriptToken() string {
	t := a.Env.Getenv(TokenVariable)
	if !strings.HasPrefix(t, wire.ScriptPrefix) || a.As != "" || a.Env.Getenv("PENNYPOST_AGENT") != "" {
		return ""
	}
	return t
}

// ShowToken makes the command show the post office of this machine the agent token in the environment, if there is
// one: it then speaks as that agent, wherever it runs. Without --remote, only programs that serve an agent do so.
func (a *App) ShowToken() {
	t := a.Env.Getenv(TokenVariable)
	a.shows = a.Remote == "" && t != "" && !strings.HasPrefix(t, wire.ScriptPrefix) &&
		!strings.HasPrefix(t, wire.MachinePrefix)
}

// ownToken returns the token of ShowToken, or "".
func (a *App) ownToken() string {
	if !a.shows {
		return ""
	}
	return a.Env.Getenv(TokenVariable)
}

// ByToken reports whether a token determines the command's name and room.
func (a *App) ByToken() bool { return a.Remote != "" || a.shows }

// remote is the post office of --remote. If this machine has joined it, its key is known, and is checked.
func (a *App) remote() (*client.Office, error) {
	if err := checkRemote(a.Remote, a.Insecure); err != nil {
		return nil, err
	}
	opts := client.Options{URL: a.Remote, Token: a.Env.Getenv(TokenVariable), Link: a.Link}
	home, err := config.FindHome(a.Env.Getenv)
	if err != nil {
		return nil, err
	}
	r, err := config.LoadRemote(home)
	if err == nil && r != nil && r.URL == strings.TrimSuffix(a.Remote, "/") {
		opts.TLS, err = r.TLS()
	}
	if err != nil {
		return nil, err
	}
	return client.New(opts)
}

// onlyHere are the verbs that concern this machine only.
var onlyHere = []string{"serve", "join", "leave", "cluster", "hook", "install", "uninstall", "setup", "remove",
	"doctor", "service", "config", "restore", "demo"}

// checkHere refuses --remote where it would have no meaning. It also makes the output safe for a model if the caller
// is named as an agent, even if the command asks the post office nothing in the agent's name.
func (a *App) checkHere(cmd *cobra.Command, _ []string) error {
	if who := cmp.Or(a.As, a.Env.Getenv("PENNYPOST_AGENT")); who != "" && who != string(mail.User) {
		a.ForModel()
	}
	for cmd.HasParent() && cmd.Parent().HasParent() {
		cmd = cmd.Parent()
	}
	if a.Remote != "" && slices.Contains(onlyHere, cmd.Name()) {
		return Usage("pennypost %s acts on this machine, and does not work with --remote", cmd.Name())
	}
	return nil
}

// far returns the --remote post office's answer about the token: the name it speaks as, and the room.
func (a *App) far() (wire.Status, error) {
	if a.token != nil {
		return *a.token, nil
	}
	office, err := a.Post()
	if err != nil {
		return wire.Status{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), JoinPatience)
	defer cancel()
	st, err := office.Status(ctx)
	if err != nil {
		if a.Remote == "" {
			return st, Hinted(err, TokenVariable+" must be a token that the person made here with: pennypost agents "+
				"token NAME. To act as yourself, unset it")
		}
		return st, Hinted(err, "set "+TokenVariable+" to a token of that post office, made there with: pennypost "+
			"agents token NAME. A machine that joined with pennypost join needs no --remote")
	}
	a.token = &st
	return st, nil
}

// farWho is Who for --remote: the token determines it, or for a machine's token, the command.
func (a *App) farWho() (mail.Name, error) {
	st, err := a.far()
	switch {
	case err != nil:
		return "", err
	case a.As != "" && a.As != string(st.You):
		if strings.HasPrefix(a.Env.Getenv(TokenVariable), wire.MachinePrefix) {
			return mail.ParseName(a.As)
		}
		return "", mail.Errorf(mail.Denied, "the token belongs to %s, and cannot be used as %s", st.You, a.As)
	case st.You != mail.User:
		a.ForModel()
		return st.You, nil
	}
	if v, found := config.AgentClient(a.Env.Environ); found {
		return "", config.RefuseUser(v)
	}
	return mail.User, nil
}

// farRoom is RoomName for --remote.
func (a *App) farRoom() (mail.RoomName, error) {
	st, err := a.far()
	if err != nil || st.Room == "" {
		room, bad := config.FindRoom(a.Room, a.Env.Getenv, a.Env.Dir)
		if err == nil {
			err = bad
		}
		return room, err
	}
	if a.Room != "" && mail.RoomName(a.Room) != st.Room {
		return "", mail.Errorf(mail.Denied, "the token is valid in room %s only, not in %s", st.Room, a.Room)
	}
	return st.Room, nil
}

// checkRemote refuses to send a token over a network on which others can read it, unless --insecure allows that. The
// client reports other errors in an address.
func checkRemote(address string, insecure bool) error {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" || u.Hostname() == "localhost" || insecure {
		return nil
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && ip.Unmap().IsLoopback() {
		return nil
	}
	return Hinted(mail.Errorf(mail.Denied,
		"%s is on another machine, and without TLS the token crosses the network in the clear: anyone who reads "+
			"it there can act as the agent. Nothing was sent", u.Host),
		"use an https:// address, or an SSH tunnel to 127.0.0.1; on a network that you trust, add --insecure")
}

// JoinPatience is how long the other post office may take.
const JoinPatience = 15 * time.Second
