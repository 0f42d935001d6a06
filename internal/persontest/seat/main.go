//go:build linux

// Command seat is the helper program of package persontest: it opens the terminal, runs commands in it, and is their
// proxy outside.
//
//	seat detach DIR   starts "seat host DIR" as an orphan; descriptor 3 ends with the test, 4 receives the result
//	seat host DIR     opens a display and an xterm, which runs "seat run"
//	seat run DIR      runs the commands that arrive at DIR/socket
//	seat client PROGRAM ARG…   runs an MCP server in this process's session
//	DIR/N/NAME …      runs the target of the link DIR/N/real in the terminal
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
