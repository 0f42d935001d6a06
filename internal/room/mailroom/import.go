package mailroom

import (
	"context"
	"slices"

	"pennypost/internal/mail"
	"pennypost/internal/room/check"
	"pennypost/internal/room/fold"
	"pennypost/internal/room/journal"
)

// importBatch is how many messages share an append. It limits how much must be repeated after a crash in the middle
// of an import.
const importBatch = 500

// Import implements mail.Keeper.
func (v *view) Import(ctx context.Context, items []mail.Item) (mail.Imported, error) {
	var out mail.Imported
	if err := v.NeedUser("import"); err != nil {
		return out, err
	}
	for i := range items {
		if err := v.CheckImport(&items[i]); err != nil {
			return out, mail.Errorf(mail.CodeOf(err), "message %d of the import: %w; nothing was imported", i+1, err)
		}
	}
	known, err := v.knownIDs(ctx, items)
	if err != nil {
		return out, err
	}
	var events []mail.Event
	pending := make(map[mail.ID]bool) // messages of events
	add := func() error {
		last, err := v.commit(ctx, events...)
		for _, e := range v.lost(last, events) {
			if e.Message != nil { // another machine has imported it at the same time
				out.Added, out.Skipped = out.Added-1, out.Skipped+1
			}
		}
		events = nil
		clear(pending)
		return err
	}
	now := v.now()
	for i := range items {
		it := &items[i]
		if known[it.ID] {
			out.Skipped++
			continue
		}
		if v.Files && pending[it.ReplyTo] { // the state decides whether it may settle that
			if err := add(); err != nil {
				return out, err
			}
		}
		if err := v.weighImported(ctx, &it.Message); err != nil {
			return out, err
		}
		known[it.ID], pending[it.ID] = true, true
		out.Added++
		events = append(events, check.ImportEvents(it, now)...)
		if len(events) >= importBatch {
			if err := add(); err != nil {
				return out, err
			}
		}
	}
	return out, add()
}

// knownIDs returns which of items are known, hot, archived or erased: an erased message does not come back from a
// foreign file.
func (v *view) knownIDs(ctx context.Context, items []mail.Item) (map[mail.ID]bool, error) {
	known := make(map[mail.ID]bool, len(items))
	v.read(func(s *fold.State, _ mail.Time) {
		for i := range items {
			id := items[i].ID
			known[id] = s.Records[id] != nil || s.Leaving[id] != nil || s.Erased[id] != 0
		}
	})
	c, ok := v.journal.(journal.Compacter)
	if !ok {
		return known, nil
	}
	for some := range slices.Chunk(items, lookUps) {
		ids := make([]mail.ID, len(some))
		for i := range some {
			ids[i] = some[i].ID
		}
		events, err := c.ArchivedOf(ctx, ids...)
		if err != nil {
			return nil, v.unavailable(err)
		}
		for _, e := range events {
			switch {
			case e.Message != nil:
				known[e.Message.ID] = true
			case e.Erased != nil:
				known[e.Erased.Message] = true
			}
		}
	}
	return known, nil
}

// weighImported finds out whether an imported message may settle a question that is open in the room. The user's
// words in a foreign file settle questions that were asked there, and nothing else.
func (v *view) weighImported(ctx context.Context, m *mail.Message) error {
	var asked fold.Spot
	var root mail.ID
	v.check(func(v *check.View) { asked, root = v.WeighImported(m) })
	var err error
	if asked.ID != "" {
		var texts []*mail.Message
		if texts, err = v.texts(ctx, []fold.Spot{asked}); err == nil {
			m.Suggests = texts[0] == nil || texts[0].Via != m.Via
		}
	}
	if m.Suggests && m.Thread == "" {
		m.Thread = root // by which it is found with the question
	}
	return err
}
