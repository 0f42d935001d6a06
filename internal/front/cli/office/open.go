package office

import (
	"cmp"
	"context"
	"net/url"
	"os/exec"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
	"pennypost/internal/wire"
	"pennypost/internal/wire/client"
)

const openHelp = `Open the pages of the post office in the browser, where you see and answer all mail. The command
makes a link that logs in one browser, once, within ten minutes. Anyone who has the link can act as you,
so do not share it. The browser stays logged in until you log out, until you have not used it for 12
hours, or for 30 days.

If no browser can be opened, as in a shell over ssh, the link is printed. --print prints it and opens
nothing.

--phone shows the link as a QR code, for a phone or another machine. If the post office does not listen
for other machines yet, the command asks you, writes [tls] into config.toml, and restarts the post
office; --phone-at names one address instead of every network. The post office makes its own certificate,
so the browser there warns; compare the fingerprint that it shows with the one printed here.

The pages have an address of their own, such as http://pp-….localhost:8765/, because a browser sends a
login at 127.0.0.1 to every program there, on any port. Chrome, Edge, Firefox and related browsers
resolve that address by themselves. If yours does not, like Safari on an older macOS, use --plain: it
logs you in at 127.0.0.1, and the page explains the weakness.`

const openExamples = `pennypost open
pennypost open --print
pennypost open --phone                on a phone, by a QR code
pennypost open --plain
pennypost open --sessions             the browsers that are logged in
pennypost open --revoke k3vq2mzt      log one out, or all of them: --revoke all`

// openFlags are the flags of open.
type openFlags struct {
	print, plain, phone, sessions bool
	revoke                        string
	at                            string // the address where phones get in
}

func newOpen(a *app) *cobra.Command {
	var f openFlags
	cmd := cli.WithFlags(&cobra.Command{
		Use: "open", Short: "open the pages in the browser", Long: openHelp, Example: openExamples, Args: cli.NoArgs,
		RunE: cli.RunWith(a.open, &f),
	},
		cli.Flag{Into: &f.print, Name: "print", About: "print the link and open nothing"},
		cli.Flag{Into: &f.plain, Name: "plain",
			About: "log in at 127.0.0.1, which is weaker, if the browser finds no other address"},
		cli.Flag{Into: &f.phone, Name: "phone", About: "show the link for a phone, or another machine, as a QR code"},
		cli.PhoneFlag(&f.at),
		cli.Flag{Into: &f.sessions, Name: "sessions", About: "list the browsers that are logged in"},
		cli.Flag{Into: &f.revoke, Name: "revoke", About: "log out the browser whose session is `ID`, or \"all\""})
	cmd.MarkFlagsMutuallyExclusive("sessions", "revoke", "print")
	cmd.MarkFlagsMutuallyExclusive("sessions", "revoke", "plain", "phone")
	cmd.MarkFlagsMutuallyExclusive("print", "phone")
	return cmd
}

func (a *app) open(ctx context.Context, f openFlags) error {
	if a.As != "" && a.As != string(mail.User) {
		return mail.Errorf(mail.Invalid, "the pages are for the person, not for %s; omit --as", a.As)
	}
	office, err := a.Post()
	switch {
	case err != nil:
		return err
	case f.at != "" && !f.phone:
		return cli.Usage("--phone-at needs --phone")
	case f.sessions:
		return a.sessions(ctx, office)
	case f.revoke != "":
		return a.revoke(ctx, office, f.revoke)
	}
	link, office, err := a.login(ctx, office, &f)
	return cli.Answer(a.App, wire.Link{URL: link}, err, func(wire.Link) error {
		switch {
		case f.print:
			a.Out.Line("%s", link)
			return nil
		case f.phone:
			return a.showPhone(ctx, office, link)
		case !hasBrowser(a.Env.Getenv):
			return a.noBrowser(link)
		}
		return a.openBrowser(ctx, link, f.plain)
	})
}

// login returns a link that logs a browser in, and the post office, which is a new one after phones were let in.
func (a *app) login(ctx context.Context, office *client.Office, f *openFlags) (string, *client.Office, error) {
	room, err := a.RoomName()
	if err != nil {
		return "", nil, err
	}
	ask := wire.Login{Room: room, Plain: f.plain, Phone: f.phone}
	link, err := office.Login(ctx, ask)
	if !f.phone || err == nil && f.at == "" {
		return link, office, err
	}
	if may, other := a.mayLetIn(ctx, office, f.at, err); !may {
		return link, office, other
	}
	if office, err = a.letPhonesIn(ctx, f.at); err != nil {
		return "", nil, err
	}
	link, err = office.Login(ctx, ask)
	return link, office, err
}

// mayLetIn reports whether the person can be asked to let phones in, at an address or "". If not, it returns the
// error. why says why no link could be made; nil if one could.
func (a *app) mayLetIn(ctx context.Context, office *client.Office, at string, why error) (bool, error) {
	c, err := a.LoadConfig()
	asks := cli.IsTerminal(a.Env.Stdin) && !a.JSON
	switch listens := c.TLS.Listen != ""; {
	case err != nil:
		return false, cmp.Or(why, err)
	case listens && at != "" && at != c.TLS.Listen:
		return false, mail.Errorf(mail.Conflict, "phones already connect at %s. To change that, edit listen in "+
			"[tls] of %s, then type pennypost stop", c.TLS.Listen, c.Home.File())
	case why == nil && !listens && !asks:
		return false, mail.Errorf(mail.Unconfirmed,
			"--phone-at needs an answer, and there is no terminal to ask at. Nothing was done")
	case listens || !asks:
		return false, why
	}
	_, denied := office.Sessions(ctx) // only the person may list them
	return denied == nil, cmp.Or(why, denied)
}

// letPhonesIn makes the post office listen for other machines, if the person agrees, and returns the restarted one.
func (a *app) letPhonesIn(ctx context.Context, at string) (*client.Office, error) {
	a.Out.Line("This post office does not listen for other machines yet. %s", cli.PhoneOffer)
	yes, err := a.AskYes(cli.PhoneQuestion, false)
	if err != nil {
		return nil, err
	}
	if !yes {
		return nil, mail.Errorf(mail.Unconfirmed, "nothing was changed")
	}
	if err := a.LetPhonesIn(ctx, at); err != nil {
		return nil, err
	}
	a.Out.Line("Written to config.toml; the post office restarts.\n")
	return a.Post()
}

// openBrowser opens a link; plain says whether it leads to the plain address.
func (a *app) openBrowser(ctx context.Context, link string, plain bool) error {
	name, args := opener(runtime.GOOS, link)
	if err := exec.CommandContext(ctx, name, args...).Run(); err != nil {
		return a.noBrowser(link)
	}
	if plain {
		a.Out.Line("Opened in the browser.")
	} else {
		a.Out.Line("Opened in the browser. If it does not find the address: pennypost open --plain")
	}
	return nil
}

// hasBrowser reports whether a browser would open in front of the person: not if the person is at another machine,
// or this one has no display.
func hasBrowser(getenv func(string) string) bool {
	switch {
	case getenv("BROWSER") != "":
		return true
	case getenv("SSH_CONNECTION") != "" || getenv("SSH_TTY") != "":
		return false
	}
	return runtime.GOOS == "darwin" || runtime.GOOS == "windows" || getenv("DISPLAY") != "" ||
		getenv("WAYLAND_DISPLAY") != "" || getenv("WSL_DISTRO_NAME") != ""
}

// noBrowser prints a link that cannot be opened here.
func (a *app) noBrowser(link string) error {
	a.Out.Line("No browser can be opened from here. This link logs one in, once, within ten minutes:\n\n  %s\n", link)
	u, err := url.Parse(link)
	if err == nil && a.Env.Getenv("SSH_CONNECTION") != "" {
		a.Out.Line("%s", a.Out.Dim("On another "+
			"machine, first type this there, and leave it running: ssh -L "+u.Port()+
			":127.0.0.1:"+u.Port()+" THIS-MACHINE"))
	}
	return nil
}

// showPhone shows a link as a QR code, with the fingerprint to compare.
func (a *app) showPhone(ctx context.Context, office *client.Office, link string) error {
	st, err := office.Status(ctx)
	if err != nil {
		return err
	}
	lines, err := qrLines(link)
	if err != nil {
		return err
	}
	for _, line := range lines {
		a.Out.Line("%s", a.Out.WhiteOnBlack(line))
	}
	a.Out.Line("%s", link)
	a.Out.Line("Point the phone's camera at it. The link logs in one browser, once, within ten minutes.")
	if strings.HasPrefix(link, "http:") {
		a.Out.Line("%s", a.Out.Red("This is without TLS: anyone on the network can read the mail and act as you."))
	} else if st.Fingerprint != "" {
		a.Out.Line("The browser warns about an unknown certificate. Continue only if its SHA-256 fingerprint is\n"+
			"%s",
			st.Fingerprint)
	}
	return nil
}

// sessions lists the browsers that are logged in.
func (a *app) sessions(ctx context.Context, office *client.Office) error {
	list, err := office.Sessions(ctx)
	if err != nil {
		return err
	}
	if a.JSON {
		for _, s := range list {
			a.Out.Value(s)
		}
		return nil
	}
	rows := make([][]string, 0, len(list))
	for _, s := range list {
		at := "used " + a.Out.Ago(s.Seen) + ", opened " + a.Out.Ago(s.Opened)
		if s.Plain {
			at += ", at the plain address"
		} else if s.TLS {
			at += ", over TLS"
		}
		rows = append(rows, []string{s.ID, cli.OneLine(s.Browser), at})
	}
	a.Out.TableOr("No browser is logged in.", rows, 2)
	return nil
}

// revoke logs out one browser, or all.
func (a *app) revoke(ctx context.Context, office *client.Office, id string) error {
	which := id
	if id == "all" {
		which = ""
	}
	if err := office.EndSession(ctx, which); err != nil {
		return cli.HintedIf(mail.NotFound, err, "to list them: pennypost open --sessions")
	}
	if which == "" {
		a.Out.Line("All browsers are logged out.")
	} else {
		a.Out.Line("Session %s has ended.", cli.OneLine(id))
	}
	return nil
}

// opener returns the command with which a system opens an address. No shell reads it, so it is not quoted.
func opener(goos, link string) (name string, args []string) {
	switch goos {
	case "darwin":
		return "open", []string{link}
	case "windows":
		return "rundll32", []string{"url.dll,FileProtocolHandler", link}
	}
	return "xdg-open", []string{link}
}
