// Package process names running programs, so that a program that ended is not taken for another that got its number.
package process

import (
	"slices"
	"strings"
)

// maxAncestors ends the walk up a tree that changes during the walk.
const maxAncestors = 16

// many begins the name of a program that runs many sessions: its being alive says nothing about any one of them.
const many = "all-of-"

// Program returns the name of the program that started this process, as far as the system tells; it skips shells in
// between. An editor runs many processes of one name: with topmost, Program returns the topmost of them, for which
// Alive is always false. "" if it is unknown.
func Program(topmost bool) string {
	at := look(parent())
	for range maxAncestors {
		if at.pid <= 1 {
			return ""
		}
		up := look(at.parent)
		switch {
		case isShell(at.comm):
		case !topmost:
			return at.key()
		case up.comm != at.comm || up.pid <= 1:
			return many + at.key()
		}
		at = up
	}
	return ""
}

// Is reports whether program, from Program with or without topmost, names the process called above.
func Is(program, above string) bool { return strings.TrimPrefix(program, many) == above }

func isShell(comm string) bool {
	return slices.Contains([]string{"sh", "bash", "dash", "zsh", "fish", "ksh", "env"}, comm)
}
