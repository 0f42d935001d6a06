package mailroom

import (
	"sync"
	"time"

	"pennypost/internal/mail"
)

// handoverTime is how long a message that a session is being told of is not told it again by another call. A hook has
// handed it over, and marked it, within one second, or gives up.
const handoverTime = 2 * time.Second

// handover knows which messages are on their way to which session. Clients run the hooks of several tools at a time,
// which would all be given the same mail. It is forgotten with the process, and what was not handed over is told
// later.
type handover struct {
	mu    sync.Mutex
	until map[handoverKey]mail.Time
}

type handoverKey struct {
	who     *member
	session string
	mail    *record
}

// take returns those of news that are not on their way to m, at most limit, and notes that they are now. more is how
// many others there are.
func (t *handover) take(m *member, news []*record, limit int, now mail.Time) (taken []*record, more int) {
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
			t.until[k] = now.Add(handoverTime)
			taken = append(taken, r)
		}
	}
	return taken, more
}
