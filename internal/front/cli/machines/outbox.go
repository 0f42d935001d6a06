package machines

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"pennypost/internal/base/wording"
	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
)

const outboxHelp = `List the mail that is kept on this machine because its room is unreachable: the recipients, how
long it has waited, and why. It is sent automatically when the room is reachable again, in each sender's
order. Mail that was refused then is listed first, with the reason, until you dismiss it.

--withdraw removes a message, waiting or refused. It is not sent, and its text is removed from the disk
of this machine. Only the user may do that.`

type outboxFlags struct{ withdraw string }

func newOutbox(a *app) *cobra.Command {
	var f outboxFlags
	return cli.WithFlags(&cobra.Command{
		Use: "outbox", Short: "list the mail that is kept on this machine", Long: outboxHelp,
		Example: "pennypost outbox\npennypost outbox --withdraw auto-V1StGXR8Z5jdHi6BmyT",
		Args:    cli.NoArgs,
		RunE:    cli.RunWith(a.outbox, &f),
	}, cli.Flag{Into: &f.withdraw, Name: "withdraw", About: "remove the message with this `KEY`; it is not sent"})
}

func (a *app) outbox(ctx context.Context, f outboxFlags) error {
	office, err := a.Post()
	if err != nil {
		return err
	}
	if f.withdraw != "" {
		err := office.WithdrawKept(ctx, f.withdraw)
		return a.Said(err, struct {
			Withdrawn string `json:"withdrawn"`
		}{f.withdraw}, "Withdrawn: it is not sent, and its text is removed from this machine.")
	}
	who, err := a.Who()
	if err != nil {
		return err
	}
	list, err := office.Outbox(ctx, who)
	return cli.Answer(a.App, list, err, a.showOutbox)
}

func (a *app) showOutbox(list mail.Outbox) error {
	if len(list.Letters) == 0 {
		a.Out.Line("Nothing is kept on this machine.")
	}
	for i := range list.Letters {
		k := &list.Letters[i]
		state := "kept since " + a.Out.Moment(k.Since)
		if k.Refused {
			state = a.Out.Red("refused")
		}
		a.Out.Line("%s  %s", a.Out.Bold(k.Key), state)
		a.Out.Line("  from %s to %s in room %s%s", k.From, cli.OneLine(strings.Join(k.To, ", ")), k.Room,
			cli.OneLine(about(k)))
		a.Out.Line("  %s", cli.OneLine(k.Why))
		for _, l := range strings.Split(k.Body, "\n") {
			if k.Body != "" {
				a.Out.Line("  | %s", cli.OneLine(l))
			}
		}
	}
	if list.Unread > 0 {
		a.Out.Line("%s of outbox.jsonl cannot be read, and stay as they are.",
			wording.Plural(list.Unread, "line"))
	}
	return nil
}

// about is a letter's own description.
func about(k *mail.Kept) string {
	if k.Subject == "" {
		return ""
	}
	return ": " + k.Subject
}
