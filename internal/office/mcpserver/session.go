package mcpserver

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"pennypost/internal/base/life"
)

// maxSessions limits the sessions of one credential. A client that opens one for every call and closes none loses
// its oldest instead of filling our memory; no honest agent runs that many at once.
const maxSessions = 64

// goneAfter is how long a session lives after its client, having listened, hung up and opened nothing since: the
// client's process has ended. One that lost a connection reconnects within seconds.
const goneAfter = 5 * time.Minute

// sessions are the open sessions of the stateful era, and the SDK's EventStore for them. The SDK keeps its own
// table, but ends a session only for lack of POSTs, cannot end them all, and knows the owner only with its own
// bearer-token middleware. Its own event store keeps every stream of a session, and refuses to reopen one that it
// had to cut.
type sessions struct {
	ctx        context.Context // parent of every session's
	timeout    time.Duration
	cancelCall func(session string, call json.RawMessage) // not called with mu held

	mu      sync.Mutex
	byID    map[string]*session
	opening map[string]int // by owner: admitted and not in byID yet

	ending sync.WaitGroup // ends of sessions and calls that no request waits for
}

// A session is bound to the identity that opened it and lives while any of its requests is open, and timeout
// longer.
type session struct {
	id     string
	owner  string
	server *Server
	ctx    context.Context // parent of its requests
	cancel context.CancelFunc
	leave  func() // unregisters the life.OnEnd of the request that opened it; set by open

	// Guarded by sessions.mu.
	open  int                     // requests
	heard bool                    // its client has listened on the standalone stream
	since time.Time               // when open became zero
	timer *time.Timer             // expires the session unless a request is open at that time
	calls map[string]*sessionCall // by stream: attached to a request, awaiting their client, or left
	left  []*sessionCall          // ended or given up, oldest first
}

func newSessions(ctx context.Context, timeout time.Duration, cancelCall func(string, json.RawMessage)) *sessions {
	return &sessions{ctx: ctx, timeout: timeout, cancelCall: cancelCall, byID: make(map[string]*session),
		opening: make(map[string]int)}
}

// admit makes room for one more session of owner by ending its longest idle one, and
// reports whether there is room. The caller calls done when the session is open, or will not be.
func (t *sessions) admit(owner string) (admitted bool, done func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n, oldest := t.opening[owner], (*session)(nil)
	for _, s := range t.byID {
		if s.owner != owner {
			continue
		}
		n++
		if s.open == 0 && (oldest == nil || s.since.Before(oldest.since)) {
			oldest = s
		}
	}
	if n >= maxSessions && oldest == nil {
		return false, func() {}
	}
	if n >= maxSessions {
		t.endLaterLocked(oldest)
	}
	t.opening[owner]++
	return true, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.opening[owner]--; t.opening[owner] == 0 {
			delete(t.opening, owner)
		}
	}
}

// listens records that the client of s listens on the standalone stream.
func (t *sessions) listens(s *session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.heard = true
}

// open adds a session, held by the request of ctx, which opened it. The session ends when the life of that
// request's credential does.
func (t *sessions) open(ctx context.Context, id, owner string, server *Server) *session {
	s := &session{id: id, owner: owner, server: server, open: 1, calls: make(map[string]*sessionCall)}
	s.ctx, s.cancel = context.WithCancel(t.ctx)
	t.mu.Lock()
	s.timer = time.AfterFunc(t.timeout, func() { t.expire(s) })
	t.byID[id] = s
	t.mu.Unlock()
	leave := life.OnEnd(ctx, func(error) {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.byID[id] == s {
			s.cancel()
			t.endLaterLocked(s)
		}
	})
	t.mu.Lock()
	defer t.mu.Unlock()
	s.leave = leave
	return s
}

// acquire returns the session if it is open and owner's, held until release, else nil.
func (t *sessions) acquire(id, owner string) *session {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.byID[id]
	if s == nil || s.owner != owner {
		return nil
	}
	s.open++
	return s
}

func (t *sessions) release(s *session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.open--
	if s.open == 0 && t.byID[s.id] == s {
		s.since = time.Now()
		left := t.timeout
		if s.heard {
			left = min(left, goneAfter)
		}
		s.timer.Reset(left)
	}
}

// expire ends s if it is idle. If not, release sets the timer again.
func (t *sessions) expire(s *session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.open == 0 && t.byID[s.id] == s {
		t.endLaterLocked(s)
	}
}

func (t *sessions) endLaterLocked(s *session) {
	calls := t.removeLocked(s)
	t.ending.Go(func() { t.finish(s, calls) })
}

// end ends s and returns when its calls have returned.
func (t *sessions) end(s *session) {
	t.mu.Lock()
	calls := t.removeLocked(s)
	t.mu.Unlock()
	t.finish(s, calls)
}

// endAll ends every session. No request may be open or arrive.
func (t *sessions) endAll() {
	t.mu.Lock()
	for _, s := range t.byID {
		t.endLaterLocked(s)
	}
	t.mu.Unlock()
	t.ending.Wait()
}

// removeLocked takes s out of the table and returns the ids of its calls.
func (t *sessions) removeLocked(s *session) []json.RawMessage {
	delete(t.byID, s.id)
	s.timer.Stop()
	var ids []json.RawMessage
	for _, c := range s.calls {
		ids = append(ids, c.id)
	}
	return ids
}

// finish ends the requests of a session that is no longer in the table, cancels its calls (closing the session
// would only wait for them), and closes it.
func (t *sessions) finish(s *session, calls []json.RawMessage) {
	s.cancel()
	t.mu.Lock()
	leave := s.leave
	t.mu.Unlock()
	if leave != nil {
		leave()
	}
	for _, id := range calls {
		t.cancelCall(s.id, id)
	}
	for ss := range s.server.Sessions() {
		if ss.ID() == s.id {
			ss.Close()
		}
	}
}
