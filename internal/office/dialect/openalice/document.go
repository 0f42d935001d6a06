package openalice

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"unicode/utf8"

	"pennypost/internal/mail"
)

// MaxDocument is the largest document that is shown, in bytes.
const MaxDocument = 1 << 20

// Document is a file of a workspace as it is now.
type Document struct {
	Name   string // the last part of its path
	Text   []byte
	Binary bool // to be downloaded and not shown
}

// The reasons of a DocumentError, in the words of the original's route.
const (
	PathRequired  = "path required"
	InvalidPath   = "invalid_path"
	FileNotFound  = "file_not_found"
	FileTooLarge  = "file_too_large"
	ReadFailed    = "read_failed"
	NoWorkspace   = "workspace_not_found"
	binaryLookout = 8000 // how much of a file is searched for a NUL, as git does
)

// DocumentError says why a document cannot be shown.
type DocumentError struct {
	Reason string
	Size   int64 // of a file that is too large
	Err    error // the private cause, if there is one
	// of Elsewhere: which machine, and when it was last heard of; 0 if that is not known
	Machine mail.Machine
	Heard   mail.Time
}

func (e *DocumentError) Error() string {
	if e.Err == nil {
		return e.Reason
	}
	return e.Reason + ": " + e.Err.Error()
}

func (e *DocumentError) Unwrap() error { return e.Err }

// ReadDocument reads the file at path below dir. It follows symbolic links inside dir and none that lead out, reads
// regular files only, and never waits for what is none. Every error is a *DocumentError.
func ReadDocument(dir, path string) (Document, error) {
	if path == "" {
		return Document{}, &DocumentError{Reason: PathRequired}
	}
	if checkPath(path) != "" {
		return Document{}, &DocumentError{Reason: InvalidPath}
	}
	root, err := os.OpenRoot(dir + "/.") // or a pipe that has taken its place would be waited for
	if err != nil {
		return Document{}, &DocumentError{Reason: NoWorkspace, Err: err}
	}
	defer root.Close()
	file, err := openRegular(root, path)
	if err != nil {
		return Document{}, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, MaxDocument+1))
	if err != nil {
		return Document{}, &DocumentError{Reason: ReadFailed, Err: err}
	}
	if len(text) > MaxDocument {
		return Document{}, tooLarge(file, int64(len(text)))
	}
	return Document{Name: filepath.Base(path), Text: text, Binary: binary(text)}, nil
}

// openRegular opens a regular file. It looks before it opens, because opening some devices does something, and again
// afterwards, because the file may have been replaced between.
func openRegular(root *os.Root, path string) (*os.File, error) {
	info, err := root.Stat(path)
	if err != nil {
		return nil, unreadable(err)
	}
	if !info.Mode().IsRegular() {
		return nil, notRegular(info)
	}
	file, err := root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, unreadable(err)
	}
	info, err = file.Stat()
	switch {
	case err != nil:
		err = &DocumentError{Reason: ReadFailed, Err: err}
	case !info.Mode().IsRegular():
		err = notRegular(info)
	case info.Size() > MaxDocument:
		err = tooLarge(file, info.Size())
	default:
		return file, nil
	}
	file.Close()
	return nil, err
}

func notRegular(info fs.FileInfo) error {
	return &DocumentError{Reason: InvalidPath, Err: fmt.Errorf("%s is not a regular file but %s", info.Name(),
		info.Mode())}
}

// tooLarge says how large the file is now, which is at least what was read of it.
func tooLarge(file *os.File, least int64) error {
	if info, err := file.Stat(); err == nil {
		least = max(least, info.Size())
	}
	return &DocumentError{Reason: FileTooLarge, Size: least}
}

// unreadable sorts the errors of a path. What is neither absent nor forbidden leads out of the workspace, in circles
// or nowhere.
func unreadable(err error) error {
	reason := InvalidPath
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		reason = FileNotFound
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EIO):
		reason = ReadFailed
	}
	return &DocumentError{Reason: reason, Err: err}
}

func binary(text []byte) bool {
	return bytes.IndexByte(text[:min(len(text), binaryLookout)], 0) >= 0 || !utf8.Valid(text)
}
