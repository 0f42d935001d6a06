package room

import (
	"context"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"pennypost/internal/base/wording"
	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
)

const inboxHelp = `List the mail that waits in your mailbox, oldest first. This changes nothing: no message is marked,
and senders see no difference. To print bodies, use pennypost read. --place snoozed lists your snoozed
mail, --place archived your archived mail.

Questions come first, marked with a question mark, even if you have read or archived them: until you
answer or decline them (pennypost decline), or their sender withdraws them. Snoozed mail returns at its
time.

--all-rooms lists everything that waits for you, the user, in all rooms, by conversation: first what
needs you (open questions, and unread urgent mail; urgent, then oldest), then updates, the newest first.
Reports of type status are combined in one row.`

type inboxFlags struct {
	q        mail.InboxQuery
	place    string
	allRooms bool
	after    string // a sequence number; with --all-rooms the cursor of the last page
}

func newInbox(a *app) *cobra.Command {
	var f inboxFlags
	q := &f.q
	return cli.WithFlags(&cobra.Command{
		Use: "inbox", Short: "list the mail that waits; changes nothing", Long: inboxHelp,
		Example: "pennypost inbox\npennypost inbox --as builder --all\npennypost inbox --agent builder\npennypost " +
			"inbox --all-rooms",
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.allRooms {
				return a.inboxAllRooms(cmd.Context(), f)
			}
			return a.inbox(cmd.Context(), f)
		},
	},
		allRoomsFlag(&f.allRooms, "what waits for you in all rooms, by conversation"),
		cli.Flag{Into: &q.All, Name: "all", About: "include messages that are read"},
		cli.Flag{Into: &q.Open, Name: "open", About: "only open questions"},
		cli.Flag{Into: (*string)(&q.Agent), Name: "agent",
			About:    "look into the mailbox of `NAME` instead of your own",
			Complete: a.CompleteAgent},
		cli.Flag{Into: &q.Limit, Name: "limit", About: "at most `N` messages, up to 1000; default 50"},
		cli.Flag{Into: &f.after, Name: "after", About: "only messages after this `SEQ`; the previous page gives it"},
		cli.Flag{Into: (*uint64)(&q.Before), Name: "before", About: "only messages before this `SEQ`"},
		cli.Flag{Into: &q.Newest, Name: "newest", About: "newest first"},
		cli.Flag{Into: &q.From, Name: "from", About: "from this `ADDRESS` or name", Complete: a.CompleteAgent},
		cli.Flag{Into: &f.place, Name: "place", About: "`PLACE`: snoozed or archived, instead of the inbox",
			Complete: cli.OneOf(mail.InSnoozed, mail.InArchived)})
}

func (a *app) inbox(ctx context.Context, f inboxFlags) (err error) {
	q := f.q
	if q.After, err = placeAfter(f.after); err != nil {
		return err
	}
	if err := checkLimit(q.Limit); err != nil {
		return err
	}
	if q.Place, err = mail.ParsePlace(f.place); err != nil {
		return err
	}
	return cli.Ask(ctx, a.App, a.Existing, openFirst, q, func(page mail.Page) error {
		asks := q.Agent == "" && q.Place == mail.InInbox && len(a.SayWhoAsks(ctx)) > 0
		return a.showInbox(ctx, &page, f, asks)
	})
}

// openFirst returns a page of the mailbox; before the first page it puts the open questions, wherever they are.
func openFirst(svc mail.Service, ctx context.Context, q mail.InboxQuery) (mail.Page, error) {
	page, err := svc.Inbox(ctx, q)
	if err != nil || q.Place != mail.InInbox || q.After != 0 || q.Before != 0 || q.Open || page.Open == 0 {
		return page, err
	}
	q.Open = true
	open, err := svc.Inbox(ctx, q)
	if err != nil {
		return page, err
	}
	page.Messages = slices.DeleteFunc(page.Messages, func(it mail.Item) bool {
		return slices.ContainsFunc(open.Messages, func(o mail.Item) bool { return o.ID == it.ID })
	})
	due := slices.DeleteFunc(open.Messages, func(it mail.Item) bool { return it.Snoozed != 0 }) // not those put off
	page.Messages = append(due, page.Messages...)
	return page, nil
}

// showInbox lists a page of a mailbox. asks says that agents also wait for the caller.
func (a *app) showInbox(ctx context.Context, page *mail.Page, f inboxFlags, asks bool) error {
	a.sayTrouble(page.Trouble)
	switch {
	case len(page.Messages) == 0 && f.place != "":
		a.Out.Line("Nothing is %s.", f.place)
		return nil
	case len(page.Messages) == 0:
		here := "Nothing is waiting"
		if asks {
			here = "No mail is waiting"
		}
		a.nothing(ctx, here, "inbox", mailElsewhere)
		return nil
	}
	a.Out.Line("%s", a.Out.Bold(strconv.Itoa(page.Unread)+" unread"))
	if err := a.listMail(page.Messages, f.q.Agent == ""); err != nil {
		return err
	}
	if page.More {
		onward := "after"
		if f.q.Newest {
			onward = "before"
		}
		a.Out.Line("%s", a.Out.Dim("More: "+a.Onward(onward, seq(page.Next))))
	}
	return nil
}

// sayTrouble says above a list that it is stale, or what else is wrong.
func (a *app) sayTrouble(trouble string) {
	if trouble != "" {
		a.Out.Line("%s", a.Out.Red(cli.OneLine(trouble)))
	}
}

// placeAfter parses a sequence number; "" is the journal's beginning.
func placeAfter(text string) (mail.Seq, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, cli.Usage("%q is not a sequence number: --after takes the number that the previous page gave", text)
	}
	return mail.Seq(n), nil
}

// checkLimit checks a requested number of messages; 0 is the default.
func checkLimit(n int) error {
	if n < 0 || n > mail.MaxLimit {
		return cli.Usage("a limit of %d is out of range; use 1 to %d", n, mail.MaxLimit)
	}
	return nil
}

func seq(s mail.Seq) string { return strconv.FormatUint(uint64(s), 10) }

// listMail lists messages of a mailbox, the caller's own or another's.
func (a *app) listMail(items []mail.Item, own bool) error {
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
		rows = append(rows, []string{mark, cli.Sender(&it.Message, a.nameWidth()), a.headline(it)})
	}
	if !a.forPerson() { // others get no numbers, and finding out the room takes time
		a.listMessages("", items, rows)
		return nil
	}
	room, err := a.RoomName()
	if err != nil {
		return err
	}
	a.listMessages(room, items, rows)
	if own {
		who, err := a.Who()
		if err != nil {
			return err
		}
		a.sawMail(who, room, items)
	}
	return nil
}

// listMessages lists messages of one room by number. Each row has a mark, the sender, and the headline.
func (a *app) listMessages(room mail.RoomName, items []mail.Item, rows [][]string) {
	list := shownOf(room, items)
	numbers := a.number(room, list)
	for i, row := range rows {
		it := &items[i]
		rows[i] = []string{row[0], numbers[i], string(it.ID), string(it.Type), row[1], a.Out.Ago(it.Sent), row[2]}
	}
	a.Out.List(rows, mailSteps(leastPrefix(list)), 5)
}

// mailSteps is how lists of messages shrink: mark, number, id, type, sender, time and headline. least is the bytes of
// an id kept.
func mailSteps(least int) []cli.Step {
	return []cli.Step{
		cli.At(2, cli.Beginning(least)), cli.At(3, cli.AtMost(8)), cli.At(5, cli.Brief), cli.At(4, cli.AtMost(20)),
		cli.At(2, nil), cli.At(4, cli.AtMost(12)), cli.At(3, nil), cli.At(5, nil),
	}
}

// leastPrefix is the number of bytes that distinguish the ids in a list, with a reserve for later messages.
func leastPrefix(list []shownMessage) int {
	least := len("msg_") + 6
	for i := range list {
		for j := range list[:i] {
			for least < len(list[i].ID) &&
				wording.Beginning(string(list[i].ID), least) == wording.Beginning(string(list[j].ID), least) {
				least++
			}
		}
	}
	return least
}

// nameWidth is how much of a name is shown, in columns: all of it where there is space.
func (a *app) nameWidth() int {
	if a.Out.Wide == 0 {
		return mail.MaxName
	}
	return 28
}

// withdrawn reports whether a message's question was withdrawn.
func withdrawn(it *mail.Item) bool { return it.Settled != nil && it.Settled.As == mail.Withdrawn }

// headline is the heading with the message's special states.
func (a *app) headline(it *mail.Item) string {
	text := cli.Heading(it)
	if withdrawn(it) {
		text = a.Out.Dim("withdrawn ") + text
	}
	if it.Priority == mail.Urgent {
		text = a.Out.Red("urgent ") + text
	}
	return text
}
