package openalice

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"
	"unicode/utf8"

	"pennypost/internal/mail"
)

// MaxDocument is the largest document that is shown, in bytes. One that is downloaded has no limit: it is never held
// whole.
const MaxDocument = 1 << 20

// Document is a file of a workspace as it is now.
type Document struct {
	Name    string // the last part of its path
	Text    []byte // all of it if it can be shown, else how it begins
	Size    int64  // in bytes
	Binary  bool   // to be downloaded and not shown
	changed time.Time
	content io.ReadSeeker // all of it
}

// Large reports whether it is too large to be shown.
func (d *Document) Large() bool { return d.Size > MaxDocument }

// Serve answers a request with the document, or with the ranges of it that the request asks for. The caller has said
// in the header what it is and what may be done with it.
func (d *Document) Serve(w http.ResponseWriter, r *http.Request) {
	http.ServeContent(w, r, "", d.changed, d.content)
}

// Close ends the reading of a document.
func (d *Document) Close() error {
	if c, ok := d.content.(io.Closer); ok {
		return c.Close()
	}
	return nil
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

// shown refuses a text that is too large to be shown.
func (d *Document) shown() error {
	if !d.Binary && d.Large() {
		return &DocumentError{Reason: FileTooLarge, Size: d.Size}
	}
	return nil
}

// OpenDocument opens the file at path below dir, which must be closed. It follows symbolic links inside dir and none
// that lead out, reads regular files only, and never waits for what is none. Every error is a *DocumentError.
func OpenDocument(dir, path string) (Document, error) {
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
	file, info, err := openRegular(root, path)
	if err != nil {
		return Document{}, err
	}
	doc := Document{Name: filepath.Base(path), Size: info.Size(), changed: info.ModTime(), content: file}
	if err := doc.begin(file); err != nil {
		file.Close()
		return Document{}, &DocumentError{Reason: ReadFailed, Err: err}
	}
	return doc, nil
}

// begin reads of a file as much as is needed to show it or to see that it cannot be shown.
func (d *Document) begin(file io.Reader) error {
	head, err := io.ReadAll(io.LimitReader(file, binaryLookout))
	if d.Text, d.Binary = head, binary(head, d.Size); err != nil || d.Binary || d.Large() {
		return err
	}
	rest, err := io.ReadAll(io.LimitReader(file, MaxDocument+1-int64(len(head))))
	d.Text = append(head, rest...)
	d.Size = max(d.Size, int64(len(d.Text))) // it may have grown
	d.Binary = binary(d.Text, d.Size)
	return err
}

// openRegular opens a regular file. It looks before it opens, because opening some devices does something, and again
// afterwards, because the file may have been replaced between.
func openRegular(root *os.Root, path string) (*os.File, fs.FileInfo, error) {
	info, err := root.Stat(path)
	if err != nil {
		return nil, nil, unreadable(err)
	}
	if !info.Mode().IsRegular() {
		return nil, nil, notRegular(info)
	}
	file, err := root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, unreadable(err)
	}
	info, err = file.Stat()
	switch {
	case err != nil:
		err = &DocumentError{Reason: ReadFailed, Err: err}
	case !info.Mode().IsRegular():
		err = notRegular(info)
	default:
		return file, info, nil
	}
	file.Close()
	return nil, nil, err
}

func notRegular(info fs.FileInfo) error {
	return &DocumentError{Reason: InvalidPath, Err: fmt.Errorf("%s is not a regular file but %s", info.Name(),
		info.Mode())}
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

// binary reports whether a file of a size that begins with head is none that can be shown as text. A character may be
// cut where the head ends.
func binary(head []byte, size int64) bool {
	if bytes.HasPrefix(head, []byte("%PDF-")) || bytes.IndexByte(head[:min(len(head), binaryLookout)], 0) >= 0 {
		return true
	}
	for cut := 1; cut < utf8.UTFMax && int64(len(head)) < size && !utf8.Valid(head); cut++ {
		head = head[:len(head)-1]
	}
	return !utf8.Valid(head)
}
