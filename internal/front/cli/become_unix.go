//go:build unix

package cli

import (
	"context"
	"syscall"
)

// Become replaces this process with another program.
func Become(_ context.Context, program string, args, environ []string) error {
	return syscall.Exec(program, append([]string{program}, args...), environ)
}
