//go:build unix

package cli

import (
	"context"
	"syscall"
)

// Become has another program run in this process.
func Become(_ context.Context, program string, args, environ []string) error {
	return syscall.Exec(program, append([]string{program}, args...), environ)
}
