package durable

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteFile replaces the file at path by data. A reader, or whoever comes after a crash, finds the old file or the new
// one whole. A new file gets the permissions perm, an existing one keeps its own. A symbolic link stays: the file behind it is replaced.
func WriteFile(path string, data []byte, perm fs.FileMode) error {
	return Replace(path, perm, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// Replace is WriteFile with the content written by write. If write fails, the old file stays.
func Replace(path string, perm fs.FileMode, write func(io.Writer) error) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	if info, err := os.Stat(path); err == nil {
		perm = info.Mode().Perm()
	}
	// In the same directory, because a rename cannot cross file systems.
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	if err := fill(tmp, perm, write); err != nil {
		os.Remove(tmp.Name())
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		os.Remove(tmp.Name())
		return err
	}
	return SyncDir(filepath.Dir(path))
}

func fill(f *os.File, perm fs.FileMode, write func(io.Writer) error) error {
	defer f.Close()
	if err := f.Chmod(perm); err != nil {
		return err
	}
	if err := write(f); err != nil {
		return err
	}
	// Without this the rename may reach the disk before the content does.
	if err := f.Sync(); err != nil {
		return err
	}
	return f.Close()
}

// MkdirAll is os.MkdirAll, and the names of the directories it made are durable.
func MkdirAll(path string, perm fs.FileMode) error {
	parent := filepath.Dir(path)
	if _, err := os.Stat(path); err == nil || parent == path {
		return os.MkdirAll(path, perm) // which tells whether it is a directory
	}
	if err := MkdirAll(parent, perm); err != nil {
		return err
	}
	if err := os.Mkdir(path, perm); err != nil && !os.IsExist(err) {
		return err
	}
	return SyncDir(parent)
}
