package hook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"pennypost/internal/fence"
	"pennypost/internal/mail"
)

// waitEvent is the name under which Claude Code runs the hook that waits (asyncRewake, code.claude.com/docs/en/hooks): it runs in the background from the
// end of a turn on, and by ending with status 2 it wakes the session, which is shown what stands on standard error.
//
// It ends with any other status than 2 only with 0, and in silence: a hook of this kind that fails would wake its session again and again. One
// waits for a session; each end of a turn begins another, and ends the one before. It goes on through the turns of the session, during which nobody is rung: a
// person who breaks a turn off runs no hook that could begin another.
const waitEvent = "wait"

// Bounds of a hook that waits.
const (
	// WaitTimeout is how long the client lets it run, in seconds. Others were seen to ask for as much.
	WaitTimeout = 28_800
	// waitTime is how long it waits by itself, so that it ends in peace.
	waitTime = WaitTimeout*time.Second - time.Minute
	// awayTime is how long a post office may be away that was there: it may be a new version that starts.
	awayTime = 30 * time.Second
	// waitPause keeps it from asking in a circle, and from hurrying one that starts.
	waitPause = 500 * time.Millisecond
	// endedPause is how often it looks whether the program that runs it has ended, whose next session is not to lose a ring to it.
	endedPause = time.Second
)

// attended is the variable in which Claude Code says whether somebody sits before the session: "0" for `claude -p`, "1" for an interactive one (seen
// with 2.1.330). A headless run waits for this hook before it ends, and nobody is there who could be kept waiting by mail: it looks
// when it begins, between its tools and at its end.
const attended = "CLAUDE_CODE_SESSION_ATTENDED"

// wait runs the hook that waits.
func (h *Hook) wait(ctx context.Context, c *Client) (exit int) {
	if h.Getenv(attended) == "0" {
		h.debug("nobody attends this session, which would not end before its hook does")
		return 0
	}
	ctx, cancel := context.WithTimeout(ctx, waitTime)
	var beside sync.WaitGroup
	defer beside.Wait()
	defer cancel()
	if h.Ended != nil {
		beside.Go(func() {
			defer cancel()
			for ctx.Err() == nil && !h.Ended() {
				sleep(ctx, endedPause)
			}
		})
	}
	rung, err := h.await(ctx, c)
	if err != nil {
		h.debug(err.Error())
	}
	if rung == nil {
		return 0
	}
	if _, err := io.WriteString(h.Stderr, fence.Text(rung.Text)+"\n"); err != nil {
		h.debug("the output was not taken: " + err.Error())
		return 0
	}
	return wakeStatus
}

// wakeStatus is the exit status that wakes.
const wakeStatus = 2

// await returns the ring; nil if there is none to wait for any more.
func (h *Hook) await(ctx context.Context, c *Client) (*mail.Rung, error) {
	reading, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	in, err := read(reading, h.Stdin)
	if err != nil {
		return nil, err
	}
	e := c.read(h.Event, in)
	// Others run Claude Code's hooks too, and would wait for this one.
	if e.Client != "claude" || e.Moment != mail.TurnEnd || e.Sub || e.Agent != "" || e.Session.ID == "" {
		return nil, fmt.Errorf("nobody waits at %s of %s", e.Name, e.Client)
	}
	h.know(c, &e)
	box, err := h.Enter(ctx, &e)
	if err != nil {
		return nil, err
	}
	at := mail.Line{Door: mail.RewakeDoor, Session: e.Session.ID}
	var met time.Time // when the post office was there last; zero: never
	for {
		began := time.Now()
		rung, err := box.Ring(ctx, at)
		held := time.Since(began) >= waitPause // a connection that breaks late was one
		if err == nil || held {
			met = time.Now()
		}
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil && time.Since(met) > awayTime:
			return nil, err
		case err == nil && rung != nil && rung.Over:
			return nil, nil
		case err == nil && rung != nil && rung.Text == "":
			return nil, errors.New("the post office rang with nothing to say; both should have the same version")
		case err == nil && rung != nil:
			return rung, nil
		case !held:
			sleep(ctx, waitPause)
		}
	}
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
