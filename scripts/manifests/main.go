// Command manifests makes all files by which others install Pennypost from one description: the plugins of the
// clients, their marketplaces, and the entries of registries. go generate runs it in the root, and a test compares
// the files:
//
//	go run ./scripts/manifests               the files of the repository
//	go run ./scripts/manifests npm FROM TO   npm packages in the directory TO, from directories of programs in FROM
//
// To change the version, edit the file VERSION; to change the address, edit go.mod (scripts/rename-module). No other
// file states them.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "manifests:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	of, err := describe(".")
	if err != nil {
		return err
	}
	var files map[string][]byte
	to := "."
	switch {
	case len(args) == 0:
		files, err = of.files()
	case len(args) == 3 && args[0] == "npm":
		to = args[2]
		files, err = of.npm(args[1])
	default:
		return fmt.Errorf("usage: manifests [npm FROM TO]")
	}
	if err != nil {
		return err
	}
	for name, text := range files {
		path := filepath.Join(to, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
