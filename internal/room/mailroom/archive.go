package mailroom

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"pennypost/internal/mail"
	"pennypost/internal/room/fold"
	"pennypost/internal/room/journal"
)

// lookUp returns the messages of the archive that have one of some ids, with their readers' marks there and since,
// and those that are on their way there. It omits messages that are hot, as after a crash between archiving and
// trimming, and erased ones. Every message that is not hot when lookUp is called is found, without waiting for a
// compaction: a message is in the archive before it is forgotten as leaving.
func (r *Room) lookUp(ctx context.Context, ids ...mail.ID) (map[mail.ID]*fold.ArchivedRecord, error) {
	found := make(map[mail.ID]*fold.ArchivedRecord)
	var cold []mail.ID
	var leaving fold.List
	r.mu.RLock()
	for _, id := range ids {
		switch rec := r.state.Leaving[id]; {
		case rec == nil:
			cold = append(cold, id)
		case found[id] == nil: // a caller may name one twice
			found[id] = &fold.ArchivedRecord{Record: rec.Frozen()}
			leaving = append(leaving, rec)
		}
	}
	r.mu.RUnlock()
	texts, err := r.leavingTexts(ctx, leaving)
	if err != nil {
		return nil, err
	}
	for i, rec := range leaving {
		if found[rec.Msg.ID].Text = texts[i]; texts[i] == nil {
			delete(found, rec.Msg.ID)
		}
	}
	var events []mail.Event
	if c, ok := r.journal.(journal.Compacter); ok && len(cold) > 0 {
		if events, err = c.ArchivedOf(ctx, cold...); err != nil {
			return nil, r.unavailable(err)
		}
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, id := range ids {
		events = append(events, r.state.LateMarks[id]...)
	}
	slices.SortFunc(events, func(a, b mail.Event) int { return cmp.Compare(a.Seq, b.Seq) })
	events = slices.CompactFunc(events, func(a, b mail.Event) bool { return a.Seq == b.Seq })
	for i := range events {
		r.state.Recall(found, &events[i])
	}
	return found, nil
}

// archivedItem shows an archived message with its readers' receipts. ok is false if f does not accept it; a nil f
// accepts all.
func (r *Room) archivedItem(rec *fold.ArchivedRecord, f *fold.Filter) (it mail.Item, ok bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	it = rec.ArchivedItem()
	return it, f == nil || f.HasState(it.Deliveries) &&
		(f.Agent == nil || rec.SentBy(f.Agent) || rec.WasFor(f.Agent))
}

// archived returns one message of the archive.
func (r *Room) archived(ctx context.Context, id mail.ID) (mail.Item, error) {
	found, err := r.lookUp(ctx, id)
	if err != nil {
		return mail.Item{}, err
	}
	if rec := found[id]; rec != nil {
		it, _ := r.archivedItem(rec, nil)
		return it, nil
	}
	return mail.Item{}, mail.Errorf(mail.NotFound, "there is no message %q in room %s", id, r.name)
}

// lookUps is how many ids are looked up at a time if there are many.
const lookUps = 128

// accept decides on a message by its header, its sequence number, and its text.
type accept func(h *fold.Header, seq mail.Seq, m *mail.Message) bool

// archivedRecords yields those messages of the archive, or on their way there, that are in a reach and that want
// accepts. No message that is not hot when it is called is missing.
func (r *Room) archivedRecords(ctx context.Context, in fold.Reach, want accept,
) iter.Seq2[*fold.ArchivedRecord, error] {
	return func(yield func(*fold.ArchivedRecord, error) bool) {
		w := archiveWalk{Room: r, ctx: ctx, in: in, want: want, yield: yield, leaving: r.leavingIn(in)}
		for e, err := range r.archivedEvents(ctx, in) {
			if err != nil {
				yield(nil, r.unavailable(err))
				return
			}
			if !w.add(&e) {
				return
			}
		}
		for len(w.leaving) > 0 {
			if !w.takeLeaving() {
				return
			}
		}
		w.flush()
	}
}

// archiveWalk merges the messages on their way to the archive with those that are there. Its methods report whether
// to continue.
type archiveWalk struct {
	*Room
	ctx   context.Context
	in    fold.Reach
	want  accept
	yield func(*fold.ArchivedRecord, error) bool

	taken   []fold.Spot // and not yielded yet
	leaving fold.List
	texts   []*mail.Message // of the first of those
}

// add takes the next event of the archive.
func (w *archiveWalk) add(e *mail.Event) bool {
	for len(w.leaving) > 0 && (w.leaving[0].Seq < e.Seq) != w.in.Newest && w.leaving[0].Seq != e.Seq {
		if !w.takeLeaving() {
			return false
		}
	}
	if len(w.leaving) > 0 && w.leaving[0].Seq == e.Seq { // it has arrived meanwhile
		w.leaving, w.texts = w.leaving[1:], w.texts[min(1, len(w.texts)):]
	}
	if e.Message == nil {
		return true
	}
	h := fold.HeaderOf(e)
	return w.take(&h, e.Seq, e.Message)
}

// takeLeaving takes the first of the leaving messages.
func (w *archiveWalk) takeLeaving() bool {
	if len(w.texts) == 0 {
		var err error
		if w.texts, err = w.leavingTexts(w.ctx, w.leaving[:min(lookUps, len(w.leaving))]); err != nil {
			w.yield(nil, err)
			return false
		}
	}
	rec, m := w.leaving[0], w.texts[0]
	w.leaving, w.texts = w.leaving[1:], w.texts[1:]
	return m == nil || w.take(&rec.Msg, rec.Seq, m)
}

func (w *archiveWalk) take(h *fold.Header, seq mail.Seq, m *mail.Message) bool {
	if w.want(h, seq, m) {
		w.taken = append(w.taken, fold.Spot{ID: h.ID, Seq: seq})
	}
	return len(w.taken) < lookUps || w.flush()
}

// flush yields the taken messages.
func (w *archiveWalk) flush() bool {
	ids := make([]mail.ID, len(w.taken))
	for i, at := range w.taken {
		ids[i] = at.ID
	}
	found, err := w.lookUp(w.ctx, ids...)
	if err != nil {
		w.yield(nil, err)
		return false
	}
	for _, at := range w.taken {
		if rec := found[at.ID]; rec != nil && rec.Seq == at.Seq && !w.yield(rec, nil) {
			return false
		}
	}
	w.taken = w.taken[:0]
	return true
}

// archivedEvents returns the archived events of the journal in a reach; none if there is no archive.
func (r *Room) archivedEvents(ctx context.Context, in fold.Reach) iter.Seq2[mail.Event, error] {
	return func(yield func(mail.Event, error) bool) {
		c, ok := r.journal.(journal.Compacter)
		if !ok {
			return
		}
		from := in.After
		if in.Newest {
			from = in.Before
		}
		for e, err := range c.Archived(ctx, from, in.Newest) {
			beyond := in.Newest && e.Seq <= in.After || !in.Newest && in.Before > 0 && e.Seq >= in.Before
			if err == nil && beyond || !yield(e, err) {
				return
			}
		}
	}
}

// leavingIn returns the messages on their way to the archive, in the order of archivedRecords.
func (r *Room) leavingIn(in fold.Reach) fold.List {
	var all fold.List
	r.mu.RLock()
	for _, rec := range r.state.Leaving {
		if rec.Seq > in.After && (in.Before == 0 || rec.Seq < in.Before) {
			all = append(all, rec)
		}
	}
	r.mu.RUnlock()
	slices.SortFunc(all, func(a, b *fold.Record) int { return cmp.Compare(a.Seq, b.Seq) })
	if in.Newest {
		slices.Reverse(all)
	}
	return all
}

// leavingTexts returns the messages of records that are on their way to the archive; nil for those that were erased
// meanwhile.
func (r *Room) leavingTexts(ctx context.Context, leaving fold.List) ([]*mail.Message, error) {
	items := make([]mail.Item, len(leaving))
	r.mu.RLock()
	for i, rec := range leaving {
		items[i] = mail.Item{Message: rec.Msg.Message(), Seq: rec.Seq}
	}
	r.mu.RUnlock()
	items, err := r.complete(ctx, items)
	if err != nil {
		return nil, err
	}
	texts := make([]*mail.Message, len(leaving))
	for i, rec := range leaving {
		if len(items) > 0 && items[0].ID == rec.Msg.ID {
			texts[i], items = &items[0].Message, items[1:]
		}
	}
	return texts, nil
}

// searchArchive returns the archived messages that f accepts: the newest n and one more or, after a cursor, the
// first.
func (r *Room) searchArchive(ctx context.Context, f *fold.Filter, n int) ([]mail.Item, error) {
	var out []mail.Item
	for rec, err := range r.archivedRecords(ctx, f.Reach, f.Accepts) {
		if err != nil {
			return nil, err
		}
		if it, ok := r.archivedItem(rec, f); ok {
			out = append(out, it)
		}
		if len(out) > n {
			break
		}
	}
	return out, nil
}

func bySeq(a, b mail.Item) int { return cmp.Compare(a.Seq, b.Seq) }
