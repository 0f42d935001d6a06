package cli

import (
	"context"
	"io"
	"os"

	"golang.org/x/term"

	"pennypost/internal/mail"
	"pennypost/internal/wire/client"
)

// confirm asks the person for the passphrase, at the terminal that the command runs in.
func (a *App) confirm(ctx context.Context, office *client.Office) error {
	if a.Whole {
		return mail.Errorf(mail.Unconfirmed, "this asks for your passphrase: nothing was done. Do it by a command, "+
			"such as pennypost answer, or on the pages")
	}
	typed, err := AskSecret("Passphrase of your post office: ")
	if err != nil {
		return err
	}
	return office.Confirm(ctx, typed)
}

// AskSecret has the person type something that is not shown.
func AskSecret(prompt string) (string, error) {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return "", mail.Errorf(
			mail.Unconfirmed,
			"this asks for your passphrase, and has no terminal to ask at: nothing "+
				"was done",
		)
	}
	defer tty.Close()
	_, _ = io.WriteString(tty, prompt)
	typed, err := term.ReadPassword(int(tty.Fd()))
	_, _ = io.WriteString(tty, "\n")
	if err != nil {
		return "", mail.Errorf(mail.Unconfirmed, "nothing was typed: nothing was done")
	}
	return string(typed), nil
}
