// Package verbs joins the groups of verbs that the front has. The order of the manual is in package cli.
package verbs

import (
	"pennypost/internal/front/cli"
	"pennypost/internal/front/cli/data"
	"pennypost/internal/front/cli/machines"
	"pennypost/internal/front/cli/office"
	"pennypost/internal/front/cli/room"
	"pennypost/internal/front/cli/setup"
)

// Front returns the groups of verbs of the front.
func Front() []cli.Group {
	return []cli.Group{
		room.Verbs(), office.Verbs(), setup.Verbs(), machines.Verbs(), data.Verbs(),
	}
}
