//go:build !unix

package systemtest

import "os/exec"

// Signals, locks and the list of processes are for Unix. On other systems testMain runs nothing.

type process struct {
	pid  int
	args []string
}

func (process) kill() {}

func (*office) processes() []process { return nil }

func (*office) daemons() []process { return nil }

func (*office) locked() bool { return false }

func killProcess(int) error { return nil }

func asNobody(*exec.Cmd) {}

func gone(int) bool { return false }
