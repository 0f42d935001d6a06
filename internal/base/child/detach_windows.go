package child

import (
	"os/exec"
	"syscall"
)

// Detach starts the command without our console, and in its own group for ^C.
func Detach(cmd *exec.Cmd) {
	const detachedProcess = 0x8 // DETACHED_PROCESS, process creation flags
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP | detachedProcess,
		HideWindow: true}
}
