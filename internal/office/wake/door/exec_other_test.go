//go:build !unix

package door

import (
	"os"
	"strconv"
)

func alive(string) bool { return false }

// end kills a process that a test started.
func end(pid string) {
	if n, err := strconv.Atoi(pid); err == nil {
		if p, err := os.FindProcess(n); err == nil {
			_ = p.Kill()
		}
	}
}
