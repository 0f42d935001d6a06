// Package room has the verbs of one room: mail is listed, read, written, marked and waited for, and agents are
// listed, named and brought to the front. Start at inbox.go and send.go; which.go says what an ID may be on the
// command line.
//
// It knows package cli, and none of the other groups of verbs.
package room

import (
	"github.com/spf13/cobra"

	"pennypost/internal/front/cli"
)

// app is one run of a command.
type app struct{ *cli.App }

// Verbs is the group.
func Verbs() cli.Group {
	return cli.NewGroup(func(run *cli.App) *app { return &app{run} }, map[string]func(*app) *cobra.Command{
		"inbox": newInbox, "read": newRead, "reply": newReply, "answer": newAnswer, "adopt": newAdopt,
		"decline": newDecline, "mark": newMark, "send": newSend, "withdraw": newWithdraw, "wait": newWait,
		"watch": newWatch, "history": newHistory, "waiting": newWaiting, "stuck": newStuck,
		"dialogs": newDialogs, "claims": newClaims, "away": newAway, "agents": newAgents, "attach": newAttach,
		"monitor": newMonitor, "scheduled": newScheduled,
	})
}
