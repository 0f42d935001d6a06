package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"pennypost/internal/base/durable"
	"pennypost/internal/base/process"
	"pennypost/internal/front/hookpipe"
	"pennypost/internal/wire"
)

const hookHelp = `Answer a lifecycle hook of an agent's client, whose JSON arrives on standard input. Clients run this
command once pennypost install has set them up; you never need to type it.

The agent is --as, else $PENNYPOST_AGENT, else the one in .pennypost.toml at the top of the project, else
a name made from the client and the directory. If anything fails, the hook is silent and succeeds, within
a second; with PENNYPOST_DEBUG=1 it prints the reason on standard error. The hook of a session's start
may start the post office.

Clients: claude, vscode, codex, gemini, agy, qwen, cursor, copilot, opencode, pi.`

func newHook(a *App) *cobra.Command {
	return &cobra.Command{
		Use: "hook CLIENT EVENT", Short: "answer a hook of an agent's client", Long: hookHelp,
		Example: "pennypost hook claude Stop\npennypost hook codex SessionStart --as builder",
		RunE: func(*cobra.Command, []string) error {
			return Usage("a hook needs the client and the event, and its input on standard input")
		},
	}
}

// isHook reports whether args are a client's call of a hook. Such a call must not fail, so the flag parser does not
// see it: the parser's exit status for unknown flags is the one that tells several clients to stop.
func isHook(args []string) bool {
	return len(args) >= 3 && args[0] == "hook" && !strings.HasPrefix(args[1], "-") && !strings.HasPrefix(args[2], "-")
}

// hook runs a hook. It ignores unknown flags, which may be a later version's.
func (a *App) hook(args []string) int {
	signal.Ignore(syscall.SIGPIPE) // the client may be gone, and a write error says so better
	log.SetOutput(io.Discard)      // net/http logs what unknown servers do
	for i := 3; i < len(args); i++ {
		for _, f := range []struct {
			name string
			into *string
		}{{"--as", &a.As}, {"--room", &a.Room}} {
			if value, ok := strings.CutPrefix(args[i], f.name+"="); ok {
				*f.into = value
			} else if args[i] == f.name && i+1 < len(args) {
				*f.into = args[i+1]
			}
		}
	}
	parent := os.Getppid()
	p := hookpipe.Pipe{
		Hook: wire.Hook{
			Client: args[1], Event: args[2], Environ: a.Env.Environ, Dir: a.Env.Dir, As: a.As, Room: a.Room,
			Program: process.Program(false), Topmost: process.Program(true),
		},
		Stdin: a.Env.Stdin, Stdout: a.Env.Stdout, Stderr: a.Env.Stderr, Append: appendTo,
		Enter: func(start bool) (hookpipe.Office, error) {
			if start {
				return a.Post()
			}
			return a.QuietOffice()
		},
		Ended: func() bool { return os.Getppid() != parent }, // Windows gives no other sign
	}
	if a.Env.Getenv("PENNYPOST_DEBUG") != "" {
		p.Debug = func(why string) {
			fmt.Fprintf(a.Env.Stderr, "pennypost: hook %s %s: %s\n", args[1], args[2], Visible(why))
		}
	}
	ctx := context.Background()
	if wire.MayAsk(args[2]) { // the client ends the hook when its person has answered
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(ctx, syscall.SIGTERM)
		defer stop()
	}
	return p.Run(ctx)
}

// appendTo appends to a file.
func appendTo(path, text string) error {
	f, err := durable.OpenFile(path, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
