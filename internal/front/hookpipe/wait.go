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

// Limits of a hook that waits. It exits with status 2 to wake its session, and otherwise with 0 and in silence: if a
// hook of this kind fails, it wakes its session again and again.
const (
	// WaitTimeout is how long the client lets it run, in seconds. Other tools were seen to ask for as much.
	WaitTimeout = 28_800
	// waitTime is how long it waits, so that it exits before the client ends it.
	waitTime = WaitTimeout*time.Second - time.Minute
	// awayTime is how long a post office that was there may be away: a new version may be starting.
	awayTime = 30 * time.Second
	// waitPause limits the rate of its requests, and gives a starting post office time.
	waitPause = 500 * time.Millisecond
	// endedPause is how often it checks whether its client has ended, so that it does not take a ring from the
	// client's next session.
	endedPause = time.Second
)

// attended is the variable in which Claude Code says whether a person attends the session: "0" for `claude -p`, "1"
// for an interactive one (seen with 2.1.330). A headless run waits for this hook before it exits, and needs no ring:
// it looks at its mail at its beginning, between its tools and at its end.
const attended = "CLAUDE_CODE_SESSION_ATTENDED"

// wait runs the hook that waits.
func (p *Pipe) wait(ctx context.Context) (exit int) {
	if p.Hook.Getenv(attended) == "0" {
		p.debug("nobody attends this session, which would wait for its hook to end")
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

// await returns the text of a ring, and the exit status that wakes; "" if there is nothing more to wait for.
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
	var met time.Time // when the post office was last there; zero: never
	for {
		began := time.Now()
		a, err := office.Hook(ctx, &p.Hook)
		held := time.Since(began) >= waitPause // a connection that breaks late did exist
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
