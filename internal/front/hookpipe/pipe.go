// Package hookpipe is the process of a hook that an agent's client runs: it passes the client's input to the post
// office and prints the answer.
//
// A hook never disturbs its client. If the post office is away, slow or of another version, or the input is not
// understood, the hook is silent and succeeds within a second.
package hookpipe

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/wire"
)

// Limits of a hook.
const (
	// Deadline is how long a client waits for a hook at most.
	Deadline = time.Second
	// askTime is the part of it within which the post office must answer. The rest is for the confirmation.
	askTime = 800 * time.Millisecond
)

// Office is the part of the post office that a hook needs. A client.Office implements it.
type Office interface {
	// Hook sends a hook and returns its answer.
	Hook(ctx context.Context, h *wire.Hook) (wire.HookAnswer, error)
	// HookAsking is Hook for one with which a client asks its person. It may take long, and calls sign for each sign
	// of life of the post office.
	HookAsking(ctx context.Context, h *wire.Hook, sign func()) (wire.HookAnswer, error)
	// HookTaken confirms that the client has taken an answer.
	HookTaken(ctx context.Context, ticket string) error
}

// Pipe is one hook run by a client.
type Pipe struct {
	Hook           wire.Hook // without its Input
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Enter returns the post office. It may start one only at the start of a session: a person may have stopped it.
	Enter func(start bool) (Office, error)
	// Append appends to a file, which it creates if necessary; nil: nothing is written.
	Append func(path, text string) error
	// Ended reports whether the program that runs the hook has ended; nil: it never does.
	Ended func() bool
	// Debug receives the reason why the hook is silent; nil: it is dropped.
	Debug func(why string)
}

// Run runs the hook and returns the exit status of its process: 0, unless the status tells the client something.
func (p *Pipe) Run(ctx context.Context) (exit int) {
	defer func() {
		if v := recover(); v != nil { // the status of a panic would block the client
			p.debug(fmt.Sprint(v))
			exit = 0
		}
	}()
	switch {
	case p.Hook.Event == wire.WaitEvent:
		return p.wait(ctx)
	case wire.MayAsk(p.Hook.Event):
		return p.dialog(ctx)
	}
	began := time.Now()
	asking, cancel := context.WithDeadline(ctx, began.Add(askTime))
	defer cancel()
	office, a, err := p.ask(asking)
	if err != nil {
		p.debug(err.Error())
		a = wire.HookAnswer{Out: wire.Silence(p.Hook.Client, p.Hook.Event)}
	}
	return p.leave(ctx, office, &a, began, Deadline)
}

// leave passes the answer to the client, and confirms within the given time since the start of the hook that the
// client took it.
func (p *Pipe) leave(ctx context.Context, office Office, a *wire.HookAnswer, began time.Time,
	within time.Duration) (exit int) {
	if a.Why != "" {
		p.debug(a.Why)
	}
	if err := p.write(a); err != nil {
		p.debug("the output was not taken: " + err.Error())
		return a.Exit
	}
	if a.Ticket == "" {
		return a.Exit
	}
	confirming, cancel := context.WithDeadline(ctx, began.Add(within))
	defer cancel()
	if err := office.HookTaken(confirming, a.Ticket); err != nil {
		p.debug("the mail is not marked: " + err.Error())
	}
	return a.Exit
}

func (p *Pipe) debug(why string) {
	if p.Debug != nil {
		p.Debug(why)
	}
}

// ask sends the client's input.
func (p *Pipe) ask(ctx context.Context) (Office, wire.HookAnswer, error) {
	var err error
	if p.Hook.Input, err = read(ctx, p.Stdin); err != nil {
		return nil, wire.HookAnswer{}, err
	}
	office, err := p.Enter(strings.EqualFold(p.Hook.Event, "SessionStart"))
	if err != nil {
		return nil, wire.HookAnswer{}, err
	}
	a, err := office.Hook(ctx, &p.Hook)
	return office, a, err
}

// write writes the answer.
func (p *Pipe) write(a *wire.HookAnswer) error {
	if file := p.Hook.Getenv("CLAUDE_ENV_FILE"); a.Shell != "" && file != "" && p.Append != nil {
		if err := p.Append(file, a.Shell); err != nil {
			p.debug("the shell does not know the agent: " + err.Error())
		}
	}
	for _, o := range []struct {
		to   io.Writer
		text string
	}{{p.Stdout, a.Out}, {p.Stderr, a.Err}} {
		if o.text == "" {
			continue
		}
		if _, err := io.WriteString(o.to, o.text+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// read reads the client's JSON object. Some clients leave the pipe open, so it does not wait for the end, and it gives
// up a client that sends nothing; the waiting goroutine then ends with the process.
func read(ctx context.Context, r io.Reader) ([]byte, error) {
	type result struct {
		text []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		text, err := jsonx.ReadValue(io.LimitReader(r, wire.MaxHookInput))
		done <- result{text, err}
	}()
	select {
	case res := <-done:
		if res.err != nil {
			return nil, fmt.Errorf("read the client's event: %w", res.err)
		}
		return res.text, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("read the client's event: %w", ctx.Err())
	}
}
