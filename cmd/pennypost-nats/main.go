// Command pennypost-nats runs the NATS server of a machine of a cluster. It has no commands: "pennypost cluster"
// starts it and asks it.
package main

import (
	"os"

	"pennypost/internal/natsd"
)

func main() { os.Exit(natsd.Main(os.Args[1:], os.Stdout, os.Stderr)) }
