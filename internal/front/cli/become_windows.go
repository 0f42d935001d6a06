package cli

import (
	"context"
	"errors"
	"os"
	"os/exec"
)

// Become runs another program in place of this one, which waits for it: on Windows no process can become another.
func Become(ctx context.Context, program string, args, environ []string) error {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = environ, os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return Silent(exit.ExitCode())
	}
	return err
}
