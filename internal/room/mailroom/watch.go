package mailroom

import (
	"cmp"
	"context"

	"pennypost/internal/base/pause"
	"pennypost/internal/mail"
	"pennypost/internal/room/fold"
	"pennypost/internal/room/journal"
)

// Wait implements mail.Watcher.
func (v *view) Wait(ctx context.Context, q mail.WaitQuery) (mail.Item, error) {
	defer v.watch()()
	v.touch(ctx)
	m, arrived, err := v.enlist(q)
	if err != nil {
		return mail.Item{}, err
	}
	defer v.discharge(m, arrived)
	for {
		if it, err := v.firstUnread(ctx, m, q); it != nil {
			return *it, nil
		} else if err != nil {
			return mail.Item{}, err
		}
		v.mu.RLock()
		broken := v.broken
		v.mu.RUnlock()
		if broken != nil {
			return mail.Item{}, v.unavailable(broken)
		}
		select {
		case <-arrived:
		case <-v.done:
		case <-ctx.Done():
			return mail.Item{}, &mail.Error{Code: mail.Timeout,
				Msg: "no such message arrived in time; later ones wait in the mailbox", Err: ctx.Err()}
		}
	}
}

// enlist registers a wait with the caller's mailbox.
func (v *view) enlist(q mail.WaitQuery) (*fold.Member, pause.Nudge, error) {
	arrived := pause.NewNudge()
	v.mu.Lock()
	defer v.mu.Unlock()
	m := v.on(v.state, v.now()).Me()
	if m == nil {
		now := v.on(v.state, v.now())
		return nil, nil, cmp.Or(now.NotPerson(), now.NoAgent(v.Who))
	}
	if err := v.state.Reached(q.After); err != nil {
		return nil, nil, err
	}
	if m.Waiters == nil {
		m.Waiters = make(map[pause.Nudge]mail.WaitQuery)
	}
	m.Waiters[arrived] = q
	return m, arrived, nil
}

func (v *view) discharge(m *fold.Member, arrived pause.Nudge) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(m.Waiters, arrived)
}

// firstUnread returns the message that ends a wait, nil if there is none. A message erased at this moment ends none,
// and the search continues after it.
func (v *view) firstUnread(ctx context.Context, m *fold.Member, q mail.WaitQuery) (*mail.Item, error) {
	var it *mail.Item
	v.read(func(s *fold.State, now mail.Time) {
		unread := m.Unread.Within(q.After, 0)
		for r := range unread.Alive(false, now) {
			// A hook may have handed over an explicitly requested answer before the wait began.
			known := q.News && q.ReplyTo == "" && r.HandedIn(m)
			if fold.Awaited(q, r) && !known && !r.Withdrawn() && s.Visible(r, m, now) {
				it = new(v.sight(s).Item(r, m, now))
				return
			}
		}
	})
	full, err := v.completeOne(ctx, it)
	if it != nil && full == nil && err == nil {
		return v.firstUnread(ctx, m, q)
	}
	return full, err
}

// Watch implements mail.Watcher.
func (v *view) Watch(ctx context.Context, after mail.Seq) (mail.Watch, error) {
	v.touch(ctx)
	var err error
	v.read(func(s *fold.State, _ mail.Time) { err = s.Reached(after) })
	if err != nil {
		return nil, err
	}
	done := func() {}
	if v.Who != mail.System { // a watch of the post office itself is no use of the room
		done = v.watch()
	}
	return &watch{cursor: v.journal.Follow(after), room: v.Room, person: v.isPerson(), done: done}, nil
}

// Shown returns the sequence number of the last event that a watch shows.
func (r *Room) Shown() mail.Seq {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.state.Shown
}

// watch shows a journal to those who must not see its secrets.
type watch struct {
	cursor journal.Cursor
	room   *Room
	person bool // watches
	done   func()
}

// Next implements mail.Watch.
func (w *watch) Next(ctx context.Context) ([]mail.Event, error) {
	for {
		events, err := w.cursor.Next(ctx)
		if err != nil {
			return nil, w.room.unavailable(err)
		}
		// An observer of an event must find its effect when it asks, so the state must not be behind the events that
		// a watch has shown. If ctx ends meanwhile the events are still shown: they would be lost otherwise.
		_ = w.room.await(ctx, events[len(events)-1].Seq)
		if shown := w.room.publish(events, w.person); len(shown) > 0 {
			return shown, nil
		}
	}
}

// publish removes data that is not for everyone: hashes of tokens, idempotency keys, and checkpoints, which repeat
// earlier events; events that did not count; messages that were erased and are still in the file; and, except for the
// person, the content of clients' dialogs.
func (r *Room) publish(events []mail.Event, toPerson bool) []mail.Event {
	r.mu.RLock()
	defer r.mu.RUnlock()
	out := make([]mail.Event, 0, len(events))
	for _, e := range events {
		switch {
		case e.Checkpoint != nil, e.Machine != nil, r.state.IsVoid(e.Seq):
			continue
		case e.Agent != nil && e.Agent.TokenSum != "":
			change := *e.Agent
			change.TokenSum = ""
			e.Agent = &change
		case e.Dialog != nil && !toPerson:
			change := *e.Dialog
			change.Dialog = unnamed(change.Dialog)
			e.Dialog = &change
		case e.Schedule != nil: // its content is no message yet
			change := *e.Schedule
			change.Draft, change.Entry, change.Right = nil, nil, mail.Right{}
			e.Schedule = &change
		case e.Message != nil && r.state.Erased[e.Message.ID] != 0:
			e.Message = nil
		case e.Message != nil:
			m := *e.Message
			if m.Key, m.Same, m.Checked = "", "", 0; m.Sent == 0 {
				m.Sent = e.At
			}
			e.Message = &m
		}
		out = append(out, e)
	}
	return out
}

// Close implements mail.Watch.
func (w *watch) Close() error {
	w.done()
	return w.cursor.Close()
}
