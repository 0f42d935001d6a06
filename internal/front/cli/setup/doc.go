// Package setup has the verbs that make a machine ready: clients, configuration, the service, channels of
// notification, and the doctor that checks all of it. Start at install.go; package install knows the clients' files.
//
// It knows package cli, and none of the other groups of verbs.
package setup

import (
	"github.com/spf13/cobra"

	"pennypost/internal/front/cli"
)

// app is one run of a command.
type app struct{ *cli.App }

// Verbs is the group.
func Verbs() cli.Group {
	return cli.NewGroup(func(run *cli.App) *app { return &app{run} }, map[string]func(*app) *cobra.Command{
		"install": newInstall, "uninstall": newUninstall, "doctor": newDoctor, "config": newConfig,
		"notify": newNotify, "service": newService,
		"setup": newSetup, "remove": newRemove,
	})
}
