// Package machines has the verbs by which several machines use one post office, or share rooms. Start at invite.go and
// join.go, the two ends of one line that a person carries from one machine to the other.
//
// It knows package cli, and none of the other groups of verbs.
package machines

import (
	"github.com/spf13/cobra"

	"pennypost/internal/front/cli"
)

// app is one run of a command.
type app struct{ *cli.App }

// New returns the command of a verb, nil if that is not of this group.
func New(run *cli.App, verb string) *cobra.Command {
	for _, v := range []struct {
		name string
		new  func(*app) *cobra.Command
	}{
		{"invite", newInvite}, {"join", newJoin}, {"leave", newLeave}, {"machines", newMachines},
	} {
		if v.name == verb {
			return v.new(&app{run})
		}
	}
	return nil
}
