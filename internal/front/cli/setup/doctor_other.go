//go:build !linux && !darwin

package setup

// freeSpace is unknown on this system.
func freeSpace(string) (int64, bool) { return 0, false }
