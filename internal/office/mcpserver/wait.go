package mcpserver

import (
	"context"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pennypost/internal/base/pause"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

type waitParams struct {
	Types   []mail.Type `json:"types"`
	ReplyTo mail.ID     `json:"reply_to"`
	After   mail.Seq    `json:"after"`
	Timeout float64     `json:"timeout_seconds"`
}

const (
	defaultWait = 10 * time.Minute
	longestWait = 24 * time.Hour
	// progressEvery keeps a waiting call alive: clients give up on a call that is silent for five minutes over
	// HTTP, and some on one whose first byte takes a minute.
	progressEvery = 25 * time.Second
)

func waitForMessages(ctx context.Context, c *dialect.Call, p waitParams) (dialect.Prose, error) {
	timeout := time.Duration(p.Timeout * float64(time.Second))
	switch {
	case p.Timeout < 0 || p.Timeout > longestWait.Seconds():
		return "", mail.Errorf(mail.Invalid, "timeout_seconds %v is out of range; use 0 to %v", p.Timeout,
			longestWait.Seconds())
	case p.Timeout == 0:
		timeout = defaultWait
	}
	for _, t := range p.Types {
		if _, err := mail.ParseType(string(t)); err != nil {
			return "", err
		}
	}
	waiting, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	stop := c.Waiting(waiting)
	it, err := c.Service.Wait(waiting, mail.WaitQuery{Types: p.Types, ReplyTo: p.ReplyTo, After: p.After,
		News: true})
	stop()
	if mail.CodeOf(err) == mail.Timeout && ctx.Err() == nil {
		return dialect.Prose(fmt.Sprintf("No mail came within %v. Call again to keep waiting.", timeout)), nil
	}
	if err != nil {
		return "", err
	}
	return show(context.WithoutCancel(ctx), c, view{items: []mail.Item{it}, end: func([]mail.Item) string {
		return fmt.Sprintf("To wait for the next: wait_for_messages with after %d.", it.Seq)
	}}, mail.WaitDoor), nil
}

// reportProgress tells a client that asked for progress that the call is alive, immediately and then regularly. The
// returned function ends that and waits for it.
func (c *toolCall) reportProgress(ctx context.Context) (stop func()) {
	token := c.Meta["progressToken"]
	if token == nil || c.notify == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for began := time.Now(); ; {
			_ = c.notify(&mcp.ProgressNotificationParams{ProgressToken: token, Progress: time.Since(began).Seconds(),
				Message: "waiting for mail"})
			if !pause.For(ctx, progressEvery) {
				return
			}
		}
	}()
	return func() { cancel(); <-done }
}
