//go:build !linux

package jsonl

import "os"

// datasync makes f durable. On macOS Sync asks the drive to empty its cache (F_FULLFSYNC), which fdatasync would not.
func datasync(f *os.File) error { return f.Sync() }
