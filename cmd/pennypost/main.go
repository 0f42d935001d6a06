// Command pennypost is the front of a post office: the commands that agents' clients and people run often. It runs
// pennypostd for all others.
package main

import (
	"os"

	"pennypost/internal/front/cli"
	"pennypost/internal/front/verbs"
)

func main() { os.Exit(cli.Main(os.Args[1:], cli.System(), verbs.Front())) }
