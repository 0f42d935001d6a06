package mcpserver

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"pennypost/internal/base/pause"
	"pennypost/internal/mail"
)

const (
	// maxPending is how far a response may run ahead of its client before the writer waits: over a thousand
	// notifications, or one message of any size.
	maxPending = 256 << 10
	// maxChunk is how much a client must take within the write timeout.
	maxChunk = 32 << 10
	// farewell is how long the rest of a response may take after its request was cancelled.
	farewell = time.Second
)

// keepAliveComment is a Server-Sent Events comment, which clients skip (HTML, 9.2.6).
const keepAliveComment = ":\n\n"

var errStreamEnded = errors.New("response has ended")

// An exchange is the part of a request that its stream needs.
type exchange struct {
	ctx       context.Context    // of the request
	ids       ids                // translates the ids of calls
	cancel    context.CancelFunc // ends it when its client is gone
	begin     func(http.Header)  // if set, gets the header before it is sent
	patient   bool               // the answer may take long: see stream.beat
	keepAlive time.Duration
	timeout   time.Duration
}

// A stream is the ResponseWriter through which the SDK answers. A goroutine of its own sends the SDK's output, so
// that a client that stopped reading does not hold up the SDK, which notifies subscribers one after another and
// without a deadline (go-sdk issue 1227). Each chunk has a deadline of its own, which also overrides
// http.Server.WriteTimeout (issue 1262), and a silent event stream gets comments, so that proxies keep it open and
// dead clients are noticed (issue 1229).
type stream struct {
	exchange
	w      http.ResponseWriter // body: written by run only
	rc     *http.ResponseController
	header http.Header // the SDK's until begun; then copied to w
	wake   pause.Nudge
	done   chan struct{} // closed when run has returned

	mu      sync.Mutex
	room    sync.Cond // on mu: pending was taken, or never will be again
	begun   bool      // header sent
	events  bool      // as an event stream
	pending []byte
	flush   bool
	ended   bool
	until   time.Time // the latest deadline of a write, if set
	err     error     // why the client is gone
}

func newStream(w http.ResponseWriter, x exchange) *stream {
	s := &stream{
		exchange: x,
		w:        w,
		rc:       http.NewResponseController(w),
		header:   make(http.Header),
		wake:     pause.NewNudge(),
		done:     make(chan struct{}),
	}
	s.room.L = &s.mu
	s.noDeadline()
	go s.run()
	return s
}

// end sends the pending output and gives the ResponseWriter back. Later writes of the SDK fail. For a client whose
// request was cancelled it waits no longer than farewell.
func (s *stream) end() {
	hurry := s.ctx.Err() != nil
	s.mu.Lock()
	s.ended = true
	if hurry {
		s.until = time.Now().Add(farewell)
	}
	s.room.Broadcast()
	s.mu.Unlock()
	if hurry {
		s.deadline() // of the write under way
	}
	s.wake.Give()
	<-s.done
}

// refuse answers that the credential is no longer valid, if nothing was answered yet.
func (s *stream) refuse(why error) {
	s.mu.Lock()
	begun := s.begun
	s.mu.Unlock()
	if begun {
		return
	}
	status := http.StatusUnauthorized
	if mail.CodeOf(why) == mail.NotFound {
		status = http.StatusNotFound
	}
	refuse(status, jsonrpc.CodeInvalidRequest, why.Error()).write(s)
}

// Header implements http.ResponseWriter.
func (s *stream) Header() http.Header { return s.header }

// WriteHeader implements http.ResponseWriter.
func (s *stream) WriteHeader(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.begun && !s.ended {
		s.beginLocked(status, s.header)
	}
}

func (s *stream) beginLocked(status int, header http.Header) {
	s.begun = true
	if s.begin != nil {
		s.begin(header)
	}
	for k, v := range header {
		s.w.Header()[k] = v
	}
	if strings.HasPrefix(header.Get("Content-Type"), "text/event-stream") {
		s.events = true
		s.w.Header().Set("X-Accel-Buffering", "no") // nginx would buffer events
	}
	s.w.WriteHeader(status)
}

// Write implements http.ResponseWriter. It copies p and waits only for a client that is more than maxPending
// behind, and then no longer than its write timeout.
func (s *stream) Write(p []byte) (int, error) {
	s.WriteHeader(http.StatusOK)
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.pending) > maxPending && s.err == nil && !s.ended {
		s.room.Wait()
	}
	if s.err != nil {
		return 0, s.err
	}
	if s.ended {
		return 0, errStreamEnded
	}
	s.pending = append(s.pending, s.ids.outside(p)...) // the SDK writes whole messages
	s.wake.Give()
	return len(p), nil
}

// FlushError implements the flushing of http.ResponseController: it asks for the output to be sent immediately, and
// does not wait.
func (s *stream) FlushError() error {
	s.WriteHeader(http.StatusOK)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flush = true
	s.wake.Give()
	return s.err
}

func (s *stream) run() {
	defer close(s.done)
	idle := time.NewTimer(s.keepAlive)
	defer idle.Stop()
	for {
		select {
		case <-s.wake:
		case <-idle.C:
			s.beat()
		}
		batch, flush, last := s.take()
		if err := s.send(batch, flush, last); err != nil {
			s.fail(err)
			return
		}
		if last {
			return
		}
		idle.Reset(s.keepAlive)
	}
}

// beat queues a keep-alive comment if the stream is one of events. A slow answer has not begun, because the SDK
// decides its status by its first message: beat begins it, since a refusal would have been sent long ago and some
// clients wait only 60 s for a first byte. It does not read the SDK's header, which the SDK may be changing at the
// same time.
func (s *stream) beat() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.begun && s.patient && !s.ended {
		s.beginLocked(http.StatusOK, http.Header{
			"Content-Type":  {"text/event-stream"},
			"Cache-Control": {"no-cache, no-transform"},
		})
	}
	if s.events && len(s.pending) == 0 {
		s.pending = []byte(keepAliveComment)
		s.flush = true
	}
}

// take returns the pending output. last reports that no more can follow.
func (s *stream) take() (batch []byte, flush, last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	batch, flush = s.pending, s.flush
	s.pending, s.flush = nil, false
	s.room.Broadcast()
	return batch, flush, s.ended
}

// send writes to the client. It sets a deadline only while it writes: one that passes in a silence, as
// http.Server.WriteTimeout would, ends an HTTP/2 stream. After the last batch it leaves the deadline for the end of
// the response that net/http writes.
func (s *stream) send(batch []byte, flush, last bool) error {
	for len(batch) > 0 {
		n := min(len(batch), maxChunk)
		s.deadline()
		if _, err := s.w.Write(batch[:n]); err != nil {
			return err
		}
		batch = batch[n:]
	}
	if flush {
		s.deadline()
		if err := s.rc.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return err
		}
	}
	if last {
		s.deadline()
	} else {
		s.noDeadline()
	}
	return nil
}

// deadline limits the next write. It ignores the error of a ResponseWriter without deadlines, as in tests.
func (s *stream) deadline() {
	t := time.Now().Add(s.timeout)
	s.mu.Lock()
	if !s.until.IsZero() && s.until.Before(t) {
		t = s.until
	}
	s.mu.Unlock()
	_ = s.rc.SetWriteDeadline(t)
}

func (s *stream) noDeadline() { _ = s.rc.SetWriteDeadline(time.Time{}) }

// fail ends the request of a client that is gone.
func (s *stream) fail(err error) {
	s.mu.Lock()
	s.err = err
	s.room.Broadcast()
	s.mu.Unlock()
	s.cancel()
}
