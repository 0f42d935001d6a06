package fold

import (
	"maps"
	"slices"

	"pennypost/internal/mail"
)

// LateMarks are receipts for messages that are no longer hot. The next compaction takes them to the archive too. A
// receipt that is in both counts once.
type LateMarks map[mail.ID][]mail.Event

// Add keeps a receipt instead of the one of the same kind by the same reader, so that marking back and forth takes no
// memory.
func (l LateMarks) Add(e *mail.Event) {
	id, kept := e.Receipt.Message, *e
	kept.Receipt = new(*e.Receipt) // the event is the journal's
	l[id] = append(slices.DeleteFunc(slices.Clone(l[id]), func(old mail.Event) bool {
		return old.Receipt.Reader == e.Receipt.Reader && old.Receipt.Mark == e.Receipt.Mark
	}), kept)
}

// Archived forgets the messages that are in the archive, now that a compaction with its checkpoint at mark is
// complete. It is the one change of the state that no event makes: replay no longer finds these events in the
// journal. While compaction fails they are there, and are kept here.
func (s *State) Archived(mark mail.Seq) {
	if fewLeft := len(s.Records) < len(s.Leaving)/16; fewLeft { // a map never shrinks
		s.Records = maps.Collect(maps.All(s.Records))
		for _, m := range s.Members {
			m.keys = maps.Collect(maps.All(m.keys))
		}
	}
	maps.DeleteFunc(s.Leaving, func(id mail.ID, _ *Record) bool { return s.Trims[id] < mark })
	if len(s.Leaving) == 0 { // a map never shrinks
		s.Leaving = make(map[mail.ID]*Record)
	}
	maps.DeleteFunc(s.Trims, func(_ mail.ID, seq mail.Seq) bool { return seq < mark })
	maps.DeleteFunc(s.takenBack, func(_ mail.ID, seq mail.Seq) bool { return seq < mark })
	s.Stale = 0
	s.Spent.dropLines(mark)
	if !s.Shared() { // others have what we have dropped
		s.Void = slices.DeleteFunc(s.Void, func(seq mail.Seq) bool { return seq < mark })
	}
	for id, events := range s.LateMarks {
		left := slices.DeleteFunc(slices.Clone(events), func(e mail.Event) bool { return e.Seq < mark })
		if s.LateMarks[id] = left; len(left) == 0 {
			delete(s.LateMarks, id)
		}
	}
	maps.DeleteFunc(s.Erased, func(id mail.ID, seq mail.Seq) bool {
		_, pending := s.Erasing[id]
		return seq < mark && !pending
	})
}

// Frozen returns a message that is on its way to the archive, for a lookup.
func (r *Record) Frozen() Record {
	return Record{Msg: r.Msg, Seq: r.Seq, audience: new(audience), marks: slices.Clone(r.marks), Settled: r.Settled}
}

// TakenBefore reports whether role mail that has left the mailboxes was read by someone other than a reader before a
// sequence number.
func (s *State) TakenBefore(place mail.Seq, r *ArchivedRecord, reader mail.Address) bool {
	isRole := func(a mail.Address) bool { return a.Kind() == mail.ToRole }
	if r == nil || !slices.ContainsFunc(r.Msg.To, isRole) || slices.Contains(r.Msg.To, reader) {
		return false
	}
	return slices.ContainsFunc(r.marks, func(k marks) bool {
		later := func(e mail.Event) bool {
			return e.Seq > place && e.Receipt.Mark == mail.MarkRead && e.Receipt.Reader.Signer() == k.Who.Name
		}
		return k.read != 0 && k.Who.Name != reader.Signer() && !slices.ContainsFunc(s.LateMarks[r.Msg.ID], later)
	})
}
