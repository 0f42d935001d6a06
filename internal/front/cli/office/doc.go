// Package office has the verbs for the person's own post office: its pages, its state, its rooms, its end, and the
// credentials of the person's scripts. Start at status.go.
//
// It knows package cli, and none of the other groups of verbs.
package office

import (
	"github.com/spf13/cobra"

	"pennypost/internal/front/cli"
)

// app is one run of a command.
type app struct{ *cli.App }

// Verbs is the group.
func Verbs() cli.Group {
	return cli.NewGroup(func(run *cli.App) *app { return &app{run} }, map[string]func(*app) *cobra.Command{
		"open": newOpen, "status": newStatus, "stop": newStop, "rooms": newRooms,
		"credentials": newCredentials,
	})
}
