package command

import (
	"github.com/spf13/cobra"

	"pennypost/internal/front/cli"
	front "pennypost/internal/front/verbs"
)

// app is one run of a command.
type app struct{ *cli.App }

// Main runs the whole program with the given arguments and returns the exit status.
func Main(args []string, env cli.Env) int { return cli.Main(args, env, front.Front(), verbs()...) }

// verbs returns the commands of this package.
func verbs() []cli.Verb {
	return append(dialectVerbs(), verbOf("serve", newServe), verbOf("relay", newRelay), verbOf("mcp", newMCP),
		verbOf("demo", newDemo),
		verbOf("demo-agent", newDemoAgent), verbOf("poster", newPoster), verbOf("doors", newDoors),
		verbOf("restore", newRestore), verbOf("desk", newDesk), verbOf("update", newUpdate))
}

func verbOf(name string, make func(*app) *cobra.Command) cli.Verb {
	return cli.Verb{Name: name, New: func(a *cli.App) *cobra.Command { return make(&app{a}) }}
}
