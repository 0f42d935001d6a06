//go:build !unix

package durable

import "os"

// SyncDir does nothing: Windows keeps names durable by itself and cannot flush a directory.
func SyncDir(string) error { return nil }

// SyncRoot does nothing, like SyncDir.
func SyncRoot(*os.Root) error { return nil }
