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

// A call may take long for good reasons: a wait, a slow disk. So what is silent for quiet is asked, on another
// connection, whether it lives; a post office that does not say so within patience is frozen, or none. A relay asks
// sooner for the first time.
const (
	quiet    = 5 * time.Second
	patience = 5 * time.Second
)

// errSilent marks the end of a call to a post office that accepts connections and answers none.
var errSilent = errors.New("the post office is silent")

func (c *caller) silent() error {
	why := " accepts connections and does not answer: its process is stopped, or hangs. "
	if !filepath.IsAbs(c.office.where) { // of another machine nothing tells its process from the way to it
		why = " does not answer: the network on the way to it is cut, or its process is stopped. "
	}
	return &mail.Error{
		Code: mail.Unavailable,
		Msg: "the post office at " + c.office.where + why +
			"If something was to be changed, it may yet be; look whether it was before you ask again",
		Err: errSilent,
	}
}

// vigil watches over one call and breaks it off when the post office is found dead.
type vigil struct {
	office *Office
	ctx    context.Context // of the call
	cancel context.CancelCauseFunc

	mu    sync.Mutex
	timer *time.Timer // running while an answer, or more of it, is waited for
	turn  int         // counts the waits, so that what was asked in an earlier one decides nothing
}

// vigil returns the context for a call whose wait for an answer begins now. The vigil must be ended.
func (o *Office) vigil(ctx context.Context) *vigil {
	v := &vigil{office: o}
	v.ctx, v.cancel = context.WithCancelCause(ctx)
	v.begin()
	return v
}

// begin is called when somebody begins to wait for bytes.
func (v *vigil) begin() {
	v.mu.Lock()
	defer v.mu.Unlock()
	turn := v.turn
	v.timer = time.AfterFunc(v.office.quiet, func() { v.ask(turn) })
}

// pause is called when they came.
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

// why returns err, or what made the vigil break the call off.
func (v *vigil) why(err error) error {
	if cause := context.Cause(v.ctx); errors.Is(cause, errSilent) || errors.Is(cause, errBroken) {
		return cause
	}
	return err
}

// ask asks whether the post office lives. Only one that takes the connection and keeps still does not.
func (v *vigil) ask(turn int) {
	err := v.office.lives(v.ctx)
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case v.turn != turn || v.ctx.Err() != nil:
	case errors.Is(err, context.DeadlineExceeded):
		v.office.transport.CloseIdleConnections() // they lead nowhere: this machine slept, or has another network
		v.cancel(errSilent)
	case nobodyListens(err): // it has ended; its last calls are over, or lost
		v.cancel(errBroken)
	default:
		v.timer.Reset(quiet)
	}
}

// lives asks for a sign of life, whatever it is.
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

// watchedBody is the body of an answer over which a vigil is kept while somebody reads.
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
