package mailroom

import (
	"context"
	"slices"

	"pennypost/internal/mail"
	"pennypost/internal/room/fold"
	"pennypost/internal/room/journal"
)

// The text of a message is in memory only while someone is shown it, and while the journal has its event in its tail.
// To show messages, code first collects their other data from the state, under its lock; then, without the lock, it
// reads the texts from the journal by their sequence numbers. Meanwhile a message may move to the archive, where it
// is found by its id, or be erased: then it is left out, as if the erasure had been first.

// texts returns the messages at spots as the journal has them, or else the archive; nil for those that neither has.
func (r *Room) texts(ctx context.Context, spots []fold.Spot) ([]*mail.Message, error) {
	seqs := make([]mail.Seq, len(spots))
	for i, at := range spots {
		seqs[i] = at.Seq
	}
	events, err := r.journal.Read(ctx, seqs...)
	if err != nil {
		return nil, r.unavailable(err)
	}
	texts := make([]*mail.Message, len(spots))
	var moved []mail.ID
	for i, at := range spots {
		if texts[i] = at.In(events); texts[i] == nil {
			moved = append(moved, at.ID)
		}
	}
	c, ok := r.journal.(journal.Compacter)
	if !ok || len(moved) == 0 {
		return texts, nil
	}
	if events, err = c.ArchivedOf(ctx, moved...); err != nil {
		return nil, r.unavailable(err)
	}
	events = slices.DeleteFunc(events, func(e mail.Event) bool { return e.Message == nil })
	for i, at := range spots {
		if texts[i] == nil {
			texts[i] = at.In(events)
		}
	}
	return texts, nil
}

// complete puts the texts into items, whose other data are from the state, and returns those that were not erased
// meanwhile.
func (r *Room) complete(ctx context.Context, items []mail.Item) ([]mail.Item, error) {
	if len(items) == 0 {
		return items, nil
	}
	spots := make([]fold.Spot, len(items))
	for i := range items {
		spots[i] = fold.Spot{ID: items[i].ID, Seq: items[i].Seq}
	}
	texts, err := r.texts(ctx, spots)
	if err != nil {
		return nil, err
	}
	there := items[:0]
	for i := range items {
		it := &items[i]
		if m := texts[i]; m != nil {
			sent := it.Sent
			it.Message = *m
			// the sender's connection needed the key, and no one else
			it.Key, it.Sent, it.Same, it.Checked = "", sent, "", 0
		} else if !r.knows(it.ID) {
			continue
		} else {
			r.opts.Log.Error("text of a message not readable", "room", r.name, "message", it.ID, "seq", it.Seq)
			it.Body = unreadable
		}
		there = append(there, *it)
	}
	return there, nil
}

// unreadable replaces a text whose line has gone bad since the room was opened. The room still knows that there is
// such a message, and whose it is.
const unreadable = "(The text of this message can no longer be read from the disk. To check the room's files: " +
	"pennypost verify)"

// knows reports whether a message is hot or on its way to the archive.
func (r *Room) knows(id mail.ID) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.state.Records[id] != nil || r.state.Leaving[id] != nil
}

// completeOne is complete for one item, nil if there is none. It returns nil if that was erased meanwhile.
func (r *Room) completeOne(ctx context.Context, it *mail.Item) (*mail.Item, error) {
	if it == nil {
		return nil, nil
	}
	items, err := r.complete(ctx, []mail.Item{*it})
	if err != nil || len(items) == 0 {
		return nil, err
	}
	return &items[0], nil
}

// quote puts the texts into suggestions.
func (v *view) quote(ctx context.Context, list []mail.Suggestion) error {
	spots := make([]fold.Spot, len(list))
	v.read(func(s *fold.State, _ mail.Time) {
		for i := range list {
			spots[i].ID = list[i].ID // unless it is hot, it is in the archive by now
			if r := s.Records[list[i].ID]; r != nil {
				spots[i] = r.Spot()
			}
		}
	})
	if len(spots) == 0 {
		return nil
	}
	texts, err := v.texts(ctx, spots)
	for i, m := range texts {
		if m != nil {
			list[i].Body, list[i].Via = m.Body, m.Via
		}
	}
	return err
}
