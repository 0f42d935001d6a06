package relay

import (
	"context"
	"crypto/tls"
	"log/slog"
	"sync"
	"time"

	"pennypost/internal/base/pause"
	"pennypost/internal/mail"
	"pennypost/internal/office/wake/remote"
	"pennypost/internal/wire"
	"pennypost/internal/wire/client"
)

// Remote is the post office of another machine for which this process is a relay: it has no rooms of its own. Who
// calls, and how an agent here is rung, is found out here, as a post office does; the calls go on over TLS.
type Remote struct {
	URL     string
	TLS     *tls.Config   // by which the post office is known
	Token   string        // of this machine
	Machine mail.Machine  // by which name it is known there
	Agent   mail.Name     // as whom alone it may speak; empty: as any agent and the user
	Room    mail.RoomName // that alone it may enter; empty: others too
}

// Far is what a relay has in place of rooms.
type Far struct {
	Remote Remote
	There  *client.Office
	Doors  remote.Relay // its line to the post office
	log    *slog.Logger
	again  pause.Nudge // a caller waits for the next attempt

	mu      sync.Mutex
	tried   bool          // an attempt has come to an end
	trouble error         // why the last one failed; nil: it did not
	outcome chan struct{} // closed by that of the next
}

// Bounds of how it is looked for the post office.
const (
	// firstTry is how long a call waits for the first attempt to connect, and nextTry for another, if the last has
	// failed: a post office that is back answers within that.
	firstTry = lineDial
	nextTry  = 400 * time.Millisecond
	// minRetry and maxRetry are the pauses between attempts; a call that finds the post office away has the next one
	// made after minRetry.
	minRetry = 100 * time.Millisecond
	maxRetry = 5 * time.Second
	// lineDial is how long an attempt may take.
	lineDial = 1900 * time.Millisecond
)

// New returns the line to the post office that this machine has joined.
func New(remote Remote, log *slog.Logger) (*Far, error) {
	f := &Far{Remote: remote, log: log, again: pause.NewNudge(), outcome: make(chan struct{})}
	var err error
	f.There, err = client.New(client.Options{URL: remote.URL, Token: remote.Token, TLS: remote.TLS, Relay: true,
		Ready: f.away})
	return f, err
}

// Run keeps the line to the post office until ctx ends.
func (f *Far) Run(ctx context.Context) {
	wait := minRetry
	for ctx.Err() == nil {
		began := time.Now()
		err := f.connect(ctx)
		if time.Since(began) > maxRetry {
			wait = minRetry // it was connected for a while
		}
		f.log.Debug("no connection to the post office", "err", err, "again", wait)
		select {
		case <-f.again: // asked for while the line was there
		default:
		}
		pause.For(ctx, minRetry)
		f.again.Await(ctx, wait-minRetry)
		wait = min(2*wait, maxRetry)
	}
}

// connect makes one line and keeps it until it breaks.
func (f *Far) connect(ctx context.Context) error {
	dial, cancel := context.WithTimeout(ctx, lineDial)
	conn, err := f.There.Line(dial)
	cancel()
	f.note(err)
	if err != nil {
		return err
	}
	err = f.Doors.Serve(ctx, conn)
	f.There.Close() // other connections are as dead
	if ctx.Err() == nil {
		f.note(&mail.Error{Code: mail.Unavailable, Msg: "the connection to it broke", Err: err})
	}
	return err
}

// note notes what became of an attempt.
func (f *Far) note(err error) {
	switch mail.CodeOf(err) {
	case mail.Timeout:
		err = &mail.Error{Code: mail.Unavailable, Msg: "it does not answer", Err: err}
	case mail.NotFound, mail.Invalid: // an older one, which knows of no lines, but serves calls
		f.log.Warn("post office too old to ring agents here", "err", err)
		err = nil
	}
	f.mu.Lock()
	was := f.trouble
	f.trouble, f.tried = err, true
	close(f.outcome)
	f.outcome = make(chan struct{})
	f.mu.Unlock()
	switch {
	case err != nil && was == nil:
		f.log.Warn("post office unreachable", "url", f.Remote.URL, "err", err)
	case err == nil:
		f.log.Info("connected to the post office", "url", f.Remote.URL)
	}
}

// away says why the post office cannot be reached, as far as is known; nil: it can.
func (f *Far) away(ctx context.Context) error {
	f.mu.Lock()
	err, tried, outcome := f.trouble, f.tried, f.outcome
	f.mu.Unlock()
	if tried && err == nil {
		return nil
	}
	wait := firstTry
	if tried {
		wait = nextTry
		f.again.Give()
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-outcome:
	case <-timer.C:
	case <-ctx.Done():
	}
	f.mu.Lock()
	err = f.trouble
	f.mu.Unlock()
	if err == nil {
		return nil
	}
	if code := mail.CodeOf(err); code != mail.Unavailable {
		return &mail.Error{Code: code, Msg: "the post office at " + f.Remote.URL + " refuses this machine: " +
			err.Error(), Err: err}
	}
	return &mail.Error{Code: mail.Unavailable, Msg: "the post office of this machine is at " + f.Remote.URL +
		", which is unreachable. Nothing was done. The connection is retried every few seconds. " +
		"(" + err.Error() + ")",
		Err: err}
}

// Trouble says why the post office cannot be reached, as far as is known; nil: it can. It does not block.
func (f *Far) Trouble() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.tried || f.trouble != nil {
		return f.trouble
	}
	return errNotTried
}

// errNotTried is the trouble before the first attempt has come to an end.
var errNotTried = mail.Errorf(mail.Unavailable, "connecting")

// Status is what wire.Status says of a relay.
func (f *Far) Status() *wire.RelayStatus {
	f.mu.Lock()
	defer f.mu.Unlock()
	st := &wire.RelayStatus{URL: f.Remote.URL, Machine: f.Remote.Machine}
	if f.trouble != nil {
		st.Trouble = f.trouble.Error()
	}
	return st
}

// Agent returns whose token this is, of a room far away. That is asked for each request, because the token may be
// revoked there at any time, and nobody else knows.
func (f *Far) Agent(ctx context.Context, token string) (mail.Caller, error) {
	st, err := f.There.With(token).Status(ctx)
	return mail.Caller{Name: st.You, Room: st.Room}, err
}
