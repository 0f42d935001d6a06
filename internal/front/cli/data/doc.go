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

// Verbs returns the verbs of this package.
func Verbs() []cli.Verb {
	return []cli.Verb{
		of("export", newExport), of("import", newImport), of("backup", newBackup), of("archive", newArchive),
		of("erase", newErase), of("verify", newVerify), of("bridge", newBridge),
	}
}

func of(name string, make func(*app) *cobra.Command) cli.Verb {
	return cli.Verb{Name: name, New: func(a *cli.App) *cobra.Command { return make(&app{a}) }}
}
