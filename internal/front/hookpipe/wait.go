package hookpipe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"pennypost/internal/base/pause"
)

// Bounds of a hook that waits. It ends with status 2 to wake its session, and otherwise with 0 and in silence: a hook
// of this kind that fails would wake its session again and again.
const (
	// WaitTimeout is how long the client lets it run, in seconds. Others were seen to ask for as much.
	WaitTimeout = 28_800
	// waitTime is how long it waits by itself, so that it ends in peace.
	waitTime = WaitTimeout*time.Second - time.Minute
	// awayTime is how long a post office may be away that was there: it may be a new version that starts.
	awayTime = 30 * time.Second
	// waitPause keeps it from asking in a circle, and from hurrying one that starts.
	waitPause = 500 * time.Millisecond
	// endedPause is how often it looks whether the program that runs it has ended, whose next session is not to lose a
	// ring to it.
	endedPause = time.Second
)

// attended is the variable in which Claude Code says whether somebody sits before the session: "0" for `claude -p`,
// "1" for an interactive one (seen with 2.1.330). A headless run waits for this hook before it ends, and nobody is
// there who could be kept waiting by mail: it looks when it begins, between its tools and at its end.
const attended = "CLAUDE_CODE_SESSION_ATTENDED"

// wait runs the hook that waits.
func (p *Pipe) wait(ctx context.Context) (exit int) {
	if p.Hook.Getenv(attended) == "0" {
		p.debug("nobody attends this session, which would not end before its hook does")
		return 0
	}
	ctx, cancel := context.WithTimeout(ctx, waitTime)
	var beside sync.WaitGroup
	defer beside.Wait()
	defer cancel()
	if p.Ended != nil {
		beside.Go(func() {
			defer cancel()
			for ctx.Err() == nil && !p.Ended() {
				pause.For(ctx, endedPause)
			}
		})
	}
	text, exit, err := p.await(ctx)
	if err != nil {
		p.debug(err.Error())
	}
	if text == "" {
		return 0
	}
	if _, err := io.WriteString(p.Stderr, text+"\n"); err != nil {
		p.debug("the output was not taken: " + err.Error())
		return 0
	}
	return exit
}

// await returns what a ring says, and the status that wakes; "" if there is none to wait for any more.
func (p *Pipe) await(ctx context.Context) (string, int, error) {
	reading, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	var err error
	if p.Hook.Input, err = read(reading, p.Stdin); err != nil {
		return "", 0, err
	}
	office, err := p.Enter(false)
	if err != nil {
		return "", 0, err
	}
	var met time.Time // when the post office was there last; zero: never
	for {
		began := time.Now()
		a, err := office.Hook(ctx, &p.Hook)
		held := time.Since(began) >= waitPause // a connection that breaks late was one
		if err == nil || held {
			met = time.Now()
		}
		switch {
		case ctx.Err() != nil:
			return "", 0, ctx.Err()
		case err != nil && time.Since(met) > awayTime:
			return "", 0, fmt.Errorf("the post office is away: %w", err)
		case err == nil && !a.Wait && a.Why != "":
			return "", 0, errors.New(a.Why)
		case err == nil && !a.Wait:
			return a.Err, a.Exit, nil
		case !held:
			pause.For(ctx, waitPause)
		}
	}
}
