package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// WriteFile replaces the content of the file at path by data. Readers, even after a crash, find either the old content
// or the new, whole. A new file gets the permissions perm; an existing one keeps its own. A symbolic link stays: its
// target is replaced.
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
	dir, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := ReplaceIn(dir, filepath.Base(path), perm, write); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// ReplaceIn is Replace for the file called name in dir. A link there is itself replaced.
func ReplaceIn(dir *os.Root, name string, perm fs.FileMode, write func(io.Writer) error) error {
	if info, err := dir.Lstat(name); err == nil && info.Mode().IsRegular() {
		perm = info.Mode().Perm()
	}
	// In the same directory, because a rename cannot cross file systems.
	tmp := fmt.Sprintf(".%s.%d.tmp", name, rand.Uint32())
	file, err := dir.OpenFile(tmp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err = fill(file, perm, write); err == nil {
		err = dir.Rename(tmp, name)
	}
	if err != nil {
		_ = dir.Remove(tmp)
		return err
	}
	return SyncRoot(dir)
}

// UnsyncedTemp ends the name of the temporary file of ReplaceUnsynced, which a crash may leave behind.
const UnsyncedTemp = ".tmp"

// ReplaceUnsynced replaces the file at path by data without waiting for the disk: after a power cut the old file,
// none, or a part of the new one may be there. Use it for data that can be derived again. Only one process at a time
// may call it for a path.
func ReplaceUnsynced(path string, data []byte) error {
	f, err := OpenFile(path+UnsyncedTemp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(path+UnsyncedTemp, path)
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

// MkdirAll is os.MkdirAll that also makes the names of new directories durable.
func MkdirAll(path string, perm fs.FileMode) error {
	parent := filepath.Dir(path)
	if _, err := os.Stat(path); err == nil || parent == path {
		return os.MkdirAll(path, perm) // checks that it is a directory
	}
	if err := MkdirAll(parent, perm); err != nil {
		return err
	}
	if err := os.Mkdir(path, perm); err != nil && !os.IsExist(err) {
		return err
	}
	return SyncDir(parent)
}
