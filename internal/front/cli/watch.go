package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"pennypost/internal/mail"
)

const watchHelp = `Print what happens in the room, as it happens, until ^C: messages, receipts and changes of the
roster, each with its place in the journal (SEQ). The watch continues when the post office is
restarted. To continue later where a watch ended, give the last SEQ to --after; --after 0 begins
with the first event there is.

Watching marks nothing.`

func newWatch(a *App) *cobra.Command {
	var after int64
	cmd := &cobra.Command{
		Use: "watch", Short: "print what happens, live", Long: watchHelp,
		Example: "pennypost watch\npennypost watch --json --after 0 | jq .message.subject",
		Args:    NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if after < 0 && cmd.Flags().Changed("after") {
				return Usage("--after %d is not a place in the journal", after)
			}
			return a.watch(cmd.Context(), after)
		},
	}
	cmd.Flags().Int64Var(&after, "after", -1, "begin after this `SEQ`; default: now")
	cmd.Flags().Lookup("after").DefValue = "" // -1 is ours
	return cmd
}

// watch prints events behind a place; -1 is the present one.
func (a *App) watch(ctx context.Context, after int64) error {
	svc, err := a.service(ctx)
	if err != nil {
		return err
	}
	ctx, stop := Interruptible(ctx)
	defer stop()
	from := mail.Seq(max(after, 0))
	if after < 0 {
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
			a.showEvent(&events[i])
		}
		if a.Out.err != nil {
			return a.Out.err
		}
	}
}

func (a *App) showEvent(e *mail.Event) {
	if a.JSON {
		a.Out.Value(e)
		return
	}
	if what := a.eventWords(e); what != "" {
		a.Out.Line("%s %s  %s", a.Out.Dim(pad(seq(e.Seq), 6)), a.Out.Dim(e.At.Std().Local().Format("15:04:05")), what)
	}
}

// eventWords says an event in one line, "" for what nobody needs to see.
func (a *App) eventWords(e *mail.Event) string {
	switch {
	case e.Message != nil:
		m := e.Message
		it := mail.Item{Message: *m}
		return a.Out.Bold(Sender(m, mail.MaxName)) + " → " + Addressees(m.To) + "  " + string(m.Type) + "  " +
			a.headline(&it) + "  " + a.Out.Dim(string(m.ID))
	case e.Receipt != nil:
		r := e.Receipt
		door := ""
		if r.Door != "" {
			door = " by " + OneLine(r.Door)
		}
		return Signer(r.Reader) + ": " + string(r.Mark) + door + "  " + a.Out.Dim(OneLine(string(r.Message)))
	case e.Agent != nil:
		return changeWords(e.Agent)
	case e.Erased != nil && !e.Erased.Done:
		return OneLine(string(e.Erased.By)) + " erased " + OneLine(string(e.Erased.Message))
	case e.Settled != nil:
		return Signer(e.Settled.By) + ": " + string(e.Settled.As) + "  " +
			a.Out.Dim(OneLine(string(e.Settled.Message)))
	case e.Bridge != nil:
		return bridgeWords(e.Bridge)
	case e.Workspace != nil:
		return added(e.Workspace.Removed) + " workspace " + OneLine(string(e.Workspace.ID)) + " at " +
			OneLine(e.Workspace.Dir)
	}
	return ""
}

func bridgeWords(b *mail.BridgeChange) string {
	return added(b.Removed) + " bridge " + OneLine(b.ID) + " at " + OneLine(b.Dir)
}

func added(removed bool) string {
	if removed {
		return "removed"
	}
	return "added"
}

// changeWords says a change in the roster; a heartbeat is not worth a line.
func changeWords(c *mail.AgentChange) string {
	name := OneLine(string(c.Name))
	var said []string
	switch {
	case c.Renamed != "":
		said = append(said, "is now called "+OneLine(string(c.Renamed)))
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
		said = append(said, "has the roles "+OneLine(strings.Join(c.Roles, ", ")))
	}
	if c.Tags != nil {
		said = append(said, "carries "+OneLine(strings.Join(c.Tags, ", ")))
	}
	if c.Task != nil {
		said = append(said, "works on "+OneLine(*c.Task))
	}
	if c.TokenSum != "" {
		said = append(said, "has a new token")
	}
	if len(said) == 0 {
		return ""
	}
	return name + " " + strings.Join(said, ", ")
}
