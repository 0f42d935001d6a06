package mailroom

import (
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

// add keeps a key, and forgets the first of its kind if there are too many.
func (s *spentKeys) add(k sentKey, spent spentKey) {
	keys := &s.kinds[kind(k.key)]
	switch was, known := s.byKey[k]; {
	case !known:
		*keys = append(*keys, k)
	case was.in != 0:
		return // two machines have spent it: the event that came first keeps it, and its place among the others
	}
	s.byKey[k] = spent
	if len(*keys) > maxKeys {
		s.forgetFirst(keys)
	}
}

func (s *spentKeys) forgetFirst(keys *[]sentKey) {
	delete(s.byKey, (*keys)[0])
	(*keys)[0] = sentKey{}
	*keys = (*keys)[1:]
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

// respend returns the events that keep the keys that an older version kept in a checkpoint, which goes at the next.
func (s *state) respend(now mail.Time) (events []mail.Event) {
	for _, keys := range s.spent.kinds {
		var old []mail.SpentKey
		for _, k := range keys {
			if spent := s.spent.byKey[k]; spent.in == 0 {
				old = append(old, spent.SpentKey)
			}
		}
		for some := range slices.Chunk(old, trimStep) {
			events = append(events, mail.Event{At: now, Checkpoint: &mail.Checkpoint{Spent: some}})
		}
	}
	return events
}
