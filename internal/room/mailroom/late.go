package mailroom

import (
	"maps"
	"slices"

	"pennypost/internal/mail"
)

// lateMarks are receipts for messages that the hot ones do not have any more. The next compaction takes them to the
// archive too. What stands in both counts once.
type lateMarks map[mail.ID][]mail.Event

// add keeps a receipt instead of the one of the same kind by the same reader, so that marking back and forth takes no
// memory.
func (l lateMarks) add(e *mail.Event) {
	id, kept := e.Receipt.Message, *e
	kept.Receipt = new(*e.Receipt) // the event is the journal's
	l[id] = append(slices.DeleteFunc(slices.Clone(l[id]), func(old mail.Event) bool {
		return old.Receipt.Reader == e.Receipt.Reader && old.Receipt.Mark == e.Receipt.Mark
	}), kept)
}

// archived forgets what stands in the archive, now that a compaction with its checkpoint at mark has come to its end.
// It is the one change of the state that no event makes: replay finds these events in the journal no more. As long as
// compaction fails they stand there, and are kept here.
func (s *state) archived(mark mail.Seq) {
	if fewLeft := len(s.records) < len(s.leaving)/16; fewLeft { // a map never shrinks
		s.records = maps.Collect(maps.All(s.records))
		for _, m := range s.members {
			m.keys = maps.Collect(maps.All(m.keys))
		}
	}
	s.leaving = make(map[mail.ID]*record)
	for id, events := range s.lateMarks {
		left := slices.DeleteFunc(slices.Clone(events), func(e mail.Event) bool { return e.Seq < mark })
		if s.lateMarks[id] = left; len(left) == 0 {
			delete(s.lateMarks, id)
		}
	}
	maps.DeleteFunc(s.erased, func(id mail.ID, seq mail.Seq) bool {
		_, pending := s.erasing[id]
		return seq < mark && !pending
	})
}

// frozen returns what a lookup shows of a message that is on its way to the archive.
func (r *record) frozen() record {
	return record{msg: r.msg, seq: r.seq, audience: new(audience), marks: slices.Clone(r.marks), settled: r.settled}
}
