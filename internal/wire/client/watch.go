package client

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/base/pause"
	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// silence is how long a watch waits for a byte before it considers its connection dead: three missed signs of life.
const silence = 50 * time.Second

// watch follows a remote stream of events, such as the journal of a room. One goroutine, started by follow and ended
// by Close, owns the connection and reconnects where the last one ended.
type watch[E any] struct {
	caller *caller
	ask    func(after mail.Seq) request
	place  func(*E) mail.Seq // the sequence number of an event
	events chan E            // closed by run when it cannot continue
	cancel context.CancelFunc
	done   chan struct{} // closed when run has returned
	err    error         // why run returned; read after events is closed
}

// Watch implements mail.Watcher. When the connection breaks, Next continues on a new one where the old one ended,
// until Close. A post office that is there but does not answer ends the watch: Next returns Unavailable.
func (c *Client) Watch(ctx context.Context, after mail.Seq) (mail.Watch, error) {
	w := &watch[mail.Event]{caller: &c.caller, place: func(e *mail.Event) mail.Seq { return e.Seq },
		ask: func(after mail.Seq) request {
			r := c.request(&wire.EventsRoute, wire.None{})
			r.header = http.Header{"Last-Event-Id": {strconv.FormatUint(uint64(after), 10)}}
			return r
		}}
	if err := w.follow(ctx, after); err != nil {
		return nil, err
	}
	return w, nil
}

// WatchDesk implements mail.Office. When the connection breaks, Next continues on a new one, whose first change tells
// the caller to look at everything.
func (o *Office) WatchDesk(ctx context.Context) (mail.DeskWatch, error) {
	w := &watch[mail.DeskChange]{caller: o.user(), place: func(*mail.DeskChange) mail.Seq { return 0 },
		ask: func(mail.Seq) request {
			return o.user().request(&wire.DeskEventsRoute, wire.None{})
		}}
	if err := w.follow(ctx, 0); err != nil {
		return nil, err
	}
	return w, nil
}

// follow connects, and starts the reader. ctx is for this call only.
func (w *watch[E]) follow(ctx context.Context, after mail.Seq) error {
	life, cancel := context.WithCancel(context.Background())
	w.events, w.cancel, w.done = make(chan E, 64), cancel, make(chan struct{})
	stop := context.AfterFunc(ctx, cancel)
	conn, err := w.connect(life, after, false)
	if !stop() && err == nil {
		conn.close()
		err = ctx.Err()
	}
	if err != nil {
		cancel()
		if ctx.Err() != nil {
			err = ended(ctx.Err())
		}
		return err
	}
	go w.run(life, conn, after)
	return nil
}

// Next implements mail.Watch.
func (w *watch[E]) Next(ctx context.Context) ([]E, error) {
	select {
	case e, ok := <-w.events:
		if !ok {
			return nil, w.err
		}
		return w.drain(e), nil
	case <-ctx.Done():
		return nil, ended(ctx.Err())
	}
}

// drain returns e and the events that are already there.
func (w *watch[E]) drain(e E) []E {
	batch := []E{e}
	for len(batch) <= cap(w.events) {
		select {
		case e, ok := <-w.events:
			if !ok {
				return batch
			}
			batch = append(batch, e)
		default:
			return batch
		}
	}
	return batch
}

// Close implements mail.Watch.
func (w *watch[E]) Close() error {
	w.cancel()
	<-w.done
	return nil
}

// connection is one response that streams events.
type connection struct {
	body   io.ReadCloser
	cancel context.CancelFunc // aborts it, even during a read
}

func (c *connection) close() {
	c.cancel()
	c.body.Close()
}

func (w *watch[E]) connect(ctx context.Context, after mail.Seq, again bool) (*connection, error) {
	r := w.ask(after)
	r.background = again
	ctx, cancel := context.WithCancel(ctx)
	resp, err := w.caller.open(ctx, r)
	if err != nil {
		cancel()
		return nil, err
	}
	return &connection{body: resp.Body, cancel: cancel}, nil
}

// run reads one connection after another, until ctx ends or a reconnect is pointless.
func (w *watch[E]) run(ctx context.Context, conn *connection, after mail.Seq) {
	defer close(w.done)
	defer close(w.events)
	back := backoff{connected: true}
	for {
		if conn != nil {
			seq, some, err := w.read(ctx, conn, after)
			conn.close()
			if err != nil {
				w.err = err
				return
			}
			if some {
				back.reset()
			}
			after = seq
			w.caller.office.link(false)
		}
		if !back.wait(ctx) {
			w.err = &mail.Error{Code: mail.Unavailable, Msg: "the watch is closed", Err: ctx.Err()}
			return
		}
		var err error
		if conn, err = w.connect(ctx, after, true); err != nil && (!passing(err) || errors.Is(err, errSilent)) {
			w.err = err
			return
		}
		if conn != nil {
			w.caller.office.link(true)
		}
	}
}

// read passes on the events of one connection until it breaks, and returns the last sequence number and whether there
// were any events. An error is one that a new connection would not fix.
func (w *watch[E]) read(ctx context.Context, conn *connection, after mail.Seq) (at mail.Seq, some bool, err error) {
	dead := time.AfterFunc(silence, conn.cancel)
	defer dead.Stop()
	lines := bufio.NewReaderSize(conn.body, 32<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, errSilent) {
			return after, some, w.caller.silent()
		}
		if err != nil {
			return after, some, nil
		}
		dead.Stop() // the owner may take as long as it likes
		// Each event is one data field with its own sequence number and kind: the other fields are for browsers.
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			var e E
			if err := jsonx.Unmarshal(data, &e); err != nil {
				return after, some, notUnderstood(err)
			}
			select {
			case w.events <- e:
				after, some = w.place(&e), true
			case <-ctx.Done():
				return after, some, nil
			}
		}
		dead.Reset(silence)
	}
}

// backoff spaces attempts to connect.
type backoff struct {
	connected bool // whether there ever was a connection
	delay     time.Duration
}

// Bounds of the pauses. The shortest gives a restarted post office time to come up, the longest is what a person who
// restarted it will tolerate.
const (
	minPause = 100 * time.Millisecond
	maxPause = 5 * time.Second
)

// reset makes the next pause the shortest.
func (b *backoff) reset() { b.connected, b.delay = true, 0 }

// wait pauses, longer each time and with jitter, so that many clients of one post office do not come back at the same
// time. It returns false when ctx ended.
func (b *backoff) wait(ctx context.Context) bool {
	b.delay = min(max(minPause, 2*b.delay), maxPause)
	return pause.For(ctx, b.delay/2+rand.N(b.delay/2))
}
