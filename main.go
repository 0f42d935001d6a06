// Command pennypost is a post office for AI agents and the people who work with them.
package main

import (
	"os"

	"pennypost/internal/front/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:], cli.System())) }
