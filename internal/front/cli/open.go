package cli

import (
	"context"
	"os/exec"
	"runtime"

	"github.com/spf13/cobra"

	"pennypost/internal/mail"
	"pennypost/internal/wire"
	"pennypost/internal/wire/client"
)

const openHelp = `Open the pages of the post office in the browser, where you see and answer all mail. The command
makes a link that logs in one browser, once, within ten minutes. Whoever has the link can act as
you, so give it to nobody. The browser stays logged in until you log out, until you have done
nothing in it for 12 hours, or for 30 days.

If there is no browser on this machine, --print prints the link and opens nothing.

The pages have an address of their own, such as http://pp-….localhost:8765/, because a browser would
send a login at 127.0.0.1 to every program there, on whatever port. Chrome, Edge, Firefox and their
relatives find that address by themselves. If your browser does not, as Safari on an older macOS,
use --plain: it logs you in at 127.0.0.1, and the page says what is weaker about that.`

const openExamples = `pennypost open
pennypost open --print
pennypost open --plain
pennypost open --sessions             the browsers that are logged in
pennypost open --revoke k3vq2mzt      log one out, or all of them: --revoke all`

// openFlags are the flags of open.
type openFlags struct {
	print, plain, sessions bool
	revoke                 string
}

func newOpen(a *App) *cobra.Command {
	var f openFlags
	cmd := &cobra.Command{
		Use: "open", Short: "open the pages in the browser", Long: openHelp, Example: openExamples, Args: NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.open(cmd.Context(), f) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.print, "print", false, "print the link and open nothing")
	flags.BoolVar(&f.plain, "plain", false,
		"log in at 127.0.0.1, which is weaker, with a browser that finds no other address")
	flags.BoolVar(&f.sessions, "sessions", false, "list the browsers that are logged in")
	flags.StringVar(&f.revoke, "revoke", "", "log out the browser whose session is `ID`, or \"all\"")
	cmd.MarkFlagsMutuallyExclusive("sessions", "revoke", "print")
	cmd.MarkFlagsMutuallyExclusive("sessions", "revoke", "plain")
	return cmd
}

func (a *App) open(ctx context.Context, f openFlags) error {
	if a.As != "" && a.As != string(mail.User) {
		return mail.Errorf(mail.Invalid, "the pages are the person's, and not %s's; leave --as out", a.As)
	}
	office, err := a.Post()
	switch {
	case err != nil:
		return err
	case f.sessions:
		return a.sessions(ctx, office)
	case f.revoke != "":
		return a.revoke(ctx, office, f.revoke)
	}
	room, err := a.RoomName()
	if err != nil {
		return err
	}
	link, err := office.Login(ctx, wire.Login{Room: room, Plain: f.plain})
	if err != nil {
		return err
	}
	switch {
	case a.JSON:
		a.Out.Value(wire.Link{URL: link})
		return nil
	case f.print:
		a.Out.Line("%s", link)
		return nil
	}
	name, args := opener(link)
	if err := exec.CommandContext(ctx, name, args...).Run(); err != nil {
		return Hinted(mail.Errorf(mail.Unavailable, "no browser could be opened: %w", err), "pennypost open --print")
	}
	if f.plain {
		a.Out.Line("Opened in the browser.")
	} else {
		a.Out.Line("Opened in the browser. If it does not find the address: pennypost open --plain")
	}
	return nil
}

// sessions lists the browsers that are logged in.
func (a *App) sessions(ctx context.Context, office *client.Office) error {
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
	if len(list) == 0 {
		a.Out.Line("No browser is logged in.")
		return nil
	}
	rows := make([][]string, 0, len(list))
	for _, s := range list {
		at := "used " + a.Out.ago(s.Seen) + ", opened " + a.Out.ago(s.Opened)
		if s.Plain {
			at += ", at the plain address"
		}
		rows = append(rows, []string{s.ID, OneLine(s.Browser), at})
	}
	a.Out.Table(rows, 2)
	return nil
}

// revoke logs out one browser, or all.
func (a *App) revoke(ctx context.Context, office *client.Office, id string) error {
	which := id
	if id == "all" {
		which = ""
	}
	if err := office.EndSession(ctx, which); mail.CodeOf(err) == mail.NotFound {
		return Hinted(err, "pennypost open --sessions lists those that there are")
	} else if err != nil {
		return err
	}
	if which == "" {
		a.Out.Line("No browser is logged in any more.")
	} else {
		a.Out.Line("Session %s has ended.", OneLine(id))
	}
	return nil
}

// opener returns the command with which this system opens an address.
func opener(link string) (name string, args []string) {
	switch runtime.GOOS {
	case "darwin":
		return "open", []string{link}
	case "windows":
		return "rundll32", []string{"url.dll,FileProtocolHandler", link}
	}
	return "xdg-open", []string{link}
}
