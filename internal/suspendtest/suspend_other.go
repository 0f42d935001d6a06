//go:build !unix

package suspendtest

import "errors"

// Suspend is not supported.
func Suspend(int) error { return errors.ErrUnsupported }

// Resume is not supported.
func Resume(int) error { return errors.ErrUnsupported }
