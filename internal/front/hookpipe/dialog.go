package hookpipe

import (
	"context"
	"errors"
	"sync"
	"time"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/base/pause"
	"pennypost/internal/wire"
)

// Limits of a hook that may wait beside a dialog. The client shows its own dialog meanwhile, or after the hook has
// ended, so the hook gives up a post office that shows no sign of life.
const (
	firstSign = 300 * time.Millisecond // until the post office begins to answer
	nextSign  = 3 * time.Second        // it promises a sign each second
	overTime  = 300 * time.Millisecond // to report that the client has ended the hook
	takenTime = 2 * time.Second        // for an extension to report whether its client took an answer
)

var errNoSign = errors.New("no sign of life from the post office")

// dialog runs a hook with which the client asks its person. ctx ends when the client ends the hook: the person has
// then answered in the client.
func (p *Pipe) dialog(ctx context.Context) (exit int) {
	began := time.Now()
	reading, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	input, err := read(reading, p.Stdin)
	if err != nil {
		p.debug(err.Error())
		return 0
	}
	p.Hook.Input = input
	office, err := p.Enter(false)
	if err != nil {
		p.debug(err.Error())
		return 0
	}
	a, err := p.held(ctx, office)
	switch {
	case ctx.Err() != nil:
		telling, cancel := context.WithTimeout(context.WithoutCancel(ctx), overTime)
		defer cancel()
		over := p.Hook
		over.Event = wire.DialogOverEvent
		if _, err := office.Hook(telling, &over); err != nil {
			p.debug("the end of the dialog is not reported: " + err.Error())
		}
		return 0
	case err != nil:
		p.debug(err.Error())
		a = wire.HookAnswer{Out: wire.Silence(p.Hook.Client, p.Hook.Event)}
	}
	if a.Ticket != "" && wire.Confirmed(p.Hook.Event) {
		return p.leaveTo(ctx, office, &a)
	}
	return p.leave(ctx, office, &a, began, time.Since(began)+Deadline)
}

// leaveTo passes the answer to one of our extensions, and confirms it only if the extension reports that its client
// took it: the person may have answered the client's own dialog at the same moment.
func (p *Pipe) leaveTo(ctx context.Context, office Office, a *wire.HookAnswer) (exit int) {
	if err := p.write(a); err != nil {
		p.debug("the output was not taken: " + err.Error())
		return 0
	}
	hearing, cancel := context.WithTimeout(ctx, takenTime)
	defer cancel()
	said, err := read(hearing, p.Stdin)
	var by wire.AnswerTaken
	if err == nil {
		err = jsonx.Unmarshal(said, &by)
	}
	switch {
	case err != nil:
		p.debug("no report that the client took the answer: " + err.Error())
		return 0
	case !by.Taken:
		p.debug("the client did not take the answer")
		return 0
	}
	if err := office.HookTaken(hearing, a.Ticket); err != nil {
		p.debug("the taken answer is not recorded: " + err.Error())
	}
	return 0
}

// held sends the hook and returns the answer, however long that takes while the post office shows signs of life and
// the client runs.
func (p *Pipe) held(ctx context.Context, office Office) (wire.HookAnswer, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	var beside sync.WaitGroup
	defer beside.Wait()
	defer cancel(nil)
	watch := time.AfterFunc(firstSign, func() { cancel(errNoSign) })
	defer watch.Stop()
	if p.Ended != nil {
		beside.Go(func() {
			for pause.For(ctx, endedPause) {
				if p.Ended() {
					cancel(errors.New("the client has ended"))
				}
			}
		})
	}
	a, err := office.HookAsking(ctx, &p.Hook, func() { watch.Reset(nextSign) })
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return a, err
}
