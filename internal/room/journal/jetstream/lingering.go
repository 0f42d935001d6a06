package jetstream

import (
	"slices"
	"sync"
	"time"

	"pennypost/internal/base/kept"
	"pennypost/internal/mail"
)

// logsKeep is how long after an erasure the text may still be in a server's Raft log. nats-server 2.15.2 compacts that
// log by itself after 174 to 180 s, whatever else is written (measured by searching the files). No request makes it
// sooner, and nothing reports that it is done.
const logsKeep = 4 * time.Minute

// lingering lists erased messages whose text may still be in the servers' Raft logs.
type lingering struct {
	file string // "": the list is not kept beyond the process

	mu      sync.Mutex
	left    []left
	written time.Time
}

// left is one of these messages.
type left struct {
	Room    string    `json:"room"`
	Message mail.ID   `json:"message"`
	Erased  mail.Time `json:"erased"`
	Until   mail.Time `json:"until"` // when no log has it any more, if all servers stay up
}

// open reads the file with the erasures of earlier processes.
func (l *lingering) open(file string) error {
	if l.file = file; file == "" {
		return nil
	}
	return kept.Load(file, &l.left)
}

// add notes that a message is erased from the streams now, or again.
func (l *lingering) add(room string, id mail.ID, now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	erased := mail.TimeOf(now)
	l.left = slices.DeleteFunc(l.left, func(e left) bool {
		same := e.Room == room && e.Message == id
		if same {
			erased = e.Erased
		}
		return same
	})
	l.left = append(l.left, left{room, id, erased, mail.TimeOf(now.Add(logsKeep))})
	return l.write(now)
}

// write replaces the file. The caller holds mu.
func (l *lingering) write(now time.Time) error {
	l.written = now
	if l.file == "" {
		return nil
	}
	return kept.Save(l.file, l.left)
}

// settle drops the entries whose time is over. The log of a server that is away is not compacted, so the time starts
// again when it is back.
func (l *lingering) settle(now time.Time, away bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	changed := false
	l.left = slices.DeleteFunc(l.left, func(e left) bool {
		over := !away && !now.Before(e.Until.Std())
		changed = changed || over
		return over
	})
	if away {
		for i := range l.left {
			l.left[i].Until = mail.TimeOf(now.Add(logsKeep))
		}
		changed = changed || len(l.left) > 0 && now.Sub(l.written) > logsKeep/4
	}
	if !changed {
		return nil
	}
	return l.write(now)
}

// status says what lingers; nil: nothing does.
func (l *lingering) status(servers []string) *mail.Lingering {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.left) == 0 {
		return nil
	}
	s := &mail.Lingering{Messages: len(l.left), Since: l.left[0].Erased, Servers: servers}
	for _, e := range l.left {
		s.Since, s.Until = min(s.Since, e.Erased), max(s.Until, e.Until)
	}
	return s
}

// ForgetErased drops the erased messages that are in no server's log any more. Call it every second or so.
func (c *Cluster) ForgetErased(now time.Time) {
	silent, known := c.health.away()
	if err := c.lingering.settle(now, !known || len(silent) > 0); err != nil {
		c.log.Warn("the list of erased messages that may be in the servers' logs is not saved", "err", err)
	}
}

// Lingering reports the erased messages whose text may still be in the servers' logs; nil if there are none.
func (c *Cluster) Lingering() *mail.Lingering {
	silent, _ := c.health.away()
	return c.lingering.status(silent)
}

// away returns the silent servers among those that keep anything. known is false if no server's state is known.
func (w *watch) away() (silent []string, known bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, s := range w.servers {
		if !s.silent.IsZero() && w.keeps(name) {
			silent = append(silent, name)
		}
		known = known || s.seen
	}
	slices.Sort(silent)
	return silent, known
}

// keeps reports whether a server has a part of the list of machines or of a room. The caller holds mu.
func (w *watch) keeps(name string) bool {
	if w.canary.has(name) {
		return true
	}
	for _, g := range w.rooms {
		if g.has(name) {
			return true
		}
	}
	return false
}
