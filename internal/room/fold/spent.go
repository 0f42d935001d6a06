package fold

import (
	"iter"
	"slices"
	"strings"
	"time"

	"pennypost/internal/mail"
)

// How long idempotency keys outlive messages that retention took, and how many of each kind do. Retries come within
// minutes, but a client that slept through the night may also send one. Under heavy load the number decides: the
// oldest go first, and a retry after that sends a second message. The two kinds do not displace each other: our own
// clients make a key for every message, and senders that choose theirs mean them to last.
const (
	KeyLife = 24 * time.Hour
	MaxKeys = 10_000
)

// spentKeys are the idempotency keys of messages that retention took.
type spentKeys struct {
	ByKey map[SentKey]spentKey
	Kinds [2][]SentKey // those that senders chose and those that clients made, oldest first
	Lines []mail.Seq   // the events in the journal that hold keys, in order; some may have gone
}

type spentKey struct {
	mail.SpentKey
	in mail.Seq // the event that keeps it when its message has gone; 0: it must be written once more
}

// kind returns the index in Kinds of a key.
func kind(key string) int {
	if strings.HasPrefix(key, mail.MadeKey) {
		return 1
	}
	return 0
}

// add keeps a key, after all others of its kind, and forgets the first of them if there are too many. An event that
// repeats an earlier one keeps the key in its place.
func (s *spentKeys) add(k SentKey, spent spentKey) {
	s.forget(k)
	keys := &s.Kinds[kind(k.Key)]
	*keys = append(*keys, k)
	s.ByKey[k] = spent
	if len(*keys) > MaxKeys {
		s.ForgetFirst(keys)
	}
}

// forget forgets a key, if it is known.
func (s *spentKeys) forget(k SentKey) {
	if _, known := s.ByKey[k]; !known {
		return
	}
	keys := &s.Kinds[kind(k.Key)]
	i := slices.Index(*keys, k)
	if i == 0 { // for a repeated event, most often the first
		s.ForgetFirst(keys)
		return
	}
	delete(s.ByKey, k)
	*keys = slices.Delete(*keys, i, i+1)
}

// pass makes the keys of one member those of another, who was found to be the same.
func (s *spentKeys) pass(o, m *Member) {
	for _, keys := range s.Kinds {
		for i, k := range keys {
			if k.from == o {
				spent := s.ByKey[k]
				delete(s.ByKey, k)
				keys[i] = keyOf(m, spent.From, spent.Key)
				s.ByKey[keys[i]] = spent
			}
		}
	}
}

// forgetOf forgets the key of a message.
func (s *spentKeys) forgetOf(id mail.ID) (known bool) {
	for k, spent := range s.All() {
		if spent.Message == id {
			s.forget(k)
			return true
		}
	}
	return false
}

// ForgetFirst forgets the first of some keys, and takes it off the list.
func (s *spentKeys) ForgetFirst(keys *[]SentKey) {
	delete(s.ByKey, (*keys)[0])
	(*keys)[0] = SentKey{}
	*keys = (*keys)[1:]
}

// dropLines forgets the events that a compaction with its checkpoint at mark has taken, because they keep no key.
func (s *spentKeys) dropLines(mark mail.Seq) {
	kept := make(map[mail.Seq]bool)
	for _, spent := range s.ByKey {
		kept[spent.in] = true
	}
	s.Lines = slices.DeleteFunc(s.Lines, func(seq mail.Seq) bool { return seq < mark && !kept[seq] })
}

// prune forgets the keys that are too old. It is called only at checkpoints, so that replay, in which compaction has
// taken away events whose keys were all forgotten, has the same result.
func (s *spentKeys) prune(now mail.Time) {
	for i := range s.Kinds {
		keys := &s.Kinds[i]
		for len(*keys) > 0 && now.Sub(s.ByKey[(*keys)[0]].Sent) > KeyLife {
			s.ForgetFirst(keys)
		}
	}
}

// All yields the keys, each kind in order.
func (s *spentKeys) All() iter.Seq2[SentKey, spentKey] {
	return func(yield func(SentKey, spentKey) bool) {
		for _, keys := range s.Kinds {
			for _, k := range keys {
				if !yield(k, s.ByKey[k]) {
					return
				}
			}
		}
	}
}

// KeptIn reports whether an event keeps a key that is not forgotten.
func (s *spentKeys) KeptIn(e *mail.Event, of func(mail.Address, string) SentKey) bool {
	return slices.ContainsFunc(e.Checkpoint.Spent, func(k mail.SpentKey) bool {
		return s.ByKey[of(k.From, k.Key)].in == e.Seq
	})
}

// Spend returns the events that keep the keys of messages when these have gone. An event holds keys of one kind, so
// that it can go as soon as a few more have come.
func (s *State) Spend(going []mail.ID, now mail.Time) (events []mail.Event) {
	var kinds [2][]mail.SpentKey
	for _, id := range going {
		if r := s.Records[id]; r != nil && r.Msg.Key != "" {
			k := &kinds[kind(r.Msg.Key)]
			*k = append(*k, mail.SpentKey{From: r.Msg.From, Key: r.Msg.Key, Message: id, Seq: r.Seq, Sent: r.Msg.Sent})
		}
	}
	for _, keys := range kinds {
		if len(keys) > 0 {
			events = append(events, mail.Event{At: now, Checkpoint: &mail.Checkpoint{Spent: keys}})
		}
	}
	return events
}

// keep takes the keys of an event that holds some. Keys of messages that were erased meanwhile must still be erased.
func (s *State) keep(keys []mail.SpentKey, in mail.Seq) {
	if len(keys) == 0 {
		return
	}
	s.Spent.Lines = append(s.Spent.Lines, s.Seq)
	for _, k := range keys {
		if _, erased := s.Erased[k.Message]; erased {
			s.Remains[k.Message] = true
			continue
		}
		s.Spent.add(s.spentOf(k.From, k.Key), spentKey{k, in})
	}
}

// Holds reports whether an event holds the key of a message.
func Holds(e *mail.Event, id mail.ID) bool {
	return e.Checkpoint != nil && slices.ContainsFunc(e.Checkpoint.Spent, func(k mail.SpentKey) bool {
		return k.Message == id
	})
}

// Respend returns the events that keep once more the keys that other events keep: an older version kept them in a
// checkpoint (0), which goes at the next one, and the event that holds the key of an erased message goes too.
func (s *State) Respend(now mail.Time, in ...mail.Seq) (events []mail.Event) {
	for _, keys := range s.Spent.Kinds {
		var old []mail.SpentKey
		for _, k := range keys {
			if spent := s.Spent.ByKey[k]; slices.Contains(in, spent.in) {
				old = append(old, spent.SpentKey)
			}
		}
		for some := range slices.Chunk(old, TrimStep) {
			events = append(events, mail.Event{At: now, Checkpoint: &mail.Checkpoint{Spent: some}})
		}
	}
	return events
}
