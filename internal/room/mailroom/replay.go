package mailroom

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"pennypost/internal/base/pause"
	"pennypost/internal/mail"
	"pennypost/internal/room/fold"
	"pennypost/internal/room/journal"
)

// replay rebuilds the state from the whole journal, and returns the cursor that continues from there. names is a
// checkpoint whose names hold from the beginning. If a checkpoint shows two names to be one agent's after events were
// applied to two, replay begins again with that checkpoint: later events add names, and never change them. The same
// happens if a checkpoint says that an event did not count, and it counted because another was erased meanwhile, or
// the other way round.
func (r *Room) replay(ctx context.Context, names *mail.Checkpoint) (journal.Cursor, error) {
	r.state = fold.NewState(r.opts.TTL)
	r.state.End = r.journal.Last()
	if names != nil {
		r.state.NameAll(names)
		if len(names.Machines) > 0 {
			r.state.Losers, r.state.Decided = names.Void, names.After
		}
	}
	var unsure []mail.Seq
	c := r.events()
	for r.state.Seq < r.state.End {
		events, err := c.Next(ctx)
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		for i := range events {
			told := events[i].Checkpoint
			if told != nil && (names == nil || told.After > names.After) &&
				(r.state.Divides(told) || overlap(unsure, told.Void) || r.state.Misses(told)) {
				c.Close()
				return r.replay(ctx, told)
			}
			if r.state.Apply(&events[i]) && !r.state.Exact && r.opts.Machine != "" {
				unsure = append(unsure, events[i].Seq)
			}
		}
	}
	return c, nil
}

// overlap reports whether two ordered lists have a sequence number in common.
func overlap(a, b []mail.Seq) bool {
	return slices.ContainsFunc(b, func(seq mail.Seq) bool { return fold.IsAmong(a, seq) })
}

// events returns all events, of which the state keeps only copies, in the fastest way that the journal has.
func (r *Room) events() journal.Cursor {
	if j, ok := r.journal.(journal.Replayer); ok {
		return j.Replay()
	}
	return r.journal.Follow(0)
}

// follow applies events that are appended from now on. While the journal cannot be read it retries, at longer and
// longer intervals: until then, calls that wait for their events are told that they failed.
func (r *Room) follow(ctx context.Context, c journal.Cursor) {
	defer close(r.done)
	wait := firstPause
	for {
		events, err := c.Next(ctx)
		r.mu.Lock()
		if outOfOrder := r.apply(events); outOfOrder != nil {
			err = outOfOrder
		}
		applied, arrived := r.applied, r.state.Arrived
		r.applied, r.state.Arrived = make(chan struct{}), nil
		seq := r.state.Seq
		r.broken = err
		r.mu.Unlock()
		// All woken goroutines take the lock. Go runs the last one woken first, and those wait for mail.
		close(applied)
		r.opts.Observe.Changed()
		for _, c := range arrived {
			c.Give()
		}
		if err == nil {
			wait = firstPause
			continue
		}
		c.Close()
		switch {
		case ctx.Err() != nil, errors.Is(err, journal.ErrClosed):
			return
		case errors.Is(err, errMissing):
			close(r.reopen)
			return
		}
		r.opts.Log.Error("cannot read the room's journal", "room", r.name, "err", err, "again", wait)
		if !pause.For(ctx, wait) {
			return
		}
		wait = min(2*wait, lastPause)
		c = r.journal.Follow(seq)
		r.mu.Lock()
		r.broken = nil // the next waiter finds out whether that is still so
		r.mu.Unlock()
	}
}

// apply makes appended events part of the state. The caller holds it.
func (r *Room) apply(events []mail.Event) (err error) {
	marked, upkeepAt := r.state.Marked, r.state.UpkeepAt
	for i := range events {
		if r.opts.Machine != "" && events[i].Seq != r.state.Seq+1 {
			err = r.missing()
			break
		}
		if r.state.Apply(&events[i]) {
			r.waits.Store(len(r.state.Scheduled) > 0) // before hear wakes the goroutine that looks at it
			r.hear(&events[i])
		}
	}
	if r.state.Ended {
		r.state.Ended = false
		r.review()
	}
	if r.opts.Machine != "" && (r.state.Marked != marked || r.state.UpkeepAt != upkeepAt) {
		r.due.Give()
	}
	if r.crowd > 0 && len(r.state.Records) >= r.crowd {
		r.crowded.Give()
	}
	return err
}

// Reopen returns a channel that is closed when the room must be closed and opened again: others have erased events
// that this machine, which lagged, had not read yet. Their effects are known again after a future checkpoint; until
// the room is opened again it stays as it was.
func (r *Room) Reopen() <-chan struct{} { return r.reopen }

var errMissing = errors.New("event missing in the journal")

// missing is the error for calls until the room is opened again.
func (r *Room) missing() error {
	return &mail.Error{Code: mail.Unavailable, Err: errMissing,
		Msg: fmt.Sprintf("room %s is being read again, because mail was erased before this machine had read it. "+
			"Try again in a moment", r.name)}
}
