//go:build !linux

package systemtest

import "errors"

func mountSmall(_, _ string) error { return errors.New("only Linux mounts a small disk") }

func unmount(string) error { return nil }
