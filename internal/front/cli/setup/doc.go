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

// Verbs returns the verbs of this package.
func Verbs() []cli.Verb {
	return []cli.Verb{
		of("install", newInstall), of("uninstall", newUninstall), of("doctor", newDoctor), of("config", newConfig),
		of("notify", newNotify), of("service", newService),
	}
}

func of(name string, make func(*app) *cobra.Command) cli.Verb {
	return cli.Verb{Name: name, New: func(a *cli.App) *cobra.Command { return make(&app{a}) }}
}
