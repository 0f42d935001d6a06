//go:build !linux

package door

// inForeground does not know: callers compare the name of the program in the pane instead.
func inForeground(int, string) (yes, known bool) { return false, false }

// hasNoTerminal reports whether a program is known to have no terminal of its own.
func hasNoTerminal(int) bool { return false }

// onTerminal does not know.
func onTerminal(int, string) (yes, known bool) { return false, false }
