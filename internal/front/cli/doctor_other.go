//go:build !linux && !darwin

package cli

// freeSpace is not known here.
func freeSpace(string) (int64, bool) { return 0, false }
