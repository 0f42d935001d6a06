//go:build !linux && !darwin

package setup

// freeSpace is not known here.
func freeSpace(string) (int64, bool) { return 0, false }
