// Package machines has the verbs with which several machines use one post office, or share rooms. Start at invite.go
// and join.go, the two ends of one line that a person carries from one machine to the other.
//
// It knows package cli, and none of the other groups of verbs.
package machines

import (
	"github.com/spf13/cobra"

	"pennypost/internal/front/cli"
)

// app is one run of a command.
type app struct{ *cli.App }

// Verbs is the group.
func Verbs() cli.Group {
	return cli.NewGroup(func(run *cli.App) *app { return &app{run} }, map[string]func(*app) *cobra.Command{
		"invite": newInvite, "join": newJoin, "leave": newLeave, "machines": newMachines,
		"outbox": newOutbox, "cluster": newCluster,
	})
}
