//go:build !linux

package process

// Listener returns "": not supported on this system.
func Listener(uint16, string) string { return "" }

// Holds returns false: not supported on this system.
func Holds(int, string) bool { return false }
