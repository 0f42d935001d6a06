//go:build unix

package door

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// alive reports whether a process is running. A zombie is not.
func alive(pid string) bool {
	if stat, err := os.ReadFile("/proc/" + pid + "/stat"); err == nil {
		return !strings.Contains(string(stat), ") Z ")
	}
	n, err := strconv.Atoi(pid)
	return err == nil && syscall.Kill(n, 0) == nil
}

// end kills a process that a test started.
func end(pid string) {
	if n, err := strconv.Atoi(pid); err == nil {
		_ = syscall.Kill(n, syscall.SIGKILL)
	}
}
