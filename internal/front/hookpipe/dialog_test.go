package hookpipe

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pennypost/internal/base/pause"
	"pennypost/internal/wire"
)

// counter is a post office for a hook.
type counter struct {
	// asking implements HookAsking.
	asking func(ctx context.Context, sign func()) (wire.HookAnswer, error)
	events []string // the events passed to Hook
	taken  []string
}

func (c *counter) Hook(_ context.Context, h *wire.Hook) (wire.HookAnswer, error) {
	c.events = append(c.events, h.Event+" "+string(h.Input))
	return wire.HookAnswer{}, nil
}

func (c *counter) HookAsking(ctx context.Context, _ *wire.Hook, sign func()) (wire.HookAnswer, error) {
	return c.asking(ctx, sign)
}

func (c *counter) HookTaken(_ context.Context, ticket string) error {
	c.taken = append(c.taken, ticket)
	return nil
}

// signsFor gives a sign each second for a time, and then none.
func signsFor(long time.Duration) func(context.Context, func()) (wire.HookAnswer, error) {
	return func(ctx context.Context, sign func()) (wire.HookAnswer, error) {
		for began := time.Now(); time.Since(began) < long; {
			sign()
			if !pause.For(ctx, time.Second) {
				return wire.HookAnswer{}, ctx.Err()
			}
		}
		<-ctx.Done()
		return wire.HookAnswer{}, ctx.Err()
	}
}

// TestDialog: a hook that may wait beside a dialog ends by itself, in silence, whatever happens to the post office;
// and passes the answer to its client, however late it comes.
func TestDialog(t *testing.T) {
	const yes = `{"behavior":"allow"}`
	for name, tt := range map[string]struct {
		asking  func(ctx context.Context, sign func()) (wire.HookAnswer, error)
		stopped time.Duration // when the client ends the hook; 0: it does not
		ended   time.Duration // when the client itself exits
		out     string
		within  time.Duration // it takes at least this, and at most half a second more
		events  string
	}{
		"it never begins to answer": {asking: signsFor(0), within: firstSign},
		"it falls silent":           {asking: signsFor(time.Hour), within: time.Hour - time.Second + nextSign},
		"it ends": {asking: func(context.Context, func()) (wire.HookAnswer, error) {
			return wire.HookAnswer{}, errors.New("connection reset")
		}},
		"it panics": {asking: func(context.Context, func()) (wire.HookAnswer, error) { panic("no") }},
		"it has nothing to say": {asking: func(_ context.Context, sign func()) (wire.HookAnswer, error) {
			sign()
			return wire.HookAnswer{}, nil
		}},
		"the person answers late": {asking: func(ctx context.Context, sign func()) (wire.HookAnswer, error) {
			for range 7200 {
				sign()
				pause.For(ctx, time.Second)
			}
			return wire.HookAnswer{Out: yes, Ticket: "t1"}, ctx.Err()
		}, out: yes + "\n", within: 2 * time.Hour},
		"the person answers at the client": {asking: signsFor(time.Hour), stopped: time.Minute, within: time.Minute,
			events: wire.DialogOverEvent + ` {"x":1}`},
		"the client ends": {asking: signsFor(time.Hour), ended: time.Minute, within: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				c := &counter{asking: tt.asking}
				var out, errs strings.Builder
				p := Pipe{Hook: wire.Hook{Client: "claude", Event: "PermissionRequest"},
					Stdin: strings.NewReader(`{"x":1}`), Stdout: &out, Stderr: &errs,
					Enter: func(bool) (Office, error) { return c, nil },
					Ended: func() bool { return tt.ended > 0 && time.Since(began) >= tt.ended }}
				ctx := t.Context()
				if tt.stopped > 0 {
					var stop context.CancelFunc
					ctx, stop = context.WithTimeout(ctx, tt.stopped)
					defer stop()
				}
				if exit := p.Run(ctx); exit != 0 || errs.String() != "" {
					t.Errorf("exit %d, %q on standard error", exit, errs.String())
				}
				took := time.Since(began)
				if out.String() != tt.out || took < tt.within || took > tt.within+1500*time.Millisecond {
					t.Errorf("it says %q after %v, want %q after %v", out.String(), took, tt.out, tt.within)
				}
				if got := strings.Join(c.events, ", "); got != tt.events {
					t.Errorf("the post office is told %q, want %q", got, tt.events)
				}
				if (len(c.taken) > 0) != (tt.out != "") {
					t.Errorf("confirmed: %q", c.taken)
				}
			})
		})
	}
}
