package mailroom

import (
	"context"
	"sync"

	"pennypost/internal/mail"
)

// sending is the idempotency keys that are being sent with. Whoever repeats a send whose answer is late waits here
// for the first attempt: apply would ignore the second message, but by then it would stand in the journal, where
// watchers, bridges and the archive see it.
type sending struct {
	mu   sync.Mutex
	keys map[sentKey]chan struct{} // closed when the send is over
}

// claim returns when nobody else sends with this key, and keeps others from it until release is called.
func (s *sending) claim(ctx context.Context, k sentKey) (release func(), err error) {
	for {
		s.mu.Lock()
		other := s.keys[k]
		if other == nil {
			break
		}
		s.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, &mail.Error{Code: mail.Timeout,
				Msg: "this key is being sent with already, and the time was over before that had ended",
				Err: ctx.Err()}
		}
	}
	defer s.mu.Unlock()
	over := make(chan struct{})
	if s.keys == nil {
		s.keys = make(map[sentKey]chan struct{})
	}
	s.keys[k] = over
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.keys, k)
		close(over)
	}, nil
}
