package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"
)

const (
	// resumeGrace is how long a call of a session continues after its client hung up. Clients reconnect after a
	// second or two; one that does not is gone, and nothing may count as delivered to it.
	resumeGrace = 10 * time.Second

	// The most ended calls, and bytes of them, kept for a client that lost the end of an answer.
	maxLeft      = 8
	maxLeftBytes = 256 << 10
)

// A sessionCall is a request of a session and the events sent for it, which a client whose connection broke asks
// for again with a GET and Last-Event-ID (2025-11-25, basic/transports, Resumability and Redelivery). Guarded by
// sessions.mu except id.
type sessionCall struct {
	id     json.RawMessage
	stream string // the SDK's name for its stream, once it has one
	events [][]byte

	attached chan struct{} // closed when its HTTP request ends; nil if it has none
	hangUp   func()        // ends that request
	grace    *time.Timer   // runs while the client is away
}

func newSessionCall(id json.RawMessage, hangUp func()) *sessionCall {
	return &sessionCall{id: id, attached: make(chan struct{}), hangUp: hangUp}
}

func (c *sessionCall) size() (n int) {
	for _, e := range c.events {
		n += len(e)
	}
	return n
}

type callKey struct{}

func withCall(ctx context.Context, c *sessionCall) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

// resume returns the call of a Last-Event-ID, if it is known, attached to the new request, which hangUp ends. It
// first ends a request that the call is still attached to: a client notices a dead connection sooner than we do.
// Event ids are the SDK's: the stream, "_" and a number.
func (t *sessions) resume(ctx context.Context, s *session, lastEventID string, hangUp func()) *sessionCall {
	stream, _, _ := strings.Cut(lastEventID, "_")
	for {
		t.mu.Lock()
		c := s.calls[stream]
		if c == nil || c.attached == nil {
			s.attachLocked(c, hangUp)
			t.mu.Unlock()
			return c
		}
		detached, old := c.attached, c.hangUp
		t.mu.Unlock()
		old()
		select {
		case <-detached:
		case <-ctx.Done():
			return nil
		}
	}
}

func (s *session) attachLocked(c *sessionCall, hangUp func()) {
	if c == nil {
		return
	}
	c.attached, c.hangUp = make(chan struct{}), hangUp
	if c.grace != nil {
		c.grace.Stop()
		c.grace = nil
	}
	s.left = slices.DeleteFunc(s.left, func(l *sessionCall) bool { return l == c })
}

// detach separates a call from its HTTP request, which has ended, because the client hung up or not.
func (t *sessions) detach(s *session, c *sessionCall, hungUp bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	close(c.attached)
	c.attached = nil
	switch {
	case t.byID[s.id] != s: // ended, perhaps before the session knew of the call
		t.ending.Go(func() { t.cancelCall(s.id, c.id) })
	case hungUp:
		c.grace = time.AfterFunc(resumeGrace, func() { t.abandon(s, c) })
	default:
		s.leaveLocked(c)
	}
}

// abandon cancels a call whose client has not come back.
func (t *sessions) abandon(s *session, c *sessionCall) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.grace == nil || t.byID[s.id] != s {
		return
	}
	c.grace = nil
	s.leaveLocked(c)
	t.ending.Go(func() { t.cancelCall(s.id, c.id) })
}

// leaveLocked keeps c for a while after its end and drops older ones.
func (s *session) leaveLocked(c *sessionCall) {
	s.left = append(s.left, c)
	size := 0
	for _, l := range s.left {
		size += l.size()
	}
	for len(s.left) > maxLeft || size > maxLeftBytes && len(s.left) > 1 {
		size -= s.left[0].size()
		delete(s.calls, s.left[0].stream)
		s.left = s.left[1:]
	}
}

// Open implements mcp.EventStore.
func (t *sessions) Open(ctx context.Context, id, stream string) error {
	c, _ := ctx.Value(callKey{}).(*sessionCall)
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.byID[id]; s != nil && c != nil {
		c.stream = stream
		s.calls[stream] = c
	}
	return nil
}

// Append implements mcp.EventStore. It does not keep events of a session's standalone stream: that stream has no
// end, and clients read the current state instead of replaying it.
func (t *sessions) Append(_ context.Context, id, stream string, event []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.callLocked(id, stream); c != nil {
		c.events = append(c.events, event)
	}
	return nil
}

func (t *sessions) callLocked(id, stream string) *sessionCall {
	if s := t.byID[id]; s != nil {
		return s.calls[stream]
	}
	return nil
}

var errForgotten = errors.New("the stream is no longer kept")

// After implements mcp.EventStore.
func (t *sessions) After(_ context.Context, id, stream string, index int) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		if stream == "" {
			return
		}
		t.mu.Lock()
		c := t.callLocked(id, stream)
		var events [][]byte
		if c != nil {
			events = c.events[min(index+1, len(c.events)):]
		}
		t.mu.Unlock()
		if c == nil {
			yield(nil, errForgotten)
			return
		}
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// SessionClosed implements mcp.EventStore. It does nothing: the table drops sessions itself.
func (t *sessions) SessionClosed(context.Context, string) error { return nil }
