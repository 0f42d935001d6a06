package mailroom

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"pennypost/internal/mail"
)

// How long idempotency keys outlive messages that retention took, and how many of each kind do. Retries come within
// minutes, but a client that slept through the night may come with one too. Under heavy load the number decides: the
// oldest go first, and whoever sends again after that sends a second message. The two kinds do not displace each
// other: our own clients make a key for every message, and those who choose theirs mean them to last.
const (
	keyLife = 24 * time.Hour
	maxKeys = 10_000
)

// spentKeys are the idempotency keys of messages that retention took.
type spentKeys struct {
	byKey map[sentKey]spentKey
	kinds [2][]sentKey // those that senders chose and those that clients made, first come first
	lines []mail.Seq   // the events in the journal that hold keys, in order; some may have gone
}

type spentKey struct {
	mail.SpentKey
	in mail.Seq // the event that keeps it when its message has gone; 0: it is to be written once more
}

// kind returns which of kinds a key belongs to.
func kind(key string) int {
	if strings.HasPrefix(key, mail.MadeKey) {
		return 1
	}
	return 0
}

// add keeps a key, behind all others of its kind, and forgets the first of them if there are too many. An event that
// says once more what one before it said keeps the key in its place.
func (s *spentKeys) add(k sentKey, spent spentKey) {
	s.forget(k)
	keys := &s.kinds[kind(k.key)]
	*keys = append(*keys, k)
	s.byKey[k] = spent
	if len(*keys) > maxKeys {
		s.forgetFirst(keys)
	}
}

// forget forgets a key, if it is known.
func (s *spentKeys) forget(k sentKey) {
	if _, known := s.byKey[k]; !known {
		return
	}
	keys := &s.kinds[kind(k.key)]
	i := slices.Index(*keys, k)
	if i == 0 { // of what is said once more, most often the first
		s.forgetFirst(keys)
		return
	}
	delete(s.byKey, k)
	*keys = slices.Delete(*keys, i, i+1)
}

// forgetOf forgets the key of a message.
func (s *spentKeys) forgetOf(id mail.ID) (known bool) {
	for k, spent := range s.all() {
		if spent.Message == id {
			s.forget(k)
			return true
		}
	}
	return false
}

func (s *spentKeys) forgetFirst(keys *[]sentKey) {
	delete(s.byKey, (*keys)[0])
	(*keys)[0] = sentKey{}
	*keys = (*keys)[1:]
}

// dropLines forgets the events that a compaction with its checkpoint at mark has taken, because they keep no key.
func (s *spentKeys) dropLines(mark mail.Seq) {
	kept := make(map[mail.Seq]bool)
	for _, spent := range s.byKey {
		kept[spent.in] = true
	}
	s.lines = slices.DeleteFunc(s.lines, func(seq mail.Seq) bool { return seq < mark && !kept[seq] })
}

// prune forgets the keys that are too old. It is called at checkpoints only, so that replay, in which compaction has
// taken away events whose keys were all forgotten, comes to the same.
func (s *spentKeys) prune(now mail.Time) {
	for i := range s.kinds {
		keys := &s.kinds[i]
		for len(*keys) > 0 && now.Sub(s.byKey[(*keys)[0]].Sent) > keyLife {
			s.forgetFirst(keys)
		}
	}
}

// all yields the keys, each kind in order.
func (s *spentKeys) all() iter.Seq2[sentKey, spentKey] {
	return func(yield func(sentKey, spentKey) bool) {
		for _, keys := range s.kinds {
			for _, k := range keys {
				if !yield(k, s.byKey[k]) {
					return
				}
			}
		}
	}
}

// keptIn reports whether an event keeps a key that is not forgotten.
func (s *spentKeys) keptIn(e *mail.Event, of func(mail.Address, string) sentKey) bool {
	return slices.ContainsFunc(e.Checkpoint.Spent, func(k mail.SpentKey) bool {
		return s.byKey[of(k.From, k.Key)].in == e.Seq
	})
}

// spend returns the events that keep the keys of messages when these have gone. An event holds keys of one kind, so
// that it can go as soon as a few more have come.
func (s *state) spend(going []mail.ID, now mail.Time) (events []mail.Event) {
	var kinds [2][]mail.SpentKey
	for _, id := range going {
		if r := s.records[id]; r != nil && r.msg.Key != "" {
			k := &kinds[kind(r.msg.Key)]
			*k = append(*k, mail.SpentKey{From: r.msg.From, Key: r.msg.Key, Message: id, Seq: r.seq, Sent: r.msg.Sent})
		}
	}
	for _, keys := range kinds {
		if len(keys) > 0 {
			events = append(events, mail.Event{At: now, Checkpoint: &mail.Checkpoint{Spent: keys}})
		}
	}
	return events
}

// keep takes the keys of an event that holds some. Those of messages that were erased meanwhile are still to go.
func (s *state) keep(keys []mail.SpentKey, in mail.Seq) {
	if len(keys) == 0 {
		return
	}
	s.spent.lines = append(s.spent.lines, s.seq)
	for _, k := range keys {
		if _, erased := s.erased[k.Message]; erased {
			s.remains[k.Message] = true
			continue
		}
		s.spent.add(s.spentOf(k.From, k.Key), spentKey{k, in})
	}
}

// holds reports whether an event holds the key of a message.
func holds(e *mail.Event, id mail.ID) bool {
	return e.Checkpoint != nil && slices.ContainsFunc(e.Checkpoint.Spent, func(k mail.SpentKey) bool {
		return k.Message == id
	})
}

// respend returns the events that keep once more the keys that others keep: an older version kept them in a checkpoint
// (0), which goes at the next, and with the key of an erased message goes the event that holds it.
func (s *state) respend(now mail.Time, in ...mail.Seq) (events []mail.Event) {
	for _, keys := range s.spent.kinds {
		var old []mail.SpentKey
		for _, k := range keys {
			if spent := s.spent.byKey[k]; slices.Contains(in, spent.in) {
				old = append(old, spent.SpentKey)
			}
		}
		for some := range slices.Chunk(old, trimStep) {
			events = append(events, mail.Event{At: now, Checkpoint: &mail.Checkpoint{Spent: some}})
		}
	}
	return events
}

// respendBeside journals once more the keys that stand in one event with that of an erased message.
func (r *Room) respendBeside(ctx context.Context, id mail.ID) error {
	r.mu.RLock()
	lines := slices.Clone(r.state.spent.lines)
	r.mu.RUnlock()
	events, err := r.journal.Read(ctx, lines...)
	if err != nil {
		return r.unavailable(err)
	}
	var in []mail.Seq
	for i := range events {
		switch e := &events[i]; {
		case !holds(e, id):
		case e.Checkpoint.After != 0:
			in = append(in, 0)
		default:
			in = append(in, e.Seq)
		}
	}
	r.mu.RLock()
	again := r.state.respend(r.now(), in...)
	r.mu.RUnlock()
	_, err = r.commit(ctx, again...)
	return err
}
