//go:build !unix

package child

import "os/exec"

// OwnGroup does nothing where there are no process groups: only the command itself is killed.
func OwnGroup(*exec.Cmd) {}
