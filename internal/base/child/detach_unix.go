//go:build unix

package child

import (
	"os/exec"
	"syscall"
)

// Detach makes the command the leader of its own session: no signal of our terminal reaches it.
func Detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
