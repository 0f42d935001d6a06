// Package child runs a foreign program for a bounded time, and says in words for people how it ended.
package child

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
	"unicode"
)

// Bounds of a command.
const (
	DefaultTimeout = 30 * time.Second
	// DrainTime is how long to wait for a program's last output once it has ended.
	DrainTime = 2 * time.Second
	maxOutput = 4 << 10 // bytes of its output that are kept
	maxAnswer = 200     // characters of a program's own words
)

// Command is a program with its arguments, run without a shell. It succeeded if it ended with status 0 in time; after
// its time it is killed with everything it started in its process group. A process that it leaves running cannot keep
// its output open: that is closed when the program has ended.
type Command struct {
	Argv    []string
	Env     []string // NAME=value, the whole environment
	Dir     string
	Input   []byte        // on its standard input
	Timeout time.Duration // 0: DefaultTimeout
}

// Run runs the command and returns the end of its output. The error is for people.
func (c *Command) Run(ctx context.Context) (output string, err error) {
	limit := Timeout(c.Timeout)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var out Tail
	cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	cmd.Dir, cmd.Env = c.Dir, c.Env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(c.Input), &out, &out
	cmd.WaitDelay = DrainTime
	OwnGroup(cmd)
	err = cmd.Run()
	return out.Text(), Explain(ctx, err, limit, out.Text())
}

// Fill replaces names in braces in the arguments of a command. Agents choose the replacements, so these must not
// become options of the command; variable is where the command can read the value instead.
func Fill(argv []string, names *strings.Replacer, variable string) ([]string, error) {
	out := make([]string, len(argv))
	for i, arg := range argv {
		out[i] = names.Replace(arg)
		if i > 0 && strings.HasPrefix(out[i], "-") && !strings.HasPrefix(arg, "-") {
			return nil, fmt.Errorf("was not run: %q would be read as an option; make the command take it from %s",
				Plain(out[i]), variable)
		}
	}
	return out, nil
}

// Timeout returns d, or the default.
func Timeout(d time.Duration) time.Duration {
	if d <= 0 {
		return DefaultTimeout
	}
	return d
}

// Explain says how a command with a time limit and some output ended; nil if it succeeded.
func Explain(ctx context.Context, err error, limit time.Duration, output string) error {
	exit, exited := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay): // it succeeded; a process that it started holds its output
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return WithOutput(fmt.Errorf("was killed because it did not end within %s", limit), output)
	case exited:
		return WithOutput(errors.New(exit.ProcessState.String()), output)
	}
	return fmt.Errorf("could not be run: %w", err)
}

// WithOutput adds the last line of a command's output, where commands report errors.
func WithOutput(err error, output string) error {
	if last := output[strings.LastIndexByte(output, '\n')+1:]; last != "" {
		return fmt.Errorf("%w: %s", err, Plain(last))
	}
	return err
}

// Plain makes foreign text fit for one line of a notice.
func Plain(s string) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
	if long := []rune(s); len(long) > maxAnswer {
		return string(long[:maxAnswer]) + "…"
	}
	return s
}

// Tail keeps the end of the data written to it.
type Tail struct{ tail []byte }

// Write implements io.Writer.
func (b *Tail) Write(p []byte) (int, error) {
	b.tail = append(b.tail, p...)
	if n := len(b.tail) - maxOutput; n > 0 {
		b.tail = append([]byte{}, b.tail[n:]...)
	}
	return len(p), nil
}

// Text returns the kept data without surrounding white space.
func (b *Tail) Text() string { return strings.TrimSpace(string(b.tail)) }
