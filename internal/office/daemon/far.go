package daemon

import (
	"context"
	"crypto/tls"
	"log/slog"
	"sync"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/office/wake/remote"
	"pennypost/internal/wire"
	"pennypost/internal/wire/client"
)

// Remote is the post office of another machine for which this process is a relay: it has no rooms of its own. Who
// calls, and how an agent here is rung, is found out here, as a post office does; the calls go on over TLS.
type Remote struct {
	URL     string
	TLS     *tls.Config  // by which the post office is known
	Token   string       // of this machine
	Machine mail.Machine // by which name it is known there
}

// far is what a relay has in place of rooms.
type far struct {
	remote Remote
	office *client.Office
	relay  remote.Relay // its line to the post office
	log    *slog.Logger
	again  chan struct{} // has room for one: somebody waits for the next attempt

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

func newFar(remote Remote, log *slog.Logger) (*far, error) {
	office, err := client.New(client.Options{URL: remote.URL, Token: remote.Token, TLS: remote.TLS, Relay: true})
	if err != nil {
		return nil, err
	}
	return &far{remote: remote, office: office, log: log, again: make(chan struct{}, 1),
			outcome: make(chan struct{})},
		nil
}

// run keeps the line to the post office until ctx ends.
func (f *far) run(ctx context.Context) {
	pause := minRetry
	for ctx.Err() == nil {
		began := time.Now()
		err := f.connect(ctx)
		if time.Since(began) > maxRetry {
			pause = minRetry // it was connected for a while
		}
		f.log.Debug("no line to the post office", "err", err, "again", pause)
		select {
		case <-f.again: // asked for while the line was there
		default:
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(minRetry):
		}
		select {
		case <-ctx.Done():
			return
		case <-f.again:
		case <-time.After(pause - minRetry):
		}
		pause = min(2*pause, maxRetry)
	}
}

// connect makes one line and keeps it until it breaks.
func (f *far) connect(ctx context.Context) error {
	dial, cancel := context.WithTimeout(ctx, lineDial)
	conn, err := f.office.Line(dial)
	cancel()
	f.note(err)
	if err != nil {
		return err
	}
	err = f.relay.Serve(ctx, conn)
	f.office.Close() // other connections are as dead
	if ctx.Err() == nil {
		f.note(&mail.Error{Code: mail.Unavailable, Msg: "the connection to it broke", Err: err})
	}
	return err
}

// note notes what became of an attempt.
func (f *far) note(err error) {
	switch mail.CodeOf(err) {
	case mail.Timeout:
		err = &mail.Error{Code: mail.Unavailable, Msg: "it does not answer", Err: err}
	case mail.NotFound, mail.Invalid: // an older one, which knows of no lines, but serves calls
		f.log.Warn("the post office is too old to ring agents of this machine", "err", err)
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
		f.log.Warn("the post office cannot be reached", "url", f.remote.URL, "err", err)
	case err == nil:
		f.log.Info("connected to the post office", "url", f.remote.URL)
	}
}

// away says why the post office cannot be reached, as far as is known; nil: it can.
func (f *far) away(ctx context.Context) error {
	f.mu.Lock()
	err, tried, outcome := f.trouble, f.tried, f.outcome
	f.mu.Unlock()
	if tried && err == nil {
		return nil
	}
	wait := firstTry
	if tried {
		wait = nextTry
		select {
		case f.again <- struct{}{}:
		default:
		}
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
		return &mail.Error{Code: code, Msg: "the post office at " + f.remote.URL + " does not let this machine in: " +
			err.Error(), Err: err}
	}
	return &mail.Error{Code: mail.Unavailable, Msg: "the post office of this machine is at " + f.remote.URL +
		", which cannot be reached now: nothing was done. It is tried again every few seconds. (" + err.Error() + ")",
		Err: err}
}

// status is what wire.Status says of a relay.
func (f *far) status() *wire.RelayStatus {
	f.mu.Lock()
	defer f.mu.Unlock()
	st := &wire.RelayStatus{URL: f.remote.URL, Machine: f.remote.Machine}
	if f.trouble != nil {
		st.Trouble = f.trouble.Error()
	}
	return st
}

// place asks the post office where a session of this machine is, and as whom.
func (f *far) place(ctx context.Context, p *wire.Place) (wire.Placed, error) {
	if err := f.away(ctx); err != nil {
		return wire.Placed{}, err
	}
	return f.office.Place(ctx, p)
}

// agent returns whose token this is, of a room far away.
func (f *far) agent(ctx context.Context, token string) (mail.Caller, error) {
	if err := f.away(ctx); err != nil {
		return mail.Caller{}, err
	}
	other, err := client.New(client.Options{URL: f.remote.URL, Token: token, TLS: f.remote.TLS, Relay: true})
	if err != nil {
		return mail.Caller{}, err
	}
	defer other.Close()
	st, err := other.Status(ctx)
	return mail.Caller{Name: st.You, Room: st.Room}, err
}
