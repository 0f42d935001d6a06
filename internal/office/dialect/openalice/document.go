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

// MaxDocument is the size limit, in bytes, of a document that is shown. Downloads have no limit: they are never held
// in memory whole.
const MaxDocument = 1 << 20

// Document is a file of a workspace in its present state.
type Document struct {
	Name    string // the last part of its path
	Text    []byte // the whole text if it can be shown, else its beginning
	Size    int64  // in bytes
	Binary  bool   // it is downloaded, not shown
	changed time.Time
	content io.ReadSeeker // the whole file
}

// Large reports whether the document is too large to show.
func (d *Document) Large() bool { return d.Size > MaxDocument }

// Serve answers a request with the document or the ranges that the request asks for. The caller has set the headers
// for type and disposition.
func (d *Document) Serve(w http.ResponseWriter, r *http.Request) {
	http.ServeContent(w, r, "", d.changed, d.content)
}

// Close closes the document's file.
func (d *Document) Close() error {
	if c, ok := d.content.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// Reasons of a DocumentError, in the words of the original's route.
const (
	PathRequired  = "path required"
	InvalidPath   = "invalid_path"
	FileNotFound  = "file_not_found"
	FileTooLarge  = "file_too_large"
	ReadFailed    = "read_failed"
	NoWorkspace   = "workspace_not_found"
	binaryLookout = 8000 // bytes searched for a NUL, as git does
)

// DocumentError says why a document cannot be shown.
type DocumentError struct {
	Reason string
	Size   int64 // of a file that is too large
	Err    error // the private cause, or nil
	// for Elsewhere: the machine and when it was last heard from, or 0
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

// shown refuses a text that is too large to show.
func (d *Document) shown() error {
	if !d.Binary && d.Large() {
		return &DocumentError{Reason: FileTooLarge, Size: d.Size}
	}
	return nil
}

// OpenDocument opens the file at path below dir; the caller closes it. It follows symbolic links only inside dir,
// reads only regular files, and never blocks on others. Every error is a *DocumentError.
func OpenDocument(dir, path string) (Document, error) {
	if path == "" {
		return Document{}, &DocumentError{Reason: PathRequired}
	}
	if checkPath(path) != "" {
		return Document{}, &DocumentError{Reason: InvalidPath}
	}
	root, err := os.OpenRoot(dir + "/.") // with "/." the open does not block on a pipe that replaced dir
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

// begin reads enough of a file to show it or to see that it cannot be shown.
func (d *Document) begin(file io.Reader) error {
	head, err := io.ReadAll(io.LimitReader(file, binaryLookout))
	if d.Text, d.Binary = head, binary(head, d.Size); err != nil || d.Binary || d.Large() {
		return err
	}
	rest, err := io.ReadAll(io.LimitReader(file, MaxDocument+1-int64(len(head))))
	d.Text = append(head, rest...)
	d.Size = max(d.Size, int64(len(d.Text))) // the file may have grown
	d.Binary = binary(d.Text, d.Size)
	return err
}

// openRegular opens a regular file. It checks before opening, because opening some devices has effects, and again
// afterwards, because the file may have been replaced in between.
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

// unreadable classifies the errors of a path. A path that is neither absent nor forbidden leads out of the
// workspace, in a circle or nowhere.
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

// binary reports whether a file of this size that begins with head cannot be shown as text. The end of head may cut
// a character.
func binary(head []byte, size int64) bool {
	if bytes.HasPrefix(head, []byte("%PDF-")) || bytes.IndexByte(head[:min(len(head), binaryLookout)], 0) >= 0 {
		return true
	}
	for cut := 1; cut < utf8.UTFMax && int64(len(head)) < size && !utf8.Valid(head); cut++ {
		head = head[:len(head)-1]
	}
	return !utf8.Valid(head)
}
