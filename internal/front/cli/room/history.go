package room

import (
	"context"

	"pennypost/internal/front/cli"

	"github.com/spf13/cobra"

	"pennypost/internal/mail"
)

const historyHelp = `List messages of the whole room, whoever they were for, newest last. If you give several
conditions, all must hold. --search takes words, in any order, which may stand in the middle of others,
and "phrases" in double quotes, in which any white space is like a space; case does not matter.
A time is "yesterday", "monday 9:00", "2026-05-10", "2026-05-10 14:00", or how long ago: 2h, 7d. A day
after --until is included. With --archive, messages that retention has moved to the archive are
searched too. If more than N messages match, the newest are listed.`

type historyFlags struct {
	types, states           []string
	from, to, agent, thread string
	issue, since, until     string
	search                  string
	open, archive           bool
	limit                   int
	before, after           uint64
}

func newHistory(a *app) *cobra.Command {
	var f historyFlags
	cmd := &cobra.Command{
		Use: "history", Short: "list and search messages of the room", Long: historyHelp,
		Example: "pennypost history --since 2h\npennypost history --since yesterday --until yesterday\npennypost " +
			"history --type question,answer --agent builder\npennypost " +
			"history --search 'parser \"write path\"' --archive\npennypost history --open --from builder",
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.history(cmd.Context(), f) },
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.types, "type", nil, "of this `TYPE`; several are joined by commas")
	flags.StringSliceVar(&f.states, "state", nil,
		"in this `STATE` with at least one recipient now, such as held or dead; several are joined by commas")
	flags.StringVar(&f.from, "from", "", "from this `ADDRESS` or name")
	flags.StringVar(&f.to, "to", "", "to this `ADDRESS` or name")
	flags.StringVar(&f.agent, "agent", "", "sent by or delivered to `NAME`")
	flags.StringVar(&f.thread, "thread", "", "of the thread that the message `ID` belongs to")
	flags.StringVar(&f.issue, "issue", "", "of this issue `ID`")
	flags.StringVar(&f.since, "since", "", "sent at `TIME` or later")
	flags.StringVar(&f.until, "until", "", "sent before `TIME`, or up to the end of that day")
	flags.StringVar(&f.search, "search", "", "with all these `WORDS` in subject or body")
	flags.BoolVar(&f.open, "open", false,
		"only what asks and is not settled: neither answered nor declined nor withdrawn")
	flags.BoolVar(&f.archive, "archive", false, "search the archive too")
	flags.IntVar(&f.limit, "limit", 0, "at most `N` messages, up to 1000; default 50")
	flags.Uint64Var(&f.before, "before", 0, "only messages before this `SEQ`")
	flags.Uint64Var(&f.after, "after", 0, "only messages after this `SEQ`, the oldest first")
	for _, name := range []string{"from", "to", "agent"} {
		_ = cmd.RegisterFlagCompletionFunc(name, a.CompleteAgent)
	}
	_ = cmd.RegisterFlagCompletionFunc("type", cli.CompleteTypes)
	_ = cmd.RegisterFlagCompletionFunc("state", cli.CompleteStates)
	return cmd
}

func (a *app) history(ctx context.Context, f historyFlags) error {
	q, err := a.historyQuery(f)
	if err != nil {
		return err
	}
	svc, err := a.Service(ctx)
	if err != nil {
		return err
	}
	page, err := svc.History(ctx, q)
	if err != nil {
		return err
	}
	if a.JSON {
		a.Out.Value(page)
		return nil
	}
	a.sayTrouble(page.Trouble)
	if len(page.Messages) == 0 {
		a.Own("No message fits.")
		return nil
	}
	if page.More && f.after == 0 {
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
	if page.More && f.after != 0 {
		a.Out.Line("%s", a.Out.Dim("Later: "+a.Onward("after", seq(page.Next))))
	}
	return nil
}

// historyQuery turns flags into a query.
func (a *app) historyQuery(f historyFlags) (mail.HistoryQuery, error) {
	q := mail.HistoryQuery{
		From: f.from, To: f.to, Agent: mail.Name(f.agent), Thread: mail.ID(f.thread), Issue: f.issue, Search: f.search,
		Open: f.open, Archive: f.archive, Limit: f.limit, Before: mail.Seq(f.before), After: mail.Seq(f.after),
	}
	err := checkLimit(f.limit)
	if err == nil {
		q.Types, err = parseTypes(f.types)
	}
	for _, s := range f.states {
		if err == nil {
			q.States = append(q.States, mail.DeliveryState(s))
			_, err = mail.ParseDeliveryState(s)
		}
	}
	if err == nil {
		q.Since, err = mail.ParseWhen(f.since, a.Out.Now, mail.Since)
	}
	if err == nil {
		q.Until, err = mail.ParseWhen(f.until, a.Out.Now, mail.Until)
	}
	return q, err
}
