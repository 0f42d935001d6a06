//go:build !linux

package process

// Listener returns "": this system does not tell.
func Listener(uint16, string) string { return "" }

// Holds returns false: this system does not tell.
func Holds(int, string) bool { return false }
