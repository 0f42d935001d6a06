package mailroom

import (
	"context"
	"slices"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
	"pennypost/internal/room/fold"
	"pennypost/internal/room/journal"
)

// One of the machines that have a room open looks after it: the keeper. It is the one that asked first when there was
// none, or when the previous one was not heard of. The journal decides, so all agree, and a machine that has been
// replaced without knowing does nothing that counts.

// How often a machine checks whether the room has a keeper, how often the keeper says that it is one, and how long
// after that another replaces it although its post office is there: it may have closed the room, or have lost it.
// With the ten seconds after which a machine is away, a room is without a keeper for less than fifteen.
const (
	upkeepEvery = 2 * time.Second
	upkeepSaid  = time.Hour
	upkeepLasts = 150 * time.Minute
)

// seekUpkeep makes this machine follow the room, and look after it if no other does, until ctx ends. Then it gives
// that up.
func (r *Room) seekUpkeep(ctx context.Context) {
	tick := time.NewTicker(upkeepEvery)
	defer tick.Stop()
	var seen mail.Seq // where the upkeep was last settled, and since when this machine knows
	var since time.Time
	for {
		r.mu.RLock()
		if at := r.state.UpkeepAt; at != seen || since.IsZero() {
			seen, since = at, time.Now()
		}
		events := r.upkeepEvents(time.Since(since))
		r.mu.RUnlock()
		if _, err := r.commit(ctx, events...); err != nil && ctx.Err() == nil {
			r.opts.Log.Debug("upkeep not requested", "room", r.name, "err", err)
		}
		select {
		case <-tick.C:
			continue
		case <-ctx.Done():
		}
		break
	}
	r.restFromUpkeep(context.WithoutCancel(ctx))
}

// upkeepEvents returns the events by which this machine follows the room, or begins to look after it, if that is due.
// ago is how long ago the upkeep was last settled.
func (r *Room) upkeepEvents(ago time.Duration) (events []mail.Event) {
	s, me := r.state, r.opts.Machine
	if _, known := slices.BinarySearch(s.Machines, me); !known {
		events = append(events, mail.Event{Machine: &mail.MachineChange{Name: me, Follows: true}})
	}
	if s.Rules[me] != mail.RulesNow {
		events = append(events, mail.Event{Machine: &mail.MachineChange{Name: me, Rules: mail.RulesNow}})
	}
	events = append(events, r.keyEvents()...)
	mine := s.Upkeep == me && ago >= upkeepSaid
	vacant := s.Upkeep == "" || s.Upkeep != me && (r.opts.Away(s.Upkeep) || ago >= upkeepLasts)
	if mine || vacant {
		events = append(events, mail.Event{Machine: &mail.MachineChange{Name: me, Upkeep: true, After: s.UpkeepAt}})
	}
	return events
}

// restFromUpkeep leaves the room to others, if this machine looks after it.
func (r *Room) restFromUpkeep(ctx context.Context) {
	r.mu.RLock()
	mine, at := r.state.Upkeep == r.opts.Machine, r.state.UpkeepAt
	r.mu.RUnlock()
	if !mine {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, upkeepEvery)
	defer cancel()
	if _, err := r.commit(ctx, mail.Event{Machine: &mail.MachineChange{Upkeep: true, After: at,
		By: mail.System}}); err != nil {
		r.opts.Log.Debug("upkeep not released", "room", r.name, "err", err)
	}
}

// compactToMark rewrites this machine's file up to the last checkpoint, which another may have written. It waits
// while the files of this machine's bridges lack an event that has left the mailboxes.
func (r *Room) compactToMark(ctx context.Context) error {
	compacter, ok := r.journal.(journal.Compacter)
	if !ok || r.opts.Machine == "" {
		return nil
	}
	r.keeping.Lock()
	defer r.keeping.Unlock()
	written := r.opts.Written()
	r.mu.RLock()
	s := r.state
	mark, worth := s.Marked, s.Stale > garbageLimit
	for id, rec := range s.Leaving {
		if s.Trims[id] > mark {
			continue
		}
		if worth = true; rec.Seq > written {
			worth = false
			break
		}
	}
	r.mu.RUnlock()
	if !worth {
		return nil
	}
	return r.compact(ctx, compacter, mark, written)
}

// sign is the last sign of life of a session that this machine knows of, and since when it does.
type sign struct {
	heard   mail.Seq
	parted  bool
	noticed time.Time
}

// lapsedSomewhere is endLapsed in a room that several machines share. Each judges its own sessions by their
// processes; the keeper judges those of others by how long it has not heard of them itself, however their clocks go.
// A machine that is there says every two minutes that its sessions live, so one that does not for longer than
// lapseElsewhere has forgotten them.
func (r *Room) lapsedSomewhere() (events []mail.Event) {
	now := r.now()
	r.mu.RLock()
	defer r.mu.RUnlock()
	known := r.signs
	r.signs = make(map[*fold.Member]sign, len(known))
	for _, m := range r.state.Listed {
		if m.Session == "" && !m.Parted() {
			continue
		}
		last, found := known[m]
		if !found || last.heard != m.Heard || last.parted != m.Parted() {
			last = sign{m.Heard, m.Parted(), time.Now()}
		}
		r.signs[m] = last
		if c := r.judge(m, time.Since(last.noticed)); c != nil {
			events = append(events, mail.Event{At: now, Agent: c})
		}
	}
	return events
}

// lapseElsewhere is how long a session of another machine that is there must be silent before the keeper says that it
// has ended.
const lapseElsewhere = 5 * policy.SessionLapse

// lapsedElsewhere reports whether this machine must say that a session of another one has ended.
func (r *Room) lapsedElsewhere(m *fold.Member, silent time.Duration) bool {
	limit := policy.SessionLapse
	if !r.opts.Away(m.Machine) {
		limit = lapseElsewhere
	}
	return r.state.Upkeep == r.opts.Machine && silent >= limit
}

// judge returns the change to journal for a session that was silent for a time; nil if there is none.
func (r *Room) judge(m *fold.Member, silent time.Duration) *mail.AgentChange {
	c := &mail.AgentChange{Name: m.Name, Session: m.Session, By: mail.System, Silent: m.Heard}
	if !r.rules.Here(m) {
		if c.End = r.lapsedElsewhere(m, silent); c.End {
			return c
		}
		return nil
	}
	alive := m.Process != "" && r.opts.Alive(m.Process)
	switch {
	case m.State != mail.Gone && silent < policy.SessionLapse-policy.Heartbeat:
		return nil
	case m.Parted() && (alive || !m.State.Live() || silent < policy.SessionLapse):
		return nil
	case m.State != mail.Gone && alive:
		c.Process, c.Join, c.Machine, c.Silent = m.Process, m.Joined, r.opts.Machine, 0
		return c
	case m.Live(0) && silent < policy.SessionLapse:
		return nil
	}
	c.End = true
	return c
}
