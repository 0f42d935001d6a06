package mailroom

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"pennypost/internal/base/pause"
	"pennypost/internal/mail"
	"pennypost/internal/room/fold"
	"pennypost/internal/room/journal"
	"pennypost/internal/room/search"
)

// The texts of the messages decide the result of a search for words, never the index: that only says for which ranges
// of sequence numbers it knows all messages, and which of them can be skipped. The rest, such as recent messages, is
// read. So an answer is right whatever the index knows. It is complete too, unless so much would have to be read that
// it stops after SearchPatience; then it says so.

// wordSearch is one search for words.
type wordSearch struct {
	*view
	until  time.Time // when the patience ends
	partly string    // see mail.Page
}

// searchStep is how many sequence numbers are read between checks of the patience.
const searchStep = 2048

// search returns the result of scan, and reads few messages for that.
func (v *wordSearch) search(ctx context.Context, f *fold.Filter, n int) (items []mail.Item, err error) {
	todo := f.Reach
	v.mu.RLock()
	if last := v.state.Seq; todo.Before == 0 || todo.Before > last {
		todo.Before = last + 1
	}
	v.mu.RUnlock()
	all := todo
	for todo.After+1 < todo.Before && len(items) <= n {
		in, found := v.candidates(f, todo)
		var some []mail.Item
		if found != nil {
			some, err = v.look(ctx, f, &in, found, n-len(items))
		} else {
			part := *f
			in = firstOf(in, searchStep)
			part.Reach = in
			some, err = v.scan(ctx, &part, n-len(items))
		}
		if err != nil {
			return nil, err
		}
		items = append(items, some...)
		if todo.Newest {
			todo.Before = in.After + 1
		} else {
			todo.After = in.Before - 1
		}
		if found == nil && len(items) <= n && v.grows.Load() && time.Now().After(v.until) {
			v.partly = partly(all, todo)
			break
		}
	}
	return items, nil
}

// firstOf cuts a reach to the part that is read first.
func firstOf(in fold.Reach, seqs mail.Seq) fold.Reach {
	if in.Before-in.After <= seqs {
		return in
	}
	if in.Newest {
		in.After = in.Before - seqs
	} else {
		in.Before = in.After + seqs
	}
	return in
}

// partly says how much of all was searched, if there is more to do.
func partly(all, todo fold.Reach) string {
	left := int(todo.Before) - int(todo.After) - 1
	if left <= 0 {
		return ""
	}
	end := "oldest"
	if all.Newest {
		end = "newest"
	}
	of := max(int(all.Before)-int(all.After)-1, 1)
	return fmt.Sprintf("Only the %s %d%% of these messages were searched, because the search index is still being "+
		"built. Search again in a minute", end, 100*(of-left)/of)
}

// candidates returns the first part of the reach and, if the index knows all messages there, those that it has found
// for the words of f.
func (v *view) candidates(f *fold.Filter, todo fold.Reach) (in fold.Reach, found *search.Found) {
	in = todo
	at := todo.After
	if todo.Newest {
		at = todo.Before - 1
	}
	if found = v.index.Find(f.Words, at, todo.Newest); found != nil {
		in.After, in.Before = max(in.After, found.After), min(in.Before, found.UpTo+1)
		return in, found
	}
	v.wakeIndexer() // it may still wait to be needed
	if end := v.index.End(); todo.Newest && at > end {
		in.After = max(in.After, end)
	}
	return in, nil
}

// anyHot reports whether a message in a reach is hot.
func (r *Room) anyHot(in fold.Reach) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return len(r.state.Order.After(in.After).Before(in.Before)) > 0
}

// look returns those of the found messages in a reach that f accepts, at most about n and one more. If the index
// changes meanwhile, the reach ends where the search got to.
func (v *view) look(ctx context.Context, f *fold.Filter, in *fold.Reach, found *search.Found, n int,
) (items []mail.Item, err error) {
	const most = 512
	if !f.Archive() && !v.anyHot(*in) {
		return nil, nil
	}
	last := in.After
	if in.Newest {
		last = in.Before
	}
	for batch := n + 1; len(items) <= n; batch = min(2*batch, most) {
		seqs, ok := found.Next(batch)
		if !ok {
			v.wakeIndexer() // it may have turned out to be broken
			if in.Newest {
				in.After = last - 1
			} else {
				in.Before = last + 1
			}
			return items, nil
		}
		if len(seqs) == 0 {
			break
		}
		last = seqs[len(seqs)-1]
		seqs = slices.DeleteFunc(seqs, func(p mail.Seq) bool { return p <= in.After || p >= in.Before })
		some, err := v.lookAt(ctx, f, seqs)
		if err != nil {
			return nil, err
		}
		items = append(items, some...)
		if in.Newest && last <= in.After || !in.Newest && last >= in.Before {
			break
		}
	}
	return items, nil
}

// lookAt returns those of the messages with some sequence numbers that f accepts.
func (v *view) lookAt(ctx context.Context, f *fold.Filter, seqs []mail.Seq) (items []mail.Item, err error) {
	var cold []mail.Seq
	v.read(func(s *fold.State, now mail.Time) {
		for _, seq := range seqs {
			i, hot := s.Order.Search(seq)
			if !hot {
				cold = append(cold, seq)
			} else if it, ok := v.sight(s).Accept(f, s.Order[i], now); ok {
				items = append(items, it)
			}
		}
	})
	if items, err = v.complete(ctx, items); err != nil {
		return nil, err
	}
	items = f.Found(items)
	if !f.Archive() || len(cold) == 0 {
		return items, nil
	}
	some, err := v.lookAtCold(ctx, f, cold)
	return append(items, some...), err
}

// lookAtCold returns those of the messages with some sequence numbers that f accepts and that are in the archive, or
// on their way there.
func (r *Room) lookAtCold(ctx context.Context, f *fold.Filter, seqs []mail.Seq) (items []mail.Item, err error) {
	events, err := r.eventsAt(ctx, seqs)
	if err != nil {
		return nil, err
	}
	var ids []mail.ID
	at := make(map[mail.ID]mail.Seq)
	for i := range events {
		e := &events[i]
		if e.Message == nil {
			continue
		}
		h := fold.HeaderOf(e)
		if f.Accepts(&h, e.Seq, e.Message) {
			ids = append(ids, h.ID)
			at[h.ID] = e.Seq
		}
	}
	for some := range slices.Chunk(ids, lookUps) {
		found, err := r.lookUp(ctx, some...)
		if err != nil {
			return nil, err
		}
		for id, rec := range found {
			if rec.Seq != at[id] {
				continue
			}
			if it, ok := r.archivedItem(rec, f); ok {
				items = append(items, it)
			}
		}
	}
	return items, nil
}

// eventsAt returns the events with some sequence numbers, from the journal or its archive.
func (r *Room) eventsAt(ctx context.Context, seqs []mail.Seq) ([]mail.Event, error) {
	events, err := r.journal.Read(ctx, seqs...)
	if err != nil {
		return nil, r.unavailable(err)
	}
	there := make(map[mail.Seq]bool, len(events))
	for i := range events {
		there[events[i].Seq] = true
	}
	seqs = slices.DeleteFunc(slices.Clone(seqs), func(p mail.Seq) bool { return there[p] })
	if c, ok := r.journal.(journal.Compacter); ok && len(seqs) > 0 {
		archived, err := c.ArchivedAt(ctx, seqs...)
		if err != nil {
			return nil, r.unavailable(err)
		}
		events = append(events, archived...)
	}
	return events, nil
}

// wakeIndexer makes the index grow, or be repaired, though nothing was sent.
func (r *Room) wakeIndexer() {
	r.reindex.Give()
}

// keepIndex makes the index follow the room, until ctx ends. It works concurrently: when it lags, a search reads
// more.
func (r *Room) keepIndex(ctx context.Context) {
	r.index.Check(func(seq mail.Seq, is func(mail.ID) bool) bool {
		events, err := r.eventsAt(ctx, []mail.Seq{seq})
		return err == nil && len(events) > 0 && events[0].Message != nil && is(events[0].Message.ID)
	})
	r.awaitEvents(ctx, indexFew)
	r.awaitCalm(ctx)
	for ctx.Err() == nil {
		began, last := time.Now(), r.journal.Last()
		grown, err := r.index.Grow(func(after mail.Seq) ([]search.Message, mail.Seq, error) {
			return r.textsAfter(ctx, after)
		})
		wait := time.Duration(0)
		r.grows.Store(err == nil)
		switch {
		case errors.Is(err, journal.ErrClosed):
			return
		case err != nil && ctx.Err() == nil:
			r.opts.Log.Warn("search index not updated; searches take longer", "room", r.name, "err", err)
			wait = indexAgain
		case !grown:
			r.awaitEvents(ctx, 0)
			r.awaitCalm(ctx)
		case r.journal.Last() > last: // senders come first
			wait = time.Since(began)
			r.awaitCalm(ctx)
		}
		pause.For(ctx, wait)
	}
}

// indexFew is how many events a search may as well read: they are not indexed before something happens in the room,
// or a search runs. After a restart a thousand rooms are opened, and most are only looked at.
const indexFew = 4096

// The index grows by the messages of a short time, not by each message, and not while more than indexCalm events come
// in that time, unless more than indexLag are not indexed: a search reads those in half a second. After a failed
// write it does not retry immediately.
const (
	indexDelay = 200 * time.Millisecond
	indexCalm  = 400
	indexLag   = 65_536
	indexAgain = time.Minute
)

// awaitCalm blocks until few events come, many are not indexed, someone wakes the indexer, or ctx ends.
func (r *Room) awaitCalm(ctx context.Context) {
	for busy := true; busy && ctx.Err() == nil; {
		last := r.journal.Last()
		if last > r.index.End()+indexLag {
			return
		}
		r.reindex.Await(ctx, indexDelay)
		busy = r.journal.Last() > last+indexCalm
	}
}

// awaitEvents blocks until more than a few events are not indexed, something happens, someone wakes the indexer, or
// ctx ends.
func (r *Room) awaitEvents(ctx context.Context, few mail.Seq) {
	indexed := r.index.End()
	r.mu.RLock()
	applied, news := r.applied, r.state.Seq > indexed+few
	r.mu.RUnlock()
	if news {
		return
	}
	select {
	case <-applied:
	case <-r.reindex:
	case <-ctx.Done():
	}
}

// A step of indexing reads this many messages, and looks at this many events of the archive, most of which are
// receipts.
const (
	indexBatch  = 256
	indexEvents = 4 * indexBatch
)

// textsAfter returns the first messages after a sequence number, and up to where there are no others.
func (r *Room) textsAfter(ctx context.Context, after mail.Seq) ([]search.Message, mail.Seq, error) {
	here, upTo := r.spotsAfter(after)
	var out []search.Message
	n := 0
	// After the hot ones, or a message that leaves them meanwhile would be in neither.
	for e, err := range r.archivedEvents(ctx, fold.Reach{After: after, Before: upTo + 1}) {
		if err != nil {
			return nil, 0, r.unavailable(err)
		}
		if m := e.Message; m != nil {
			out = append(out, search.Message{Seq: e.Seq, ID: m.ID, Subject: m.Subject, Body: m.Body})
		}
		if n++; n == indexEvents || len(out) == indexBatch {
			upTo = e.Seq
			break
		}
	}
	here = slices.DeleteFunc(here, func(s fold.Spot) bool { return s.Seq > upTo })
	found, err := r.texts(ctx, here)
	if err != nil {
		return nil, 0, err
	}
	for i, s := range here {
		if m := found[i]; m != nil {
			out = append(out, search.Message{Seq: s.Seq, ID: s.ID, Subject: m.Subject, Body: m.Body})
		}
	}
	slices.SortFunc(out, func(a, b search.Message) int { return cmp.Compare(a.Seq, b.Seq) })
	return slices.CompactFunc(out, func(a, b search.Message) bool { return a.Seq == b.Seq }), upTo, nil
}

// spotsAfter returns the first of the messages after a sequence number that are hot or on their way to the archive,
// and up to where there are no others.
func (r *Room) spotsAfter(after mail.Seq) (spots []fold.Spot, upTo mail.Seq) {
	leaving := r.leavingIn(fold.Reach{After: after})
	r.mu.RLock()
	defer r.mu.RUnlock()
	upTo = r.state.Seq
	hot := r.state.Order.After(after)
	for _, l := range []fold.List{hot, leaving} {
		for _, rec := range l[:min(len(l), indexBatch)] {
			spots = append(spots, rec.Spot())
		}
	}
	slices.SortFunc(spots, func(a, b fold.Spot) int { return cmp.Compare(a.Seq, b.Seq) })
	if len(spots) >= indexBatch { // there may be more
		spots = spots[:indexBatch]
		upTo = spots[indexBatch-1].Seq
	}
	return spots, upTo
}
