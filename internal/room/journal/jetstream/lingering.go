package jetstream

import (
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"sync"
	"time"

	"pennypost/internal/base/durable"
	"pennypost/internal/mail"
)

// logsKeep is how long after an erasure a server may still have the text in the log by which servers agree. They empty
// it by themselves, each at a tick of its own: nats-server 2.15.2 after 174 to 180 s, whatever else is written and
// asked for (measured by searching the files). There is no request for it, and nothing that says when it is done.
const logsKeep = 4 * time.Minute

// lingering are erased messages whose text the servers' own logs may still have.
type lingering struct {
	file string // "": they are forgotten at the end of the process

	mu      sync.Mutex
	left    []left
	written time.Time
}

// left is one of them.
type left struct {
	Room    string    `json:"room"`
	Message mail.ID   `json:"message"`
	Erased  mail.Time `json:"erased"`
	Until   mail.Time `json:"until"` // from when on no log has it, if all servers stay there
}

// open reads the file of what earlier processes have erased.
func (l *lingering) open(file string) error {
	if l.file = file; file == "" {
		return nil
	}
	text, err := durable.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(text, &l.left)
	}
	return err
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
	text, err := json.Marshal(l.left)
	if err != nil {
		return err
	}
	return durable.WriteFile(l.file, text, 0o600)
}

// settle forgets what no log has any more. While a server is not there, or nothing is known of one, its log may have
// what was not gone from it before: that begins anew when it is back.
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

// ForgetErased forgets erased messages that no log of a server has any more. It is to be called every second or so.
func (c *Cluster) ForgetErased(now time.Time) {
	silent, known := c.health.away()
	if err := c.lingering.settle(now, !known || len(silent) > 0); err != nil {
		c.log.Warn("when the servers' logs are rid of erased text is not written down", "err", err)
	}
}

// Lingering says of which erased messages the servers' own logs may still have the text; nil: of none.
func (c *Cluster) Lingering() *mail.Lingering {
	silent, _ := c.health.away()
	return c.lingering.status(silent)
}

// away returns the servers that are not heard. known is false if nothing is known of any.
func (w *watch) away() (silent []string, known bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, s := range w.servers {
		if !s.silent.IsZero() {
			silent = append(silent, name)
		}
		known = known || s.seen
	}
	slices.Sort(silent)
	return silent, known
}
