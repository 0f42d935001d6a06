package durable

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// IrregularError says that a path does not lead to a regular file: opening a pipe would block, and a device may do
// anything. Nothing was read from it or written to it.
type IrregularError struct {
	Path string
	Mode fs.FileMode
}

func (e *IrregularError) Error() string {
	what := "not a regular file (" + e.Mode.String() + ")"
	switch {
	case e.Mode.IsDir():
		what = "a directory"
	case e.Mode&fs.ModeNamedPipe != 0:
		what = "a named pipe"
	case e.Mode&fs.ModeSocket != 0:
		what = "a socket"
	case e.Mode&fs.ModeDevice != 0:
		what = "a device"
	}
	return fmt.Sprintf("%s is %s, not a file; it is not used. Move it away",
		e.Path, what)
}

// OpenFile is os.OpenFile for regular files. It never blocks: anything else at the path is an *IrregularError, and is
// not opened. Links are followed.
func OpenFile(path string, flag int, perm fs.FileMode) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, &IrregularError{path, info.Mode()}
	}
	file, err := os.OpenFile(path, flag|syscall.O_NONBLOCK, perm) // it may have been replaced meanwhile
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &IrregularError{path, info.Mode()}
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// Open is os.Open for regular files, with the rules of OpenFile.
func Open(path string) (*os.File, error) { return OpenFile(path, os.O_RDONLY, 0) }

// ReadFile is os.ReadFile for regular files, with the rules of OpenFile.
func ReadFile(path string) ([]byte, error) {
	file, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(file)
}
