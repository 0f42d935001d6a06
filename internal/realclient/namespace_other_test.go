//go:build !linux

package realclient

import (
	"fmt"
	"syscall"
)

// The tests that send these do not run here, and Windows has no such signals.
const sigStop, sigCont = syscall.Signal(0), syscall.Signal(0)

func inside() bool { return false }

func runInside() int {
	fmt.Println("SKIPPED all real clients: only Linux has network namespaces")
	return 0
}

func raiseLoopback() error { return nil }
