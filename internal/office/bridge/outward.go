package bridge

import (
	"context"
	"slices"

	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

// mirror writes the room's events into the files until ctx ends.
func (b *Bridge) mirror(ctx context.Context) {
	var w mail.Watch
	if !b.insist(ctx, func() (err error) {
		w, err = b.watch(ctx)
		return err
	}) {
		return
	}
	defer w.Close()
	for {
		events, err := w.Next(ctx)
		if err != nil {
			return // ctx has ended or the room is closed
		}
		if !b.insist(ctx, func() (err error) {
			events, err = b.outward(ctx, events)
			return err
		}) {
			return
		}
	}
}

// insist retries with growing back-off until try succeeds. It reports whether that happened before ctx ended.
func (b *Bridge) insist(ctx context.Context, try func() error) bool {
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		if b.attempt(ctx, try) == nil {
			return true
		}
		if !b.kick.Await(ctx, wait) {
			return false
		}
	}
}

// attempt is a try to write with a number, so that Sync can tell which attempts began before its call.
func (b *Bridge) attempt(ctx context.Context, try func() error) error {
	b.mu.Lock()
	b.begun++
	number := b.begun
	b.mu.Unlock()
	err := try()
	if b.outcome(ctx, out, err) != nil {
		b.change(func(*mail.BridgeStatus) { b.failed = number })
	}
	return err
}

// watch follows the room from the cursor. A cursor in the future belongs to a journal that was replaced.
func (b *Bridge) watch(ctx context.Context) (mail.Watch, error) {
	room := b.opts.Room.As(mail.System)
	w, err := room.Watch(ctx, b.Status().Seq)
	if mail.CodeOf(err) == mail.Invalid {
		b.change(func(s *mail.BridgeStatus) { s.Seq = 0 })
		w, err = room.Watch(ctx, 0)
	}
	return w, err
}

// outward writes events into the files and returns those that are not there yet.
func (b *Bridge) outward(ctx context.Context, events []mail.Event) ([]mail.Event, error) {
	changes, err := b.changes(ctx, events)
	if err != nil {
		return events, err
	}
	n := 0
	err = b.use(ctx, func(f dialect.Files) (err error) {
		n, err = f.Write(ctx, changes)
		return err
	})
	if err != nil && n == len(changes) {
		_ = b.outcome(ctx, part, err)
		err = nil
	}
	if n == 0 {
		return events, err
	}
	seq := events[n-1].Seq
	if saveErr := b.saveCursor(seq); err == nil {
		err = saveErr
	}
	b.change(func(s *mail.BridgeStatus) {
		s.Seq = seq
		for i := range events[:n] {
			if e := &events[i]; e.Message != nil || e.Receipt != nil {
				s.Exported++
			}
		}
	})
	return events[n:], err
}

// changes adds to events the present state of their messages. A foreign mailbox knows only one room: recipients in
// other rooms are omitted, and so is a message with no other recipients.
func (b *Bridge) changes(ctx context.Context, events []mail.Event) ([]dialect.Change, error) {
	user := b.opts.Room.As(mail.User)
	list := make([]dialect.Change, len(events))
	for i, e := range events {
		if e.Message != nil {
			m := *e.Message
			if m.To = toHere(m.To); len(m.To) == 0 {
				list[i].Event = mail.Event{Seq: e.Seq, At: e.At}
				continue
			}
			e.Message = &m
		}
		list[i].Event = e
		var id mail.ID
		switch {
		case e.Message != nil:
			id = e.Message.ID
		case e.Receipt != nil:
			id = e.Receipt.Message
		default:
			continue
		}
		it, err := user.Message(ctx, id)
		switch {
		case err == nil:
			it.To = toHere(it.To)
			list[i].Item = &it
		case mail.CodeOf(err) != mail.NotFound:
			return nil, err
		}
	}
	return list, nil
}

// toHere returns the addresses that are not in other rooms.
func toHere(to []mail.Address) []mail.Address {
	return slices.DeleteFunc(slices.Clone(to), func(a mail.Address) bool { return a.Kind() == mail.FromFar })
}
