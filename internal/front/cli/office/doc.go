// Package office has the verbs of the post office as the person has it before them: its pages, its state, its rooms,
// its end, and the credentials of the person's scripts. Start at status.go.
//
// It knows package cli, and none of the other groups of verbs.
package office

import (
	"github.com/spf13/cobra"

	"pennypost/internal/front/cli"
)

// app is one run of a command.
type app struct{ *cli.App }

// Verbs returns the verbs of this package.
func Verbs() []cli.Verb {
	return []cli.Verb{
		of("open", newOpen), of("status", newStatus), of("stop", newStop), of("rooms", newRooms),
		of("credentials", newCredentials),
	}
}

func of(name string, make func(*app) *cobra.Command) cli.Verb {
	return cli.Verb{Name: name, New: func(a *cli.App) *cobra.Command { return make(&app{a}) }}
}
