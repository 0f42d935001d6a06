package cli

import (
	"context"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"pennypost/internal/mail"
	"pennypost/internal/wire/client"
)

// confirm asks the person for the passphrase, at the command's terminal.
func (a *App) confirm(ctx context.Context, office *client.Office) error {
	if a.Whole {
		return mail.Errorf(mail.Unconfirmed, "this needs your passphrase. Nothing was done. Do it with a "+
			"command, such as pennypost answer, or on the pages")
	}
	typed, err := AskSecret("Passphrase of your post office: ")
	if err != nil {
		return err
	}
	return office.Confirm(ctx, typed)
}

// AskSecret lets the person type a text that is not shown.
func AskSecret(prompt string) (string, error) {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return "", mail.Errorf(
			mail.Unconfirmed,
			"this needs your passphrase, and there is no terminal to ask for it. Nothing was done",
		)
	}
	defer tty.Close()
	_, _ = io.WriteString(tty, prompt)
	typed, err := term.ReadPassword(int(tty.Fd()))
	_, _ = io.WriteString(tty, "\n")
	if err != nil {
		return "", mail.Errorf(mail.Unconfirmed, "no passphrase was typed. Nothing was done")
	}
	return string(typed), nil
}

// AskYes asks the person a yes-or-no question; Enter means proposed.
func (a *App) AskYes(question string, proposed bool) (bool, error) {
	choice := " [y/N] "
	if proposed {
		choice = " [Y/n] "
	}
	for {
		a.Out.Write(question + choice)
		line, err := a.readLine()
		if err != nil {
			a.Out.Line("")
			return false, mail.Errorf(mail.Unconfirmed, "no answer; earlier steps are kept")
		}
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "":
			return proposed, nil
		case "y", "yes":
			return true, nil
		case "n", "no":
			return false, nil
		}
		a.Out.Line("Type y or n, then Enter.")
	}
}

// readLine reads one line and no further, because the rest may answer another question.
func (a *App) readLine() (string, error) {
	var line []byte
	for b := make([]byte, 1); ; {
		if _, err := io.ReadFull(a.Env.Stdin, b); err != nil {
			return "", err
		}
		if b[0] == '\n' {
			return string(line), nil
		}
		line = append(line, b[0])
	}
}
