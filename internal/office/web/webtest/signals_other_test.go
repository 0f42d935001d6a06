//go:build !unix

package webtest

import (
	"errors"
	"syscall"
)

// testMain runs no tests where these do not exist.
const sigStop, sigCont = syscall.Signal(0), syscall.Signal(0)

func mkfifo(string) error { return errors.ErrUnsupported }
