//go:build !linux

package realclient

import "fmt"

func inside() bool { return false }

func runInside() int {
	fmt.Println("SKIPPED all real clients: only Linux has network namespaces")
	return 0
}

func raiseLoopback() error { return nil }
