package mailroom

import (
	"context"
	"iter"
	"slices"

	"pennypost/internal/mail"
	"pennypost/internal/room/fold"
)

// Export implements mail.Keeper.
func (v *view) Export(ctx context.Context) iter.Seq2[mail.Item, error] {
	return func(yield func(mail.Item, error) bool) {
		var ids []mail.ID
		hot := make(map[mail.ID]bool)
		v.read(func(s *fold.State, _ mail.Time) {
			for _, r := range s.Order {
				ids = append(ids, r.Msg.ID)
				hot[r.Msg.ID] = true
			}
		})
		// A message that moves to the archive meanwhile is exported among the hot ones.
		cold := func(h *fold.Header, _ mail.Seq, _ *mail.Message) bool { return !hot[h.ID] }
		for rec, err := range v.archivedRecords(ctx, fold.Reach{}, cold) {
			if err != nil {
				yield(mail.Item{}, err)
				return
			}
			if it, _ := v.archivedItem(rec, nil); !yield(it, nil) {
				return
			}
		}
		for some := range slices.Chunk(ids, lookUps) {
			items, err := v.exported(ctx, some)
			if err != nil {
				yield(mail.Item{}, err)
				return
			}
			for _, it := range items {
				if !yield(it, nil) {
					return
				}
			}
		}
	}
}

// exported returns messages that were hot when the export began, in order, except those that were erased meanwhile.
func (v *view) exported(ctx context.Context, ids []mail.ID) (items []mail.Item, err error) {
	var moved []mail.ID
	v.read(func(s *fold.State, now mail.Time) {
		for _, id := range ids {
			if r := s.Records[id]; r != nil {
				it := v.sight(s).Item(r, v.on(s, now).Me(), now)
				it.Deliveries = v.sight(s).Deliveries(r, now)
				items = append(items, it)
			} else {
				moved = append(moved, id)
			}
		}
	})
	if items, err = v.complete(ctx, items); err != nil || len(moved) == 0 {
		return items, err
	}
	cold, err := v.lookUp(ctx, moved...)
	for _, rec := range cold {
		it, _ := v.archivedItem(rec, nil)
		items = append(items, it)
	}
	slices.SortFunc(items, bySeq)
	return items, err
}
