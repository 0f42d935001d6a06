//go:build unix

package cli

import "syscall"

// detached makes a process the leader of a session of its own: no signal of our terminal reaches it.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
