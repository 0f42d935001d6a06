//go:build !unix

package wake

import "os/exec"

// ownGroup does nothing where there are no process groups: the command alone is killed.
func ownGroup(*exec.Cmd) {}
