//go:build unix

package child

import (
	"os/exec"
	"syscall"
)

// Detach makes what is started the leader of a session of its own: no signal of our terminal reaches it.
func Detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
