// Package room has the verbs of one room: mail is listed, read, written, marked and waited for, and agents are listed,
// named and brought to the front. Start at inbox.go and send.go; which.go says what an ID may be on the command line.
//
// It knows package cli, and none of the other groups of verbs.
package room

import (
	"github.com/spf13/cobra"

	"pennypost/internal/front/cli"
)

// app is one run of a command.
type app struct{ *cli.App }

// Verbs returns the verbs of this package.
func Verbs() []cli.Verb {
	return []cli.Verb{
		of("inbox", newInbox), of("read", newRead), of("reply", newReply), of("answer", newAnswer),
		of("adopt", newAdopt), of("decline", newDecline), of("mark", newMark), of("send", newSend),
		of("withdraw", newWithdraw), of("wait", newWait), of("watch", newWatch), of("history", newHistory),
		of("waiting", newWaiting), of("stuck", newStuck), of("agents", newAgents), of("attach", newAttach),
		of("monitor", newMonitor),
	}
}

func of(name string, make func(*app) *cobra.Command) cli.Verb {
	return cli.Verb{Name: name, New: func(a *cli.App) *cobra.Command { return make(&app{a}) }}
}
