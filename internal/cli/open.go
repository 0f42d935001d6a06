package cli

import (
	"context"
	"os/exec"
	"runtime"

	"github.com/spf13/cobra"

	"pennypost/internal/mail"
)

const openHelp = `Open the pages of the post office in the browser, where you see and answer all mail. The link that this
makes logs in one browser, once, within ten minutes; who has it is you, so give it to nobody. The
browser then stays logged in for 30 days.

Without a browser on this machine, --print prints the link and opens nothing.`

func newOpen(a *app) *cobra.Command {
	var print bool
	cmd := &cobra.Command{
		Use: "open", Short: "open the pages in the browser", Long: openHelp, Example: "pennypost open\npennypost open --print",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.open(cmd.Context(), print) },
	}
	cmd.Flags().BoolVar(&print, "print", false, "print the link and open nothing")
	return cmd
}

func (a *app) open(ctx context.Context, print bool) error {
	if a.as != "" && a.as != string(mail.User) {
		return mail.Errorf(mail.Invalid, "the pages are the person's, and not %s's; leave --as out", a.as)
	}
	room, err := a.roomName()
	if err != nil {
		return err
	}
	office, err := a.post()
	if err != nil {
		return err
	}
	link, err := office.Login(ctx, room)
	if err != nil {
		return err
	}
	switch {
	case a.json:
		a.out.value(struct {
			URL string `json:"url"`
		}{link})
		return nil
	case print:
		a.out.line("%s", link)
		return nil
	}
	name, args := opener(link)
	if err := exec.CommandContext(ctx, name, args...).Run(); err != nil {
		return hinted(mail.Errorf(mail.Unavailable, "no browser could be opened: %w", err), "pennypost open --print")
	}
	a.out.line("Opened in the browser.")
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
