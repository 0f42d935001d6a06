//go:build unix

package openalice

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"
)

// A FIFO would block a reader forever.
func TestOpenDocumentNeverWaits(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Skip(err)
	}
	_, err := OpenDocument(dir, "fifo")
	if why, ok := errors.AsType[*DocumentError](err); !ok || why.Reason != InvalidPath {
		t.Errorf("OA-04: reading a FIFO: %v", err)
	}
}
