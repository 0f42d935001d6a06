package room

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
)

const watchHelp = `Print mail as it is sent, until ^C: its time, sender, recipients, type, subject and the beginning
of its text. --all prints every event of the room, including receipts, changes of the roster and answers,
each with its sequence number (SEQ).

The watch continues when the post office is restarted. To continue later where a watch ended, give the
last SEQ to --after; --after 0 begins with the first event. In a pipe and with --json, mail also has its
SEQ and its id.

Watching marks nothing.`

type watchFlags struct {
	after          int64
	all            bool
	from, to, kind []string
}

func newWatch(a *app) *cobra.Command {
	f := watchFlags{after: -1}
	cmd := cli.WithFlags(&cobra.Command{
		Use: "watch", Short: "print mail as it is sent, live", Long: watchHelp,
		Example: "pennypost watch\npennypost watch --to user --type question,task-done\npennypost watch --all\n" +
			"pennypost watch --json --after 0 | jq .message.subject",
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.after < 0 && cmd.Flags().Changed("after") {
				return cli.Usage("--after %d is not a sequence number", f.after)
			}
			return a.watch(cmd.Context(), f)
		},
	},
		cli.Flag{Into: &f.after, Name: "after", About: "begin after this `SEQ`; default: now"},
		cli.Flag{Into: &f.all, Name: "all", About: "every event, not only mail"},
		cli.Flag{Into: &f.from, Name: "from",
			About:    "only mail from this `ADDRESS` or name; separate several with commas",
			Complete: a.CompleteAgent},
		cli.Flag{Into: &f.to, Name: "to", About: "only mail to this `ADDRESS` or name; separate several with commas",
			Complete: a.CompleteAddress},
		cli.Flag{Into: &f.kind, Name: "type", About: "only mail of this `TYPE`; separate several with commas",
			Complete: cli.CompleteTypes})
	cmd.Flags().Lookup("after").DefValue = "" // -1 is internal
	return cmd
}

// wants reports whether to print an event. The filters apply to mail, and with any filter only mail is printed.
func (f *watchFlags) wants(e *mail.Event) bool {
	m := e.Message
	if m == nil {
		return f.all && len(f.from)+len(f.to)+len(f.kind) == 0
	}
	is := func(words []string, a mail.Address) bool {
		return slices.Contains(words, string(a)) || slices.Contains(words, string(a.Signer()))
	}
	return (len(f.from) == 0 || is(f.from, m.From)) &&
		(len(f.kind) == 0 || slices.Contains(f.kind, string(m.Type))) &&
		(len(f.to) == 0 || slices.ContainsFunc(m.To, func(a mail.Address) bool { return is(f.to, a) }))
}

// watch prints events after a sequence number; -1 is the latest.
func (a *app) watch(ctx context.Context, f watchFlags) error {
	if _, err := parseTypes(f.kind); err != nil {
		return err
	}
	svc, err := a.Service(ctx)
	if err != nil {
		return err
	}
	ctx, stop := cli.Interruptible(ctx)
	defer stop()
	from := mail.Seq(max(f.after, 0))
	if f.after < 0 {
		st, err := svc.Status(ctx)
		if err != nil {
			return err
		}
		from = st.Seq
	}
	w, err := svc.Watch(ctx, from)
	if err != nil {
		return err
	}
	defer w.Close()
	for {
		events, err := w.Next(ctx)
		if ctx.Err() != nil {
			return nil // the person has seen enough
		}
		if err != nil {
			return err
		}
		for i := range events {
			if f.wants(&events[i]) {
				a.showEvent(&events[i])
			}
		}
		if a.Out.Err() != nil {
			return a.Out.Err()
		}
	}
}

func (a *app) showEvent(e *mail.Event) {
	if a.JSON {
		a.Out.Value(e)
		return
	}
	what := a.eventWords(e)
	if what == "" {
		return
	}
	line := a.Out.Dim(e.At.Std().Local().Format("15:04:05")) + "  " + what
	if a.Out.Wide == 0 || e.Message == nil {
		line = a.Out.Dim(cli.Pad(seq(e.Seq), 6)) + " " + line
	}
	if a.Out.Wide > 0 {
		line = cli.Shorten(line, a.Out.Wide)
	}
	a.Out.Write(line + "\n")
	if m := e.Message; m != nil {
		a.noteWatched(m, e.Seq)
	}
}

// noteWatched makes a message to the caller "last".
func (a *app) noteWatched(m *mail.Message, at mail.Seq) {
	who, room, err := a.here()
	if err != nil || !slices.ContainsFunc(m.To, func(to mail.Address) bool {
		return to.Signer() == who
	}) {
		return
	}
	a.sawMail(who, room, []mail.Item{{Message: *m, Seq: at}})
}

// eventWords describes an event in one line, "" for one that no one needs to see.
func (a *app) eventWords(e *mail.Event) string {
	switch {
	case e.Message != nil:
		return a.mailWords(e.Message)
	case e.Receipt != nil:
		r := e.Receipt
		door := ""
		if r.Door != "" {
			door = " by " + cli.OneLine(r.Door)
		}
		return cli.Signer(r.Reader) + ": " + string(r.Mark) + door + "  " + a.Out.Dim(cli.OneLine(string(r.Message)))
	case e.Agent != nil:
		return changeWords(e.Agent)
	case e.Erased != nil && !e.Erased.Done:
		return cli.OneLine(string(e.Erased.By)) + " erased " + cli.OneLine(string(e.Erased.Message))
	case e.Settled != nil:
		return cli.Signer(e.Settled.By) + ": " + string(e.Settled.As) + "  " +
			a.Out.Dim(cli.OneLine(string(e.Settled.Message)))
	case e.Dialog != nil:
		return dialogWords(e.Dialog) + "  " + a.Out.Dim(cli.OneLine(string(e.Dialog.ID)))
	case e.Bridge != nil:
		return bridgeWords(e.Bridge)
	case e.Workspace != nil:
		return added(e.Workspace.Removed) + " workspace " + cli.OneLine(string(e.Workspace.ID)) + " at " +
			cli.OneLine(e.Workspace.Dir)
	}
	return ""
}

// mailWords describes a message in one line: with its whole id, except on a terminal.
func (a *app) mailWords(m *mail.Message) string {
	words := a.Out.Bold(cli.Sender(m, a.nameWidth())) + " → " + cli.Shorten(cli.Addressees(m.To), a.nameWidth()) +
		"  " + string(m.Type) + "  " + a.headline(&mail.Item{Message: *m})
	if m.Subject != "" {
		words += "  " + a.Out.Dim(cli.Heading(&mail.Item{Message: mail.Message{Body: m.Body}}))
	}
	if a.Out.Wide == 0 {
		words += "  " + string(m.ID)
	}
	return words
}

func bridgeWords(b *mail.BridgeChange) string {
	return added(b.Removed) + " bridge " + cli.OneLine(b.ID) + " at " + cli.OneLine(b.Dir)
}

// dialogWords describes a change of an agent's dialog. Its question is not in the journal.
func dialogWords(c *mail.DialogChange) string {
	who, about := cli.OneLine(string(c.Agent)), string(c.Kind)
	if c.Kind == mail.AsksPermission && c.Tool != "" {
		about += " for " + cli.OneLine(c.Tool)
	}
	switch {
	case c.Outcome == "" && c.Doubt:
		return who + ": may have been answered at its client: " + about
	case c.Outcome == "":
		return who + " asks you: " + about
	case c.Outcome == mail.DialogEnded:
		return who + " no longer asks: " + about
	case c.By == "":
		return who + ": " + string(c.Outcome) + " at its client: " + about
	}
	return cli.OneLine(string(c.By)) + ": " + string(c.Outcome) + " by " + cli.OneLine(c.Where) + ": " + who + "'s " +
		about
}

func added(removed bool) string {
	if removed {
		return "removed"
	}
	return "added"
}

// changeWords describes a change in the roster; a heartbeat is not worth a line.
func changeWords(c *mail.AgentChange) string {
	name := cli.OneLine(string(c.Name))
	var said []string
	switch {
	case c.Renamed != "":
		said = append(said, "is now called "+cli.OneLine(string(c.Renamed)))
	case c.Retired:
		said = append(said, "retired")
	case c.End:
		said = append(said, "left")
	case c.Session != "" && c.TakeOver:
		said = append(said, "was taken over by another session")
	}
	if c.State != "" {
		said = append(said, "is "+string(c.State))
	}
	if c.Roles != nil {
		said = append(said, "has the roles "+cli.OneLine(strings.Join(c.Roles, ", ")))
	}
	if c.Tags != nil {
		said = append(said, "carries "+cli.OneLine(strings.Join(c.Tags, ", ")))
	}
	if c.Task != nil {
		said = append(said, "works on "+cli.OneLine(*c.Task))
	}
	if c.TokenSum != "" {
		said = append(said, "has a new token")
	}
	if len(said) == 0 {
		return ""
	}
	return name + " " + strings.Join(said, ", ")
}
