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

// Verbs returns the verbs of this package.
func Verbs() []cli.Verb {
	return []cli.Verb{
		of("invite", newInvite), of("join", newJoin), of("leave", newLeave), of("machines", newMachines),
	}
}

func of(name string, make func(*app) *cobra.Command) cli.Verb {
	return cli.Verb{Name: name, New: func(a *cli.App) *cobra.Command { return make(&app{a}) }}
}
