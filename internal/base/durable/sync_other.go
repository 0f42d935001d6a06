//go:build !linux

package durable

import "os"

// SyncData makes f durable. On macOS Sync makes the drive flush its cache (F_FULLFSYNC), which fdatasync would not.
func SyncData(f *os.File) error { return f.Sync() }
