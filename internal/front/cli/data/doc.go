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

// New returns the command of a verb, nil if that is not of this group.
func New(run *cli.App, verb string) *cobra.Command {
	for _, v := range []struct {
		name string
		new  func(*app) *cobra.Command
	}{
		{"export", newExport}, {"import", newImport}, {"backup", newBackup}, {"archive", newArchive},
		{"erase", newErase}, {"verify", newVerify}, {"bridge", newBridge},
	} {
		if v.name == verb {
			return v.new(&app{run})
		}
	}
	return nil
}
