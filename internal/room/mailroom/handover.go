package mailroom

import (
	"sync"

	"pennypost/internal/mail"
	"pennypost/internal/room/fold"
)

// handover knows which messages are on their way to which session. Clients run the hooks of several tools at a time,
// which would all be given the same mail. It is lost with the process, and mail that was not handed over is told
// later.
type handover struct {
	mu    sync.Mutex
	until map[handoverKey]mail.Time
}

type handoverKey struct {
	who     *fold.Member
	session string
	mail    *fold.Record
}

// take returns those of news that are not on their way to m, at most limit, and records that they are now. more is
// how many others there are.
func (t *handover) take(m *fold.Member, news []*fold.Record, limit int, now mail.Time,
) (taken []*fold.Record, more int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for k, until := range t.until {
		if until <= now {
			delete(t.until, k)
		}
	}
	for _, r := range news {
		k := handoverKey{m, m.Session, r}
		switch {
		case t.until[k] > now:
		case len(taken) == limit:
			more++
		default:
			if t.until == nil {
				t.until = make(map[handoverKey]mail.Time)
			}
			t.until[k] = now.Add(fold.HandoverTime)
			taken = append(taken, r)
		}
	}
	return taken, more
}
