package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"pennypost/internal/fence"
	"pennypost/internal/mail"
)

const monitorHelp = `Print a line when there is mail for an agent that is idle: how many messages are unread, and not what they
say. It is for clients that wake a session for each line of a program that runs beside it, as Claude Code's
monitors do. While the agent works nothing is printed, since its hooks tell it then. Like every door of an
agent it is rung again if the mail stays unread, and in the end the user is told.

The agent is --as, else $PENNYPOST_AGENT, else the one that hooks and MCP server in this directory are.`

func newMonitor(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "monitor", Short: "print a line when an idle agent has mail", Long: monitorHelp,
		Example: "pennypost monitor\npennypost monitor --as builder",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.monitor(cmd.Context()) },
	}
}

// monitor goes on until it is stopped. It says nothing else on standard output, because every line there wakes
// somebody.
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
	return followRings(ctx, a.office, room, name, mail.Listener{Door: mail.MonitorDoor}, func(r *mail.Rung) error {
		a.out.line("%s", fence.Text(oneLine(r.Text)))
		return a.out.err
	}, func(err error) { fmt.Fprintf(a.env.Stderr, "pennypost: %s\n", visible(err.Error())) })
}
