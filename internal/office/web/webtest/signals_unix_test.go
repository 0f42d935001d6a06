//go:build unix

package webtest

import "syscall"

const sigStop, sigCont = syscall.SIGSTOP, syscall.SIGCONT

func mkfifo(path string) error { return syscall.Mkfifo(path, 0o600) }
