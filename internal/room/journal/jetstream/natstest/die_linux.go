package natstest

import (
	"os/exec"
	"syscall"
)

// dieWithParent makes the server end when the test's process is killed.
func dieWithParent(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
