package jsonl

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"pennypost/internal/base/durable"
)

// disk is the part of the file system that the journal uses. Tests replace it with one that fails at a chosen call, or
// that forgets unsynced data, as a power cut does.
type disk interface {
	Lock(path string) (lock, error)
	MkdirAll(path string) error
	// List returns the names in a directory, none if there is no directory: files lead to regular files, odd names
	// lead to directories, pipes or nowhere.
	List(dir string) (files, odd []string, err error)
	// Open opens a regular file. For anything else the error is a *durable.IrregularError.
	Open(path string, flag int) (file, error)
	// Leads reports whether a path leads to an open file, and the size of the file at the path.
	Leads(path string, to file) (size int64, leads bool)
	Rename(from, to string) error
	Remove(path string) error
	SyncDir(path string) error
}

// lock keeps other processes out until it is closed.
type lock interface {
	io.Closer
	// InPlace reports whether the locked path still leads to the locked file.
	InPlace() bool
}

// file is an open file. The journal keeps all offsets itself.
type file interface {
	io.ReaderAt
	io.WriterAt
	Size() (int64, error)
	Truncate(size int64) error
	// Sync makes the content and the size durable.
	Sync() error
	Close() error
}

// The directory is private: the files hold all mail.
const (
	dirMode  = 0o700
	fileMode = 0o600
)

// osDisk is the real disk.
type osDisk struct{}

func (osDisk) MkdirAll(path string) error   { return durable.MkdirAll(path, dirMode) }
func (osDisk) Rename(from, to string) error { return os.Rename(from, to) }
func (osDisk) Remove(path string) error     { return os.Remove(path) }
func (osDisk) SyncDir(path string) error    { return durable.SyncDir(path) }

func (osDisk) Lock(path string) (lock, error) {
	l, err := durable.TryLock(path)
	if err != nil {
		return nil, err
	}
	return l, nil
}

func (osDisk) List(dir string) (files, odd []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	for _, e := range entries {
		mode := e.Type()
		if mode&fs.ModeSymlink != 0 {
			if info, err := os.Stat(filepath.Join(dir, e.Name())); err == nil {
				mode = info.Mode()
			}
		}
		if mode.IsRegular() {
			files = append(files, e.Name())
		} else {
			odd = append(odd, e.Name())
		}
	}
	return files, odd, nil
}

// noFile reports whether an error says that there is no regular file at a path.
func noFile(err error) bool {
	_, irregular := errors.AsType[*durable.IrregularError](err)
	return irregular || isNotExist(err)
}

func (osDisk) Open(path string, flag int) (file, error) {
	f, err := durable.OpenFile(path, flag, fileMode)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	return osFile{f, info}, nil
}

type osFile struct {
	*os.File
	info os.FileInfo // identifies the file
}

func (f osFile) Sync() error { return durable.SyncData(f.File) }

// Size moves the file's own offset, which is not used. Stat would allocate, and Size runs before every write.
func (f osFile) Size() (int64, error) { return f.Seek(0, io.SeekEnd) }
