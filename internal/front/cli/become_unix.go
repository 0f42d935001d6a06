//go:build unix

package cli

import (
	"context"
	"syscall"
)

// become has another program run in this process.
func become(_ context.Context, program string, args, environ []string) error {
	return syscall.Exec(program, append([]string{program}, args...), environ)
}
