//go:build unix

package suspendtest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// Suspend stops a process from running, until Resume. Its threads stop one after the other: on systems that report
// that, it returns when all have stopped.
func Suspend(pid int) error {
	if err := signal(pid, syscall.SIGSTOP); err != nil {
		return err
	}
	for deadline := time.Now().Add(time.Minute); running(pid); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			return fmt.Errorf("process %d still runs a minute after SIGSTOP", pid)
		}
	}
	return nil
}

// running reports whether a thread of a process is not stopped.
func running(pid int) bool {
	threads, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/stat")
	return slices.ContainsFunc(threads, func(path string) bool {
		stat, err := os.ReadFile(path)
		return err == nil && !bytes.Contains(stat, []byte(") T "))
	})
}

// Resume lets it run again.
func Resume(pid int) error { return signal(pid, syscall.SIGCONT) }

func signal(pid int, sig syscall.Signal) error {
	if pid <= 0 { // that would be all processes of a group
		return os.ErrProcessDone
	}
	return syscall.Kill(pid, sig)
}
