// Package process names running programs, so that one that ended is not taken for another that got its number.
package process

import (
	"slices"
	"strings"
)

// maxAncestors ends the walk up a tree that is changing under us.
const maxAncestors = 16

// many begins the name of a program that runs many sessions: that it is alive says nothing of any one of them.
const many = "all-of-"

// Program returns the name of the program that started this process, as far as the system tells; shells in between are
// passed over. An editor runs many processes of one name: with topmost, the one above all of them is meant, which
// Alive does not vouch for. "" if it cannot be known.
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

// Is reports whether Program gave a name, with or without topmost, to the process that Above calls so.
func Is(program, above string) bool { return strings.TrimPrefix(program, many) == above }

func isShell(comm string) bool {
	return slices.Contains([]string{"sh", "bash", "dash", "zsh", "fish", "ksh", "env"}, comm)
}
