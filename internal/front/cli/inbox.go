package cli

import (
	"context"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"pennypost/internal/mail"
)

const inboxHelp = `List the mail that waits in your mailbox, oldest first. Looking changes nothing: no message is
marked, and senders see no difference. To print bodies, use pennypost read. --place snoozed lists
what you have snoozed, --place archived what you have archived.

What asks you something comes first, with a question mark, also when you have read or archived it:
until you answer it or decline it (pennypost decline), or whoever asked withdraws it. What you have
snoozed comes back at its time.`

type inboxFlags struct {
	all, newest   bool
	open          bool
	agent, from   string
	place         string
	limit         int
	after, before uint64
}

func newInbox(a *App) *cobra.Command {
	var f inboxFlags
	cmd := &cobra.Command{
		Use: "inbox", Short: "list the mail that waits; changes nothing", Long: inboxHelp,
		Example: "pennypost inbox\npennypost inbox --as builder --all\npennypost inbox --agent builder",
		Args:    NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.inbox(cmd.Context(), f) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.all, "all", false, "include messages that are read")
	flags.BoolVar(&f.open, "open", false, "only what waits for an answer")
	flags.StringVar(&f.agent, "agent", "", "look into the mailbox of `NAME` instead of your own")
	flags.IntVar(&f.limit, "limit", 0, "at most `N` messages, up to 1000; default 50")
	flags.Uint64Var(&f.after, "after", 0, "only messages after this `SEQ`")
	flags.Uint64Var(&f.before, "before", 0, "only messages before this `SEQ`")
	flags.BoolVar(&f.newest, "newest", false, "newest first")
	flags.StringVar(&f.from, "from", "", "from this `ADDRESS` or name")
	flags.StringVar(&f.place, "place", "", "`PLACE`: snoozed or archived, instead of the inbox")
	_ = cmd.RegisterFlagCompletionFunc("from", a.completeAgent)
	_ = cmd.RegisterFlagCompletionFunc("place",
		cobra.FixedCompletions([]string{string(mail.InSnoozed), string(mail.InArchived)},
			cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("agent", a.completeAgent)
	return cmd
}

func (a *App) inbox(ctx context.Context, f inboxFlags) error {
	if err := checkLimit(f.limit); err != nil {
		return err
	}
	place, err := mail.ParsePlace(f.place)
	if err != nil {
		return err
	}
	svc, err := a.service(ctx)
	if err != nil {
		return err
	}
	q := mail.InboxQuery{
		Agent: mail.Name(f.agent), Place: place, All: f.all, Open: f.open, Newest: f.newest, From: f.from,
		Limit: f.limit, After: mail.Seq(f.after), Before: mail.Seq(f.before),
	}
	page, err := svc.Inbox(ctx, q)
	if err != nil {
		return err
	}
	if place == mail.InInbox && q.After == 0 && q.Before == 0 && !q.Open && page.Open > 0 {
		q.Open = true
		open, err := svc.Inbox(ctx, q)
		if err != nil {
			return err
		}
		page.Messages = slices.DeleteFunc(page.Messages, func(it mail.Item) bool {
			return slices.ContainsFunc(open.Messages, func(o mail.Item) bool { return o.ID == it.ID })
		})
		due := slices.DeleteFunc(open.Messages, func(it mail.Item) bool { return it.Snoozed != 0 }) // put off
		page.Messages = append(due, page.Messages...)
	}
	if a.JSON {
		a.Out.Value(page)
		return nil
	}
	if len(page.Messages) == 0 {
		if f.place != "" {
			a.Out.Line("Nothing is %s.", f.place)
			return nil
		}
		a.Out.Line("Nothing waits.")
		return nil
	}
	a.Out.Line("%s", a.Out.Bold(strconv.Itoa(page.Unread)+" unread"))
	a.listMessages(page.Messages)
	if page.More {
		onward := "--after "
		if f.newest {
			onward = "--newest --before "
		}
		a.Out.Line("%s", a.Out.Dim("More: pennypost inbox "+onward+seq(page.Next)))
	}
	return nil
}

// checkLimit checks a number of messages that was asked for; 0 is the default.
func checkLimit(n int) error {
	if n < 0 || n > mail.MaxLimit {
		return Usage("a limit of %d is out of range; use 1 to %d", n, mail.MaxLimit)
	}
	return nil
}

func seq(s mail.Seq) string { return strconv.FormatUint(uint64(s), 10) }

func itoa(n int) string { return strconv.Itoa(n) }

// listMessages prints a line for each message.
func (a *App) listMessages(items []mail.Item) {
	rows := make([][]string, 0, len(items))
	for i := range items {
		it := &items[i]
		mark := "●"
		switch {
		case it.Open:
			mark = "?"
		case it.Read, withdrawn(it):
			mark = " "
		}
		rows = append(rows, []string{
			mark, string(it.ID), string(it.Type), Sender(&it.Message, 28), a.Out.ago(it.Sent), a.headline(it),
		})
	}
	a.Out.Table(rows, 4)
}

// Signer shows an address that signs as a person would say it.
func Signer(a mail.Address) string { return OneLine(string(a.Signer())) }

// Sender shows who sent a message, the name cut to a width, and whether anybody has proven that: of what came over a
// bridge a file says so.
func Sender(m *mail.Message, width int) string {
	name := shorten(Signer(m.From), width)
	if m.Via != "" {
		name += " (" + mail.Unproven + ")"
	}
	return name
}

// withdrawn reports whether nobody wants to know any more what a message asks.
func withdrawn(it *mail.Item) bool { return it.Settled != nil && it.Settled.As == mail.Withdrawn }

// headlineWidth is in columns.
const headlineWidth = 72

// headline is the subject of a message or the beginning of its body.
func (a *App) headline(it *mail.Item) string {
	text := it.Subject
	if text == "" {
		text = it.Body
	}
	text = shorten(OneLine(beginning(text, 4*headlineWidth)), headlineWidth) // no character takes more than 4 bytes
	if withdrawn(it) {
		text = a.Out.Dim("withdrawn ") + text
	}
	if it.Priority == mail.Urgent {
		text = a.Out.red("urgent ") + text
	}
	return text
}
