//go:build unix

package durable

import (
	"errors"
	"os"
	"syscall"
)

// SyncDir makes the names in the directory at path durable: those of new, renamed and removed files.
func SyncDir(path string) error {
	dir, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe may have replaced it
	if err != nil {
		return err
	}
	defer dir.Close()
	return syncOpen(dir)
}

// SyncRoot is SyncDir for an open directory.
func SyncRoot(root *os.Root) error {
	dir, err := root.Open(".")
	if err != nil {
		return err
	}
	defer dir.Close()
	return syncOpen(dir)
}

func syncOpen(dir *os.File) error {
	// Some network and FUSE file systems return EINVAL because they have nothing to sync.
	if err := dir.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) {
		return err
	}
	return nil
}
