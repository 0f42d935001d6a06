// Command pennypostd is a post office for AI agents and the people who work with them: the whole of it in one program.
// Beside it is usually installed pennypost (cmd/pennypost), which starts faster and has what is run often.
package main

//go:generate go run ./scripts/manifests

import (
	"os"

	"pennypost/internal/front/cli"
	"pennypost/internal/office/command"
)

func main() { os.Exit(command.Main(os.Args[1:], cli.System())) }
