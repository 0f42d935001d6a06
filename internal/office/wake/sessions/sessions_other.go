//go:build !linux

package sessions

import (
	"errors"
	"os"
	"runtime"
	"syscall"

	"pennypost/internal/base/process"
)

// ended reports whether a program is known to have ended. Start times are not known here, so a new program with a
// reused pid passes for the old one.
func ended(program string) bool {
	pid := process.Number(program)
	if pid <= 0 {
		return false
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		return runtime.GOOS == "windows" && !errors.Is(err, os.ErrPermission)
	}
	defer func() { _ = p.Release() }()
	return runtime.GOOS != "windows" && errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}
