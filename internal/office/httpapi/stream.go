package httpapi

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"reflect"
	"strconv"
	"time"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// chunk is how many bytes of a stream are collected before they are sent.
const chunk = 32 << 10

// stream writes a response piece by piece. Each piece has its own deadline, so that a client that stops reading is
// cut off and until then blocks only its own connection.
type stream struct {
	w       http.ResponseWriter
	kind    string
	timeout time.Duration
	begun   bool
	buf     []byte
}

// stream returns the response as a stream. The header is sent with the first piece.
func (c *call) stream() *stream {
	return &stream{w: c.w, kind: c.route.stream, timeout: c.api.opts.WriteTimeout}
}

// add appends to the next piece, and sends it when it is large.
func (s *stream) add(p []byte, end ...byte) error {
	s.buf = append(append(s.buf, p...), end...)
	if len(s.buf) < chunk {
		return nil
	}
	return s.flush()
}

// Write implements io.Writer.
func (s *stream) Write(p []byte) (int, error) { return len(p), s.add(p) }

// flush sends the added bytes, and the header if there are none.
func (s *stream) flush() error {
	if !s.begun {
		s.begun = true
		s.w.Header().Set("Content-Type", s.kind)
		s.w.Header().Set("X-Accel-Buffering", "no") // nginx would hold events back
		s.w.WriteHeader(http.StatusOK)
	}
	err := write(s.w, s.timeout, s.buf)
	s.buf = s.buf[:0]
	return err
}

// write sends p; the client must take each chunk within timeout. The deadline is removed afterwards: otherwise it
// would end an HTTP/2 stream in a silence, or the next answer on the connection. A ResponseWriter without deadlines
// is one of a test.
func write(w http.ResponseWriter, timeout time.Duration, p []byte) error {
	rc := http.NewResponseController(w)
	defer func() { _ = rc.SetWriteDeadline(time.Time{}) }()
	for len(p) > 0 {
		n := min(len(p), chunk)
		_ = rc.SetWriteDeadline(time.Now().Add(timeout))
		if _, err := w.Write(p[:n]); err != nil {
			return gone(err)
		}
		p = p[n:]
	}
	if err := rc.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return gone(err)
	}
	return nil
}

func gone(err error) error {
	return &mail.Error{Code: mail.Timeout, Msg: "the client stopped reading", Err: err}
}

// lastEventID is the header in which a reconnecting client says how far it got (HTML, 9.2.4).
const lastEventID = "Last-Event-ID"

func eventsRoute() route {
	rt := handled(&wire.EventsRoute, wire.Events, mail.Event{}, events)
	rt.query, rt.headers = wire.Params(reflect.TypeFor[wire.EventsQuery]()), []string{lastEventID}
	return rt
}

// events streams the journal.
func events(c *call) (any, error) {
	after, err := c.cursor()
	if err != nil {
		return nil, err
	}
	ctx, cancel := c.api.streaming(c.r)
	defer cancel()
	w, err := c.room.Watch(ctx, after)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	return nil, follow(ctx, c, w.Next, addEvent)
}

// follow streams the output of a watch until the client leaves, or the post office does.
func follow[T any](ctx context.Context, c *call, next func(context.Context) ([]T, error),
	add func(*stream, *T) error) error {
	s := c.stream()
	// Browsers wait 3 s before they reconnect unless told otherwise. The comment shows the client that it is
	// connected.
	err := s.add([]byte("retry: 1000\n:\n\n"))
	for err == nil {
		if err = s.flush(); err == nil {
			err = addNext(ctx, c.api.opts.KeepAlive, s, next, add)
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// addNext adds new events to s or, after a silence, a comment.
func addNext[T any](ctx context.Context, silence time.Duration, s *stream, next func(context.Context) ([]T, error),
	add func(*stream, *T) error) error {
	tick, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	list, err := next(tick)
	if err != nil && len(list) == 0 {
		if tick.Err() != nil && ctx.Err() == nil {
			return s.add([]byte(":\n\n"))
		}
		return err
	}
	for i := range list {
		if err := add(s, &list[i]); err != nil {
			return err
		}
	}
	return nil
}

func addEvent(s *stream, e *mail.Event) error {
	data, err := jsonx.Marshal(e) // the JSON has no line breaks, which would end the field
	if err != nil {
		return err
	}
	s.buf = strconv.AppendUint(append(s.buf, "id: "...), uint64(e.Seq), 10)
	s.buf = append(append(s.buf, "\nevent: "...), kindOf(e)...)
	s.buf = append(s.buf, "\ndata: "...)
	return s.add(data, '\n', '\n')
}

// cursor returns the sequence number after which the client wants events. A browser that reconnects repeats its
// first address and says in the header how far it got, so the header takes precedence.
func (c *call) cursor() (mail.Seq, error) {
	last := c.r.Header.Get(lastEventID)
	if last == "" {
		q, err := input[wire.EventsQuery](c)
		return q.After, err
	}
	seq, err := parseSeq(last)
	if err != nil {
		return 0, mail.Errorf(mail.Invalid, "invalid header %s: %s", lastEventID, err.Error())
	}
	return seq, nil
}

// kindOf names the kind of an event, for listeners that want one kind only.
func kindOf(e *mail.Event) string {
	switch {
	case e.Message != nil:
		return "message"
	case e.Receipt != nil:
		return "receipt"
	case e.Agent != nil:
		return "agent"
	case e.Erased != nil:
		return "erased"
	case e.Checkpoint != nil:
		return "checkpoint"
	case e.Bridge != nil:
		return "bridge"
	case e.Settled != nil:
		return "settled"
	case e.Workspace != nil:
		return "workspace"
	case e.Grant != nil:
		return "grant"
	case e.Dialog != nil:
		return "dialog"
	case e.Claim != nil:
		return "claim"
	case e.Schedule != nil:
		return "schedule"
	}
	return "other"
}

func waitRoute() route {
	rt := of(&wire.WaitCall)
	rt.out, rt.stream, rt.handle = optional[mail.Item]{}, wire.JSON, wait
	return rt
}

// Bounds of a wait.
const (
	defaultWait = 60 * time.Second // below the limit of most HTTP clients for one request
	maxWait     = time.Hour
)

// wait answers with the next message, or null. The status is sent with the first sign of life, long before the
// outcome of the wait is known, so that no link in between takes silence for death. Therefore a wait whose time is
// over succeeds without a message, and is not an error.
func wait(c *call) (any, error) {
	q, err := input[wire.WaitQuery](c)
	if err != nil {
		return nil, err
	}
	ctx, cancel := c.api.streaming(c.r)
	defer cancel()
	end := time.Now().Add(*cmp.Or(q.Timeout, new(defaultWait)))
	s := c.stream()
	for {
		item, err := c.waitOnce(ctx, q.WaitQuery, end)
		switch {
		case err == nil:
			return nil, s.last(item)
		case errors.Is(context.Cause(ctx), errClosing), ctx.Err() == nil && mail.CodeOf(err) == mail.Timeout &&
			!time.Now().Before(end):
			return nil, s.last(nil) // a post office that stops ends a wait early: a client that still waits asks again
		case ctx.Err() != nil || mail.CodeOf(err) != mail.Timeout:
			return nil, err
		}
		if err := s.alive(); err != nil {
			return nil, err
		}
	}
}

func ringRoute() route {
	rt := handled(&wire.RingRoute, wire.JSON, optional[mail.Rung]{}, ring)
	rt.query = wire.Params(reflect.TypeFor[wire.RingQuery]())
	return rt
}

// ring answers with the ring of the caller, or null. As with wait, the status may be sent long before.
func ring(c *call) (any, error) {
	q, err := input[wire.RingQuery](c)
	if err != nil {
		return nil, err
	}
	at := mail.Listener{Door: cmp.Or(q.Door, mail.MonitorDoor), Session: q.Session}
	if err := at.Check(); err != nil {
		return nil, err
	}
	s := c.stream()
	over, err := await(c, s, *cmp.Or(q.Timeout, new(defaultWait)),
		func(ctx context.Context, hand func(*mail.Rung) error) error {
			return c.api.opts.Listen(ctx, c.roomName, c.caller.Name, at, c.api.opts.KeepAlive, hand)
		})
	if over {
		err = s.last(nil)
	}
	return nil, err
}

// await lets wait hand over the answer, for at most most, and sends a sign of life for each nil that it hands over
// until then. over means that the time is over, or that the post office stops.
func await[T any](c *call, s *stream, most time.Duration,
	wait func(ctx context.Context, hand func(*T) error) error) (over bool, err error) {
	ctx, cancel := c.api.streaming(c.r)
	defer cancel()
	ctx, cancel = context.WithTimeout(ctx, most)
	defer cancel()
	err = wait(ctx, func(v *T) error {
		if v != nil {
			return s.last(v)
		}
		return s.alive()
	})
	return err != nil && ctx.Err() != nil && c.r.Context().Err() == nil, err
}

// waitOnce waits until the next sign of life is due.
func (c *call) waitOnce(ctx context.Context, q mail.WaitQuery, end time.Time) (mail.Item, error) {
	if beat := time.Now().Add(c.api.opts.KeepAlive); beat.Before(end) {
		end = beat
	}
	ctx, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	return c.room.Wait(ctx, q)
}

// alive sends white space, as a sign that the answer is still to come, and finds out whether the client is still
// there.
func (s *stream) alive() error {
	if err := s.add([]byte("\n")); err != nil {
		return err
	}
	return s.flush()
}

// last sends v as the end of the stream. If it is the whole stream, its length precedes it: net/http would end a
// body without one only when the handler has returned, and the client would wait for that.
func (s *stream) last(v any) error {
	b, err := jsonx.Marshal(v)
	if err != nil {
		return err
	}
	if !s.begun {
		s.w.Header().Set("Content-Length", strconv.Itoa(len(s.buf)+len(b)+1))
	}
	if err := s.add(b, '\n'); err != nil {
		return err
	}
	return s.flush()
}
