// Package data has the verbs for mail as data: it is exported, imported, backed up, archived, erased, verified, and
// kept in step with foreign mailboxes. Start at export.go.
//
// It knows package cli, and none of the other groups of verbs.
package data

import (
	"github.com/spf13/cobra"

	"pennypost/internal/front/cli"
)

// app is one run of a command.
type app struct{ *cli.App }

// Verbs is the group.
func Verbs() cli.Group {
	return cli.NewGroup(func(run *cli.App) *app { return &app{run} }, map[string]func(*app) *cobra.Command{
		"export": newExport, "import": newImport, "backup": newBackup, "archive": newArchive,
		"erase": newErase, "verify": newVerify, "bridge": newBridge,
	})
}
