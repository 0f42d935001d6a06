//go:build !unix

package webtest

import (
	"errors"
	"syscall"
)

// Where these are lacking, testMain runs nothing.
const sigStop, sigCont = syscall.Signal(0), syscall.Signal(0)

func mkfifo(string) error { return errors.ErrUnsupported }
