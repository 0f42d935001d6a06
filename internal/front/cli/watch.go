package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"pennypost/internal/mail"
)

const watchHelp = `Print what happens in the room, as it happens, until ^C: messages, receipts and changes of the roster,
each with its place in the journal (SEQ). A watch goes on when the post office is restarted, and another
one can be begun where this one ended with --after. --after 0 begins with the first event there is.

Watching marks nothing.`

func newWatch(a *app) *cobra.Command {
	var after int64
	cmd := &cobra.Command{
		Use: "watch", Short: "print what happens, live", Long: watchHelp,
		Example: "pennypost watch\npennypost watch --json --after 0 | jq .message.subject",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if after < 0 && cmd.Flags().Changed("after") {
				return usage("--after %d is not a place in the journal", after)
			}
			return a.watch(cmd.Context(), after)
		},
	}
	cmd.Flags().Int64Var(&after, "after", -1, "begin behind this `SEQ`; default: now")
	cmd.Flags().Lookup("after").DefValue = "" // -1 is ours
	return cmd
}

// watch prints events behind a place; -1 is the present one.
func (a *app) watch(ctx context.Context, after int64) error {
	svc, err := a.service(ctx)
	if err != nil {
		return err
	}
	ctx, stop := interruptible(ctx)
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
		if a.out.err != nil {
			return a.out.err
		}
	}
}

func (a *app) showEvent(e *mail.Event) {
	if a.json {
		a.out.value(e)
		return
	}
	if what := a.eventWords(e); what != "" {
		a.out.line("%s %s  %s", a.out.dim(pad(seq(e.Seq), 6)), a.out.dim(e.At.Std().Local().Format("15:04:05")), what)
	}
}

// eventWords says an event in one line, "" for what nobody needs to see.
func (a *app) eventWords(e *mail.Event) string {
	switch {
	case e.Message != nil:
		m := e.Message
		it := mail.Item{Message: *m}
		return a.out.bold(sender(m, mail.MaxName)) + " → " + addressees(m.To) + "  " + string(m.Type) + "  " +
			a.headline(&it) + "  " + a.out.dim(string(m.ID))
	case e.Receipt != nil:
		r := e.Receipt
		door := ""
		if r.Door != "" {
			door = " by " + oneLine(r.Door)
		}
		return signer(r.Reader) + ": " + string(r.Mark) + door + "  " + a.out.dim(oneLine(string(r.Message)))
	case e.Agent != nil:
		return changeWords(e.Agent)
	case e.Erased != nil && !e.Erased.Done:
		return oneLine(string(e.Erased.By)) + " erased " + oneLine(string(e.Erased.Message))
	case e.Bridge != nil:
		return bridgeWords(e.Bridge)
	case e.Workspace != nil:
		return added(e.Workspace.Removed) + " workspace " + oneLine(string(e.Workspace.ID)) + " at " +
			oneLine(e.Workspace.Dir)
	}
	return ""
}

func bridgeWords(b *mail.BridgeChange) string {
	return added(b.Removed) + " bridge " + oneLine(b.ID) + " at " + oneLine(b.Dir)
}

func added(removed bool) string {
	if removed {
		return "removed"
	}
	return "added"
}

// changeWords says a change in the roster; a heartbeat is not worth a line.
func changeWords(c *mail.AgentChange) string {
	name := oneLine(string(c.Name))
	var said []string
	switch {
	case c.Renamed != "":
		said = append(said, "is now called "+oneLine(string(c.Renamed)))
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
		said = append(said, "has the roles "+oneLine(strings.Join(c.Roles, ", ")))
	}
	if c.Tags != nil {
		said = append(said, "carries "+oneLine(strings.Join(c.Tags, ", ")))
	}
	if c.Task != nil {
		said = append(said, "works on "+oneLine(*c.Task))
	}
	if c.TokenSum != "" {
		said = append(said, "has a new token")
	}
	if len(said) == 0 {
		return ""
	}
	return name + " " + strings.Join(said, ", ")
}
