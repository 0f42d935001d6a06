//go:build linux

// Command seat is what package persontest runs: it opens the terminal, runs commands in it, and stands for them
// outside.
//
//	seat detach DIR   starts "seat host DIR" as nobody's child; descriptor 3 ends with the test, 4 is told how it is
//	seat host DIR     opens a display and an xterm, which runs "seat run"
//	seat run DIR      runs the commands that come by DIR/socket
//	seat client PROGRAM ARG…   runs an MCP server; its session is that of this process
//	DIR/N/NAME …      has the program that DIR/N/real links to run there
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	self, err := os.Executable()
	if err != nil {
		fail(err)
	}
	if filepath.Base(self) != "seat" {
		stand(filepath.Dir(self))
		return
	}
	switch dir := os.Args[2]; os.Args[1] {
	case "detach":
		err = detach(self, dir)
	case "host":
		err = host(self, dir)
	case "run":
		err = run(dir)
	case "client":
		err = client(os.Args[2], os.Args[3:])
	}
	if err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "seat:", err)
	os.Exit(125)
}
