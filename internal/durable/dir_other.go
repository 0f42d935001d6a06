//go:build !unix

package durable

// SyncDir does nothing: Windows keeps names durable by itself and cannot flush a directory.
func SyncDir(string) error { return nil }
