package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"pennypost/internal/config"
	"pennypost/internal/mail"
)

const historyHelp = `List messages of the whole room, whoever they were for, newest last. If you give several
conditions, all must hold. --search takes words, in any order, which may stand in the middle of others,
and "phrases" in double quotes, in which any white space is like a space; case does not matter.
A time is 2026-05-10, 2026-05-10T14:00:00Z, or how long ago: 2h, 7d. With --archive, messages that
retention has moved to the archive are searched too. If more than N messages match, the newest are
listed.`

type historyFlags struct {
	types, states           []string
	from, to, agent, thread string
	issue, since, until     string
	search                  string
	open, archive           bool
	limit                   int
	before, after           uint64
}

func newHistory(a *App) *cobra.Command {
	var f historyFlags
	cmd := &cobra.Command{
		Use: "history", Short: "list and search messages of the room", Long: historyHelp,
		Example: "pennypost history --since 2h\npennypost history --type question,answer --agent builder\npennypost " +
			"history --search 'parser \"write path\"' --archive\npennypost history --open --from builder",
		Args: NoArgs,
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
	flags.StringVar(&f.until, "until", "", "sent before `TIME`")
	flags.StringVar(&f.search, "search", "", "with all these `WORDS` in subject or body")
	flags.BoolVar(&f.open, "open", false,
		"only what asks and is not settled: neither answered nor declined nor withdrawn")
	flags.BoolVar(&f.archive, "archive", false, "search the archive too")
	flags.IntVar(&f.limit, "limit", 0, "at most `N` messages, up to 1000; default 50")
	flags.Uint64Var(&f.before, "before", 0, "only messages before this `SEQ`")
	flags.Uint64Var(&f.after, "after", 0, "only messages after this `SEQ`, the oldest first")
	for _, name := range []string{"from", "to", "agent"} {
		_ = cmd.RegisterFlagCompletionFunc(name, a.completeAgent)
	}
	_ = cmd.RegisterFlagCompletionFunc("type", completeTypes)
	_ = cmd.RegisterFlagCompletionFunc("state", completeStates)
	return cmd
}

func (a *App) history(ctx context.Context, f historyFlags) error {
	q, err := a.historyQuery(f)
	if err != nil {
		return err
	}
	svc, err := a.service(ctx)
	if err != nil {
		return err
	}
	page, err := svc.History(ctx, q)
	if err != nil {
		return err
	}
	switch {
	case a.JSON:
		a.Out.Value(page)
		return nil
	case len(page.Messages) == 0:
		a.Out.Line("No message fits.")
		return nil
	}
	if page.More && f.after == 0 {
		a.Out.Line("%s", a.Out.Dim("Earlier ones: add --before "+seq(page.Next)))
	}
	a.listHistory(page.Messages)
	if page.More && f.after != 0 {
		a.Out.Line("%s", a.Out.Dim("Later ones: add --after "+seq(page.Next)))
	}
	return nil
}

// historyQuery turns flags into a query.
func (a *App) historyQuery(f historyFlags) (mail.HistoryQuery, error) {
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
		q.Since, err = a.parseWhen(f.since)
	}
	if err == nil {
		q.Until, err = a.parseWhen(f.until)
	}
	return q, err
}

func (a *App) listHistory(items []mail.Item) {
	rows := make([][]string, 0, len(items))
	for i := range items {
		it := &items[i]
		rows = append(rows, []string{
			string(it.ID), string(it.Type), Sender(&it.Message, 24) + " → " + shorten(Addressees(it.To), 32),
			a.Out.ago(it.Sent), a.headline(it),
		})
	}
	a.Out.Table(rows, 3)
}

// parseWhen reads a time, a day in local time, or how long ago. An empty word is no time.
func (a *App) parseWhen(s string) (mail.Time, error) { return a.parseTime(s, -1) }

// parseTime reads a time, a day in local time, or how long from now on: backwards if sign is -1.
func (a *App) parseTime(s string, sign time.Duration) (mail.Time, error) {
	if s == "" {
		return 0, nil
	}
	if t, err := mail.ParseTime(s); err == nil {
		return t, nil
	}
	for _, layout := range []string{time.DateOnly, "2006-01-02T15:04", "2006-01-02 15:04"} {
		if t, err := time.ParseInLocation(layout, s, time.Local); err == nil {
			return mail.TimeOf(t), nil
		}
	}
	d, err := config.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, Usage("%q is not a time: write it like 2026-05-10, 2026-05-10T14:00:00Z, or 2h for two hours %s", s,
			map[bool]string{true: "ago", false: "from now"}[sign < 0])
	}
	return mail.TimeOf(a.Out.now.Add(sign * time.Duration(d))), nil
}
