package room

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
)

const historyHelp = `List messages of the whole room, for any recipient, newest last. If you give several conditions,
all must match. --search takes words, in any order, which may be parts of longer words, and "phrases" in
double quotes, in which any white space matches a space; case does not matter. A time is "yesterday",
"monday 9:00", "2026-05-10", "2026-05-10 14:00", or an age: 2h, 7d. --until DAY includes that day. With
--archive, messages that retention has moved to the archive are searched too. If more than N messages
match, the newest are listed.

--all-rooms searches all open rooms, and the 16 most recently used closed rooms, for you only, not for
agents. The other rooms are named; search them one by one with --room. The arguments for earlier messages
are printed above the list.`

type historyFlags struct {
	q             mail.HistoryQuery
	types, states []string
	since, until  string
	before        string // a sequence number, or positions in several rooms
	allRooms      bool
}

func newHistory(a *app) *cobra.Command {
	var f historyFlags
	q := &f.q
	return cli.WithFlags(&cobra.Command{
		Use: "history", Short: "list and search messages of the room", Long: historyHelp,
		Example: "pennypost history --since 2h\npennypost history --since yesterday --until yesterday\npennypost " +
			"history --type question,answer --agent builder\npennypost " +
			"history --search 'parser \"write path\"' --archive\npennypost history --open --from builder",
		Args: cli.NoArgs,
		RunE: cli.RunWith(a.history, &f),
	},
		allRoomsFlag(&f.allRooms, "messages of all rooms"),
		cli.Flag{Into: &f.types, Name: "type", About: "of this `TYPE`; separate several with commas",
			Complete: cli.CompleteTypes},
		cli.Flag{Into: &f.states, Name: "state",
			About: "now in this `STATE` for at least one recipient, such as held or dead; separate several with " +
				"commas", Complete: cli.OneOf(mail.DeliveryStates()...)},
		cli.Flag{Into: &q.From, Name: "from", About: "from this `ADDRESS` or name", Complete: a.CompleteAgent},
		cli.Flag{Into: &q.To, Name: "to", About: "to this `ADDRESS` or name", Complete: a.CompleteAgent},
		cli.Flag{Into: (*string)(&q.Agent), Name: "agent", About: "sent by or delivered to `NAME`",
			Complete: a.CompleteAgent},
		cli.Flag{Into: (*string)(&q.Thread), Name: "thread", About: "of the thread that contains the message `ID`"},
		cli.Flag{Into: &q.Issue, Name: "issue", About: "of this issue `ID`"},
		cli.Flag{Into: &f.since, Name: "since", About: "sent at `TIME` or later"},
		cli.Flag{Into: &f.until, Name: "until", About: "sent before `TIME`, or up to the end of that day"},
		cli.Flag{Into: &q.Search, Name: "search", About: "with all these `WORDS` in subject or body"},
		cli.Flag{Into: &q.Open, Name: "open",
			About: "only open questions: neither answered nor declined nor withdrawn"},
		cli.Flag{Into: &q.Archive, Name: "archive", About: "search the archive too"},
		cli.Flag{Into: &q.Limit, Name: "limit", About: "at most `N` messages, up to 1000; default 50"},
		cli.Flag{Into: &f.before, Name: "before", About: "only messages before this `SEQ`; of all rooms, ROOM:SEQ,…"},
		cli.Flag{Into: (*uint64)(&q.After), Name: "after", About: "only messages after this `SEQ`, the oldest first"})
}

func (a *app) history(ctx context.Context, f historyFlags) error {
	if err := f.complete(a.Out.Now); err != nil {
		return err
	}
	if f.allRooms {
		return a.historyAllRooms(ctx, f.q, f.before)
	}
	if f.before != "" {
		before, err := strconv.ParseUint(f.before, 10, 64)
		if err != nil {
			return cli.Usage("--before %q is not a sequence number; use the SEQ of a message of the room", f.before)
		}
		f.q.Before = mail.Seq(before)
	}
	return cli.Ask(ctx, a.App, a.Existing, mail.Service.History, f.q, func(page mail.Page) error {
		return a.showHistory(&page, f.q.After != 0)
	})
}

// showHistory lists messages; onward says that the omitted ones are later, not earlier.
func (a *app) showHistory(page *mail.Page, onward bool) error {
	a.sayTrouble(page.Trouble)
	a.sayTrouble(page.Partly)
	if len(page.Messages) == 0 {
		if page.Partly == "" {
			a.Own("No message matches.")
		}
		return nil
	}
	if page.More && !onward {
		a.Out.Line("%s", a.Out.Dim("Earlier: "+a.Onward("before", seq(page.Next))))
	}
	room, err := a.RoomName()
	if err != nil {
		return err
	}
	rows := make([][]string, 0, len(page.Messages))
	for i := range page.Messages {
		it := &page.Messages[i]
		rows = append(rows, []string{"", cli.Sender(&it.Message, a.nameWidth()) + " → " +
			cli.Shorten(cli.Addressees(it.To), a.nameWidth()), a.headline(it)})
	}
	a.listMessages(room, page.Messages, rows)
	if page.More && onward {
		a.Out.Line("%s", a.Out.Dim("Later: "+a.Onward("after", seq(page.Next))))
	}
	return nil
}

// complete parses the flags that are more than text.
func (f *historyFlags) complete(now time.Time) error {
	err := checkLimit(f.q.Limit)
	if err == nil {
		f.q.Types, err = parseTypes(f.types)
	}
	for _, s := range f.states {
		if err == nil {
			f.q.States = append(f.q.States, mail.DeliveryState(s))
			_, err = mail.ParseDeliveryState(s)
		}
	}
	if err == nil {
		f.q.Since, err = mail.ParseWhen(f.since, now, mail.Since)
	}
	if err == nil {
		f.q.Until, err = mail.ParseWhen(f.until, now, mail.Until)
	}
	return err
}
