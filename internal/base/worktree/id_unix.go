//go:build unix

package worktree

import (
	"os"
	"strconv"
	"syscall"
)

// id identifies the directory at a path.
func id(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	st := info.Sys().(*syscall.Stat_t)
	return strconv.FormatUint(uint64(st.Dev), 16) + "-" + strconv.FormatUint(st.Ino, 16), nil
}
