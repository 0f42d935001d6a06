package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"pennypost/internal/mail"
)

// A call may take long for good reasons: a wait, a slow disk. So after quiet without a byte, the client checks on
// another connection whether the post office lives; one that does not answer within patience is frozen, or gone. A
// relay makes the first check sooner.
const (
	quiet    = 5 * time.Second
	patience = 5 * time.Second
)

// errSilent marks the end of a call to a post office that accepts connections but does not answer.
var errSilent = errors.New("the post office is silent")

func (c *caller) silent() error {
	why := " accepts connections but does not answer: its process is stopped or hangs. "
	if !filepath.IsAbs(c.office.where) { // remote: a dead process and a cut network look the same
		why = " does not answer: the network connection is broken, or its process is stopped. "
	}
	return &mail.Error{
		Code: mail.Unavailable,
		Msg: "the post office at " + c.office.where + why +
			"A change that you asked for may still be made; check before you try again",
		Err: errSilent,
	}
}

// vigil watches over one call and aborts it when the post office is found dead.
type vigil struct {
	office *Office
	ctx    context.Context // of the call
	cancel context.CancelCauseFunc

	mu    sync.Mutex
	timer *time.Timer // running while an answer, or more of it, is awaited
	turn  int         // counts the waits, so that a check from an earlier one has no effect
}

// vigil returns the context for a call, whose wait for an answer begins now. The caller must end the vigil.
func (o *Office) vigil(ctx context.Context) *vigil {
	v := &vigil{office: o}
	v.ctx, v.cancel = context.WithCancelCause(ctx)
	v.begin()
	return v
}

// begin is called when a wait for bytes begins.
func (v *vigil) begin() {
	v.mu.Lock()
	defer v.mu.Unlock()
	turn := v.turn
	v.timer = time.AfterFunc(v.office.quiet, func() { v.ask(turn) })
}

// pause is called when bytes have arrived.
func (v *vigil) pause() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.turn++
	v.timer.Stop()
}

func (v *vigil) end() {
	v.pause()
	v.cancel(nil)
}

// why returns the reason for which the vigil aborted the call, else err.
func (v *vigil) why(err error) error {
	if cause := context.Cause(v.ctx); errors.Is(cause, errSilent) || errors.Is(cause, errBroken) {
		return cause
	}
	return err
}

// ask checks whether the post office lives. Only one that accepts the connection and stays silent does not.
func (v *vigil) ask(turn int) {
	err := v.office.lives(v.ctx)
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case v.turn != turn || v.ctx.Err() != nil:
	case errors.Is(err, context.DeadlineExceeded):
		v.office.transport.CloseIdleConnections() // they are dead: this machine slept, or changed networks
		v.cancel(errSilent)
	case notListening(err): // it has ended; its last calls are done, or lost
		v.cancel(errBroken)
	default:
		v.timer.Reset(quiet)
	}
}

// lives asks for any sign of life.
func (o *Office) lives(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, o.patience)
	defer cancel()
	u := *o.base
	u.Path = "/healthz"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return err
	}
	resp, err := o.transport.RoundTrip(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// watchedBody is the body of an answer with a vigil while it is read.
type watchedBody struct {
	io.ReadCloser
	*vigil
}

// Read implements io.Reader.
func (b *watchedBody) Read(p []byte) (int, error) {
	b.begin()
	n, err := b.ReadCloser.Read(p)
	b.pause()
	if err != nil {
		err = b.why(err)
	}
	return n, err
}

// Close implements io.Closer.
func (b *watchedBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}
