// Command pennypost is the front of a post office: what agents' clients and people run often. What else there is it
// has pennypostd do.
package main

import (
	"os"

	"pennypost/internal/front/cli"
	"pennypost/internal/front/verbs"
)

func main() { os.Exit(cli.Main(os.Args[1:], cli.System(), verbs.Front())) }
