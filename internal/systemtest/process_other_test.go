//go:build !unix

package systemtest

// Signals, locks and the list of processes are of Unix. Elsewhere testMain runs nothing.

type process struct{ pid int }

func (process) kill() {}

func (*office) processes() []process { return nil }

func (*office) daemons() []process { return nil }

func (*office) locked() bool { return false }

func killProcess(int) error { return nil }

func suspend(int) error { return nil }

func resume(int) {}
