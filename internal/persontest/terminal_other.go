//go:build !linux

package persontest

import "os/exec"

// Terminal is an open terminal. The nil Terminal is the tests' own.
type Terminal struct{}

// Open returns nil: commands run where the tests run.
func Open() (*Terminal, error) { return nil, nil }

// Close does nothing.
func (t *Terminal) Close() {}

// Program returns path.
func (t *Terminal) Program(path string) (string, error) { return path, nil }

// Window returns nil: there is only the tests' own terminal.
func (t *Terminal) Window(args ...string) (*exec.Cmd, error) { return nil, nil }
