package mailroom

import (
	"context"
	"slices"

	"pennypost/internal/mail"
	"pennypost/internal/room/check"
	"pennypost/internal/room/fold"
)

// Mark implements mail.Marker.
func (v *view) Mark(ctx context.Context, q mail.Marking) (mail.Marked, error) {
	if err := v.CheckMarking(q, v.now()); err != nil {
		return mail.Marked{}, err
	}
	out := mail.Marked{Marked: []mail.ID{}}
	var events []mail.Event
	var cold map[mail.ID]*fold.ArchivedRecord
	var refused error
	if err := v.withCold(ctx, q.IDs, func(s *fold.State, found map[mail.ID]*fold.ArchivedRecord) {
		cold = found
		events, refused = v.on(s, v.use()).Mark(q, cold, &out)
	}); err != nil {
		return out, err
	}
	if refused != nil || len(out.Marked) == 0 {
		return out, refused
	}
	last, err := v.commit(ctx, events...)
	if err != nil {
		return out, err
	}
	late, err := v.lateTakes(ctx, last, events, cold)
	if err != nil {
		return out, err
	}
	return out, v.takenFirst(append(v.lost(last, events), late...), &out)
}

// withCold calls f with the state and those of some messages that are in the archive.
func (r *Room) withCold(ctx context.Context, ids []mail.ID,
	f func(*fold.State, map[mail.ID]*fold.ArchivedRecord)) error {
	for missed := true; missed; {
		cold, err := r.cold(ctx, ids)
		if err != nil {
			return err
		}
		r.mu.RLock()
		if missed = r.state.Missed(ids, cold); !missed {
			f(r.state, cold)
		}
		r.mu.RUnlock()
	}
	return nil
}

// takenFirst removes from the answer the role mail that another took during this marking, and says who did, if
// nothing else was marked.
func (v *view) takenFirst(lost []*mail.Event, out *mail.Marked) (err error) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	for _, e := range lost {
		if e.Receipt == nil {
			continue
		}
		id := e.Receipt.Message
		out.Marked = slices.DeleteFunc(out.Marked, func(other mail.ID) bool { return other == id })
		out.NotYours = append(out.NotYours, id)
		err = check.TakenFirst(v.state.Records[id], id)
	}
	if len(out.Marked) > 0 {
		return nil
	}
	return err
}

// cold looks up those of some messages that are not in the mailboxes. It has nil for those that are not in the
// archive either.
func (r *Room) cold(ctx context.Context, ids []mail.ID) (map[mail.ID]*fold.ArchivedRecord, error) {
	r.mu.RLock()
	ids = slices.DeleteFunc(slices.Clone(ids), func(id mail.ID) bool { return r.state.Records[id] != nil })
	r.mu.RUnlock()
	if len(ids) == 0 {
		return nil, nil
	}
	cold, err := r.lookUp(ctx, ids...)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if cold[id] == nil {
			cold[id] = nil // it was looked up
		}
	}
	return cold, nil
}

// Note records those marks that readers made elsewhere and that change something, and returns how many that were.
// Unlike Mark it is no sign of life of the reader, who need not be on the roster. The caller vouches for the system
// in which they were made. Archived mail does not return to a mailbox, whatever its mark.
func (r *Room) Note(ctx context.Context, receipts []mail.Receipt) (int, error) {
	var events []mail.Event
	now := r.use()
	ids := make([]mail.ID, len(receipts))
	for i := range receipts {
		ids[i] = receipts[i].Message
	}
	if err := r.withCold(ctx, ids, func(s *fold.State, cold map[mail.ID]*fold.ArchivedRecord) {
		events = r.on(s, now).Note(receipts, cold)
	}); err != nil {
		return 0, err
	}
	last, err := r.commit(ctx, events...)
	return len(events) - len(r.lost(last, events)), err
}
