package cli

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

const monitorHelp = `Print a line when there is mail for an agent that is idle: how many messages are unread, and not what they
say. Claude Code's plugin runs this beside a session, which each line wakes. While the agent works nothing is
printed, since its hooks tell it then. Every message is pointed to once.

The agent is --as, else $PENNYPOST_AGENT, else the one that hooks and MCP server in this directory are.`

// monitorDoor is the door of what a monitor points to.
const monitorDoor = "monitor"

// monitorPause is how long a monitor waits before it looks for a post office again. A session outlives many.
const monitorPause = 30 * time.Second

func newMonitor(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "monitor", Short: "print a line when an idle agent has mail", Long: monitorHelp,
		Example: "pennypost monitor\npennypost monitor --as builder",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.monitor(cmd.Context()) },
	}
}

// monitor goes on until it is stopped: a post office that is away comes back. What it cannot do it says on standard error, because every
// line on standard output wakes somebody.
func (a *app) monitor(ctx context.Context) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	name, err := a.agent(a.clientName())
	if err != nil {
		return err
	}
	room, err := a.roomName()
	if err != nil {
		return err
	}
	if a.office, err = a.quietOffice(); err != nil { // it shall not raise a post office that a person has stopped
		return err
	}
	svc, err := a.office.Room(ctx, room, name)
	if err != nil {
		return err
	}
	for ctx.Err() == nil && a.out.err == nil {
		_ = a.point(ctx, svc, name) // until the post office went away
		select {
		case <-ctx.Done():
		case <-time.After(monitorPause):
		}
	}
	return nil
}

// point follows the room and prints a line whenever there is a reason.
func (a *app) point(ctx context.Context, svc mail.Service, name mail.Name) error {
	st, err := svc.Status(ctx)
	if err != nil {
		return err
	}
	w, err := svc.Watch(ctx, st.Seq)
	if err != nil {
		return err
	}
	defer w.Close()
	for {
		if err := a.pointOnce(ctx, svc, name); err != nil || a.out.err != nil {
			return err
		}
		if _, err := w.Next(ctx); err != nil {
			return err
		}
	}
}

// pointOnce prints a line if the agent is idle and something waits that is worth waking it and that nothing has pointed to yet.
func (a *app) pointOnce(ctx context.Context, svc mail.Service, name mail.Name) error {
	list, err := svc.Agents(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list, func(ag mail.Agent) bool { return ag.Name == name })
	if i < 0 || list[i].State != mail.Idle || list[i].Unread == 0 {
		return nil
	}
	orchestrator := slices.Contains(list[i].Roles, string(mail.Orchestrator))
	page, err := svc.Inbox(ctx, mail.InboxQuery{Limit: mail.MaxLimit})
	if err != nil {
		return err
	}
	var ids []mail.ID
	urgent := 0
	for i := range page.Messages {
		it := &page.Messages[i]
		if it.State == mail.Queued && wakes(&it.Message, orchestrator) {
			ids = append(ids, it.ID)
			if it.Priority == mail.Urgent {
				urgent++
			}
		}
	}
	if len(ids) == 0 {
		return nil
	}
	a.out.line("Pennypost: %s unread, %d urgent. read_messages shows them.", plural(page.Unread, "message"), urgent)
	_, err = svc.Mark(ctx, mail.Marking{IDs: ids, Mark: mail.MarkNotified, Door: monitorDoor})
	return err
}

// wakes reports whether m is worth waking whoever it is for.
func wakes(m *mail.Message, orchestrator bool) bool {
	return slices.ContainsFunc(m.To, func(a mail.Address) bool { return policy.Wakes(m, a, orchestrator) })
}
