package cli

import "syscall"

// detached makes a process without our console, and a group of its own for ^C.
func detached() *syscall.SysProcAttr {
	const detachedProcess = 0x8 // DETACHED_PROCESS, process creation flags
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP | detachedProcess, HideWindow: true}
}
