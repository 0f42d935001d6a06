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
	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// silence is after how long without a byte a watch takes its connection for dead: three signs of life missed.
const silence = 50 * time.Second

// watch follows the journal of a room far away. One goroutine, started by Watch and ended by Close, owns the
// connection and makes a new one where the old one ended.
type watch struct {
	client *Client
	events chan mail.Event // closed by run when it cannot go on
	cancel context.CancelFunc
	done   chan struct{} // closed when run has returned
	err    error         // why run returned; read after events is closed
}

// Watch implements mail.Watcher. When the connection breaks, Next continues on a new one where the old one ended,
// until Close. A post office that is there but does not answer ends the watch: Next returns Unavailable.
func (c *Client) Watch(ctx context.Context, after mail.Seq) (mail.Watch, error) {
	life, cancel := context.WithCancel(context.Background())
	w := &watch{client: c, events: make(chan mail.Event, 64), cancel: cancel, done: make(chan struct{})}
	stop := context.AfterFunc(ctx, cancel) // ctx is for this call only
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
		return nil, err
	}
	go w.run(life, conn, after)
	return w, nil
}

// Next implements mail.Watch.
func (w *watch) Next(ctx context.Context) ([]mail.Event, error) {
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

// drain returns e and the events that are there already.
func (w *watch) drain(e mail.Event) []mail.Event {
	batch := []mail.Event{e}
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
func (w *watch) Close() error {
	w.cancel()
	<-w.done
	return nil
}

// connection is one response that streams events.
type connection struct {
	body   io.ReadCloser
	cancel context.CancelFunc // breaks it off, also for somebody who reads
}

func (c *connection) close() {
	c.cancel()
	c.body.Close()
}

func (w *watch) connect(ctx context.Context, after mail.Seq, again bool) (*connection, error) {
	r := w.client.request(&wire.EventsRoute, wire.None{})
	r.header = http.Header{"Last-Event-Id": {strconv.FormatUint(uint64(after), 10)}}
	r.background = again
	ctx, cancel := context.WithCancel(ctx)
	resp, err := w.client.open(ctx, r)
	if err != nil {
		cancel()
		return nil, err
	}
	return &connection{body: resp.Body, cancel: cancel}, nil
}

// run reads one connection after another, until ctx ends or going on is of no use.
func (w *watch) run(ctx context.Context, conn *connection, after mail.Seq) {
	defer close(w.done)
	defer close(w.events)
	back := backoff{connected: true}
	for {
		if conn != nil {
			seq, err := w.read(ctx, conn, after)
			conn.close()
			if err != nil {
				w.err = err
				return
			}
			if seq > after {
				back.reset()
			}
			after = seq
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
	}
}

// read hands on the events of one connection until it breaks, and returns the place it came to. Its error is one that
// another connection will not mend.
func (w *watch) read(ctx context.Context, conn *connection, after mail.Seq) (mail.Seq, error) {
	dead := time.AfterFunc(silence, conn.cancel)
	defer dead.Stop()
	lines := bufio.NewReaderSize(conn.body, 32<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, errSilent) {
			return after, w.client.silent()
		}
		if err != nil {
			return after, nil
		}
		dead.Stop() // handing on may take as long as the owner likes
		// Each event is one data field, and says its own place and kind: the other fields are for browsers.
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			var e mail.Event
			if err := jsonx.Unmarshal(data, &e); err != nil {
				return after, notUnderstood(err)
			}
			select {
			case w.events <- e:
				after = e.Seq
			case <-ctx.Done():
				return after, nil
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

// Bounds of the pauses. The shortest lets a post office that was restarted come up, the longest is what a person who
// started it again will wait.
const (
	minPause = 100 * time.Millisecond
	maxPause = 5 * time.Second
)

// reset makes the next pause the shortest.
func (b *backoff) reset() { b.connected, b.delay = true, 0 }

// wait pauses, longer each time and by chance, so that many clients of one post office do not come back at once. It
// reports false when ctx ended.
func (b *backoff) wait(ctx context.Context) bool {
	b.delay = min(max(minPause, 2*b.delay), maxPause)
	return sleep(ctx, b.delay/2+rand.N(b.delay/2))
}
