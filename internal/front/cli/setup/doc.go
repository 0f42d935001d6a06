// Package setup has the verbs that make a machine ready: clients, configuration, the service, channels of
// notification, and the doctor that looks at all of it. Start at install.go; what a client's files look like is in
// package install.
//
// It knows package cli, and none of the other groups of verbs.
package setup

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
		{"install", newInstall}, {"uninstall", newUninstall}, {"doctor", newDoctor}, {"config", newConfig},
		{"notify", newNotify}, {"service", newService},
	} {
		if v.name == verb {
			return v.new(&app{run})
		}
	}
	return nil
}
