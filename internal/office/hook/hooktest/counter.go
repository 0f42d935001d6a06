package hooktest

import (
	"context"
	"errors"

	"pennypost/internal/mail"
	"pennypost/internal/office/hook"
	"pennypost/internal/wire"
)

// Counter is a post office for one hook: package hook without the connection to the hook's process.
type Counter struct {
	Enter    func(context.Context, *hook.Event) (*hook.Mailbox, error)
	Window   func(context.Context, *hook.Event) (*hook.Window, error) // as in hook.Call
	Process  string                                                   // the process that runs the hook
	Unmarked bool                                                     // taken output cannot be marked
	Dialogs  hook.Dialogs                                             // as in hook.Call

	marks *hook.Marks
}

func (c *Counter) call(in *wire.Hook) *hook.Call {
	return &hook.Call{
		Client: in.Client, Event: in.Event, Input: in.Input, Getenv: in.Getenv,
		Process: func(bool) string { return c.Process }, Enter: c.Enter, Tools: []string{"mark_read"},
		Window: c.Window, Dialogs: c.Dialogs,
	}
}

// Hook implements hookpipe.Office.
func (c *Counter) Hook(ctx context.Context, in *wire.Hook) (wire.HookAnswer, error) {
	if in.Event == wire.WaitEvent {
		return c.wait(ctx, in)
	}
	a, marks, err := c.call(in).Answer(ctx)
	out := wire.HookAnswer{Out: a.Out, Err: a.Err, Exit: a.Exit, Shell: a.Shell}
	if c.marks = marks; marks != nil {
		out.Ticket = "1"
	}
	if err != nil {
		out.Why = err.Error()
	}
	return out, nil
}

// HookAsking implements hookpipe.Office.
func (c *Counter) HookAsking(ctx context.Context, in *wire.Hook, sign func()) (wire.HookAnswer, error) {
	sign()
	return c.Hook(ctx, in)
}

func (c *Counter) wait(ctx context.Context, in *wire.Hook) (wire.HookAnswer, error) {
	out := wire.HookAnswer{Wait: true}
	err := c.call(in).Wait(ctx, func(a *hook.Answer) error {
		if a != nil {
			out = wire.HookAnswer{Err: a.Err, Exit: a.Exit}
		}
		return nil
	})
	switch {
	case mail.CodeOf(err) == mail.Unavailable:
		return out, err
	case err != nil:
		return wire.HookAnswer{Why: err.Error()}, nil
	}
	return out, nil
}

// HookTaken implements hookpipe.Office.
func (c *Counter) HookTaken(ctx context.Context, _ string) error {
	if c.Unmarked {
		return errors.New("no post office answers")
	}
	return c.marks.Write(ctx)
}
