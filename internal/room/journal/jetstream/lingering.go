package jetstream

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"pennypost/internal/base/kept"
	"pennypost/internal/base/natsfiles"
	"pennypost/internal/mail"
)

// logsKeep is how long after an erasure the text may still be in a server's Raft log. nats-server 2.15.2 compacts that
// log by itself every two to three minutes, whatever else is written, and a server that was started again needed two
// of these times: 4:47 was the longest seen. No request makes it sooner. Servers of a cluster of Pennypost look into
// their files, and an erased text counts as there until none finds it. Of other servers nothing reports it, and this
// time must suffice.
const logsKeep = 7 * time.Minute

// How often, and how long, servers are asked to look into their files. What they find for long is asked less often.
const (
	searchEvery    = 15 * time.Second
	searchSeldom   = 20 // the most searches in as much time as has passed since the last erasure
	searchPatience = 10 * time.Second
)

// lingering lists erased messages whose text may still be in the servers' Raft logs.
type lingering struct {
	file string // "": the list is not kept beyond the process

	mu       sync.Mutex
	left     []left
	written  time.Time
	searched time.Time // when servers were last asked
}

// left is one of these messages.
type left struct {
	Room    string    `json:"room"`
	Message mail.ID   `json:"message"`
	Erased  mail.Time `json:"erased"`
	Until   mail.Time `json:"until"` // when no log has it any more, if all servers stay up and none finds it
	// IDs are those of the messages of the stream that had the text. A log without them is without the text.
	IDs     []string `json:"ids,omitempty"`
	Hidden  bool     `json:"hidden,omitzero"`  // a log without the IDs may have the text, compressed
	Pending bool     `json:"pending,omitzero"` // a server may not have deleted it from its stream yet
}

// open reads the file with the erasures of earlier processes.
func (l *lingering) open(file string) error {
	if l.file = file; file == "" {
		return nil
	}
	return kept.Load(file, &l.left)
}

// add notes that a message is erased from the streams now, or again. Erased and Until of e are set here.
func (l *lingering) add(e left, now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.Erased, e.Until = mail.TimeOf(now), mail.TimeOf(now.Add(logsKeep))
	l.left = slices.DeleteFunc(l.left, func(old left) bool {
		same := old.Room == e.Room && old.Message == e.Message
		if same {
			e.Erased = old.Erased
			e.IDs = slices.Compact(slices.Sorted(slices.Values(slices.Concat(old.IDs, e.IDs))))
			e.Hidden = e.Hidden || old.Hidden
		}
		return same
	})
	l.left = append(l.left, e)
	return l.write(now)
}

// deleted notes that all servers have deleted a message from their streams.
func (l *lingering) deleted(room string, id mail.ID, now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.left {
		if e := &l.left[i]; e.Room == room && e.Message == id {
			e.Pending, e.Until = false, mail.TimeOf(now.Add(logsKeep))
			return l.write(now)
		}
	}
	return nil
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

// toFind returns the ids to search for now, those of the oldest erasures; nil if it is not time yet.
func (l *lingering) toFind(now time.Time) (ids []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.searched) < l.pause(now) {
		return nil
	}
	l.searched = now
	for _, e := range l.left {
		if len(ids)+len(e.IDs) <= natsfiles.MaxMessages {
			ids = append(ids, e.IDs...)
		}
	}
	return ids
}

// pause is the time between two searches. The caller holds mu.
func (l *lingering) pause(now time.Time) time.Duration {
	var last mail.Time
	for _, e := range l.left {
		last = max(last, e.Erased)
	}
	return max(searchEvery, now.Sub(last.Std())/searchSeldom)
}

// looked notes what a search of the logs has found. all: every server has answered.
func (l *lingering) looked(ids, found []string, all bool, now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := slices.Clone(l.left)
	l.left = slices.DeleteFunc(l.left, func(e left) bool {
		seen := !e.Hidden && !e.Pending && len(e.IDs) > 0 && subset(e.IDs, ids)
		return all && seen && !slices.ContainsFunc(found, e.has)
	})
	for i := range l.left {
		if e := &l.left[i]; slices.ContainsFunc(found, e.has) {
			e.Until = max(e.Until, mail.TimeOf(now.Add(2*l.pause(now))))
		}
	}
	until := func(a, b left) bool { return a.Until == b.Until }
	if slices.EqualFunc(l.left, before, until) {
		return nil
	}
	return l.write(now)
}

func (e *left) has(id string) bool { return slices.Contains(e.IDs, id) }

// subset reports whether all of some ids are among others.
func subset(some, others []string) bool {
	return !slices.ContainsFunc(some, func(id string) bool { return !slices.Contains(others, id) })
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
		c.logLingering(err)
	}
	if ids := c.lingering.toFind(now); len(ids) > 0 && known {
		c.running.Go(func() {
			found, all := c.search(ids)
			if err := c.lingering.looked(ids, found, all, now); err != nil {
				c.logLingering(err)
			}
		})
	}
}

func (c *Cluster) logLingering(err error) {
	c.log.Warn("list of erased messages that may be in the servers' logs not saved", "err", err)
}

// search asks the servers to look for messages in their logs. all reports whether every server that has a part of
// anything answered.
func (c *Cluster) search(ids []string) (found []string, all bool) {
	ctx, cancel := context.WithTimeout(c.ctx, searchPatience)
	defer cancel()
	request, err := json.Marshal(natsfiles.Question{IDs: ids})
	if err != nil {
		return nil, false
	}
	missing := c.health.keepers()
	if len(missing) == 0 {
		return nil, false
	}
	askAll(ctx, c.nc, natsfiles.Subject, request, func(text []byte) (more bool) {
		var a natsfiles.Answer
		if json.Unmarshal(text, &a) == nil {
			found = append(found, a.Found...)
			missing = slices.DeleteFunc(missing, func(name string) bool { return name == a.Server })
		}
		return len(missing) > 0
	})
	return found, len(missing) == 0
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

// keepers returns the servers that have a part of the list of machines or of a room.
func (w *watch) keepers() (names []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name := range w.servers {
		if w.keeps(name) {
			names = append(names, name)
		}
	}
	return names
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
