package command

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"pennypost/internal/base/pause"
	"pennypost/internal/base/process"
	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
	"pennypost/internal/office/reach"
	"pennypost/internal/office/wake/door"
	"pennypost/internal/office/wake/sessions"
)

const posterHelp = `Write to the inbox socket of the session of Claude Code that has started this process, when its
agent is to be woken. A session that bypasses permission prompts holds back what the post office
writes there, but accepts messages from its own children: run this as a hook in the background
("async") at SessionStart. It ends with the session, and starts no post office.

The agent is --as, else $PENNYPOST_AGENT, else that of the hooks and the MCP server in this
directory.`

// posterStart is how long a poster waits for its session to be known: the hook that reports it runs at the same time.
const posterStart = 30 * time.Second

func newPoster(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "poster", Short: "wake a session of Claude Code from inside it", Long: posterHelp,
		Example: "pennypost poster\npennypost poster --as builder",
		Hidden:  true, Args: cli.NoArgs,
		RunE: cli.Run(a.poster),
	}
}

func (a *app) poster(ctx context.Context) error {
	ctx, stop := cli.Interruptible(ctx)
	defer stop()
	env := a.Env.Getenv
	s := sessions.Session{
		Client: "claude", ID: env("CLAUDE_CODE_SESSION_ID"), Process: env("CLAUDE_PID"),
		Dir:    env("CLAUDE_PROJECT_DIR"),
		Socket: sessions.NewSecret(env("CLAUDE_CODE_MESSAGING_SOCKET")),
		Token:  sessions.NewSecret(env("CLAUDE_CODE_MESSAGING_TOKEN")),
	}
	if s.ID == "" || env("CLAUDE_CODE_MESSAGING_SOCKET") == "" {
		return cli.Usage("this process was not started by a Claude Code session with an inbox socket; run it as a " +
			"hook of one")
	}
	cfg, err := a.LoadConfig()
	if err != nil {
		return err
	}
	name, err := a.Agent(s.Client)
	if err != nil {
		return err
	}
	room, err := a.RoomName()
	if err != nil {
		return err
	}
	if a.Office, err = a.QuietOffice(); err != nil {
		return err
	}
	door := &door.ClaudeSocket{Config: reach.ClaudeDir(), Below: cfg.ClaudeBelow}
	if env("CLAUDE_CODE_SESSION_ATTENDED") == "0" || !door.Holds(&s) {
		return nil // no ring is needed, or the post office can write to the session itself
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go cancelWithSession(ctx, cancel)
	a.postRings(ctx, room, name, &s, door)
	return nil
}

// postRings writes each ring to the session, until ctx ends or the post office says that the session is over.
func (a *app) postRings(ctx context.Context, room mail.RoomName, name mail.Name, s *sessions.Session,
	door *door.ClaudeSocket) {
	began, met := time.Now(), false
	for wait := cli.MinRingPause; ctx.Err() == nil; wait = min(2*wait, cli.MaxRingPause) {
		rung, err := a.Office.Ring(ctx, room, name, mail.Listener{Door: mail.PosterDoor, Session: s.ID})
		over := err == nil && rung != nil && rung.Over
		if over && (met || time.Since(began) > posterStart) {
			return
		}
		if err == nil && !over {
			if met, wait = true, cli.MinRingPause; rung == nil {
				continue // no ring for a minute
			}
			if err := door.Post(ctx, s, rung.ID, rung.Text); err != nil {
				// the post office finds that it had no effect
				fmt.Fprintf(a.Env.Stderr, "pennypost: %s\n", cli.Visible(err.Error()))
			}
			continue
		}
		pause.For(ctx, wait)
	}
}

// cancelWithSession calls cancel when the session has ended, until ctx ends. A shell between this process and the
// client may outlive the client, so the program above the shell is checked where the system tells.
func cancelWithSession(ctx context.Context, cancel func()) {
	defer cancel()
	parent, program := os.Getppid(), process.Program(false)
	known := process.Alive(program)
	for os.Getppid() == parent && process.Alive(program) == known && pause.For(ctx, time.Second) {
	}
}
