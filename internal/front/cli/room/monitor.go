package room

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"pennypost/internal/base/pause"
	"pennypost/internal/fence"
	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
)

const monitorHelp = `Print a line when an idle agent has mail: the number of unread messages, and never their text. It
is for clients that wake a session for each line of a program that runs beside it, like Claude Code's
monitors. While the agent works nothing is printed, because its hooks show the mail then. As with every
door, the agent is rung again if the mail stays unread, and in the end the user is told.

The agent is --as, else $PENNYPOST_AGENT, else that of the hooks and the MCP server in this directory.
The command ends when nobody reads its output, or when the program that started it has ended.`

func newMonitor(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "monitor", Short: "print a line when an idle agent has mail", Long: monitorHelp,
		Example: "pennypost monitor\npennypost monitor --as builder",
		Args:    cli.NoArgs,
		RunE:    cli.Run(a.monitor),
	}
}

// monitor runs until it is stopped, or no one remains whom it could wake. It writes nothing else to standard output,
// because every line there wakes an agent.
func (a *app) monitor(ctx context.Context) error {
	ctx, stop := cli.Interruptible(ctx)
	defer stop()
	var beside sync.WaitGroup
	defer beside.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	beside.Go(func() {
		defer cancel()
		a.whileHeard(ctx)
	})
	name, err := a.Agent(a.ClientName())
	if err != nil {
		return err
	}
	room, err := a.RoomName()
	if err != nil {
		return err
	}
	if a.Office, err = a.QuietOffice(); err != nil { // it must not start a post office that a person has stopped
		return err
	}
	session, _ := a.Session()
	at := mail.Listener{Door: mail.MonitorDoor, Session: session}
	return cli.FollowRings(ctx, a.Office, room, name, at, func(r *mail.Rung) error {
		a.Out.Line("%s", fence.Text(cli.OneLine(r.Text)))
		return a.Out.Err()
	}, func(err error) { fmt.Fprintf(a.Env.Stderr, "pennypost: %s\n", cli.Visible(err.Error())) })
}

// heardPause is how often a monitor checks that it is heard: a ring that it takes later is lost.
const heardPause = time.Second

// whileHeard returns when ctx ends, when the reader of this process's output is gone, or when its parent has ended.
// On Windows neither can be detected.
func (a *app) whileHeard(ctx context.Context) {
	parent := os.Getppid()
	out, _ := a.Stdout.To.(*os.File)
	for os.Getppid() == parent && (out == nil || !readerGone(out)) && pause.For(ctx, heardPause) {
	}
}
