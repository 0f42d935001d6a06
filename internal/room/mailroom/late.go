package mailroom

import (
	"context"
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
	maps.DeleteFunc(s.leaving, func(id mail.ID, _ *record) bool { return s.trims[id] < mark })
	if len(s.leaving) == 0 { // a map never shrinks
		s.leaving = make(map[mail.ID]*record)
	}
	maps.DeleteFunc(s.trims, func(_ mail.ID, seq mail.Seq) bool { return seq < mark })
	maps.DeleteFunc(s.takenBack, func(_ mail.ID, seq mail.Seq) bool { return seq < mark })
	s.stale = 0
	s.spent.dropLines(mark)
	if !s.shared() { // others have what we have dropped
		s.void = slices.DeleteFunc(s.void, func(seq mail.Seq) bool { return seq < mark })
	}
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

// lateTakes returns those of some events, the last of which has a place, that are reads of role mail which another had
// read before, and which retention took before the read came to be applied: of such mail the state knows no more. Who
// asked knew when it was in the archive already (cold).
func (v *view) lateTakes(ctx context.Context, last mail.Seq, events []mail.Event,
	cold map[mail.ID]*archivedRecord) (late []*mail.Event, err error) {
	if v.opts.Machine == "" {
		return nil, nil // nobody came between
	}
	at := make(map[mail.ID]mail.Seq)
	v.read(func(s *state, _ mail.Time) {
		for i := range events {
			rc := events[i].Receipt
			if rc != nil && rc.Mark == mail.MarkRead && s.records[rc.Message] == nil && cold[rc.Message] == nil {
				at[rc.Message] = last + 1 - mail.Seq(len(events)-i)
			}
		}
	})
	if len(at) == 0 {
		return nil, nil
	}
	found, err := v.lookUp(ctx, slices.Collect(maps.Keys(at))...)
	if err != nil {
		return nil, err
	}
	v.read(func(s *state, _ mail.Time) {
		for i := range events {
			rc := events[i].Receipt
			if rc != nil && at[rc.Message] != 0 && s.takenBefore(at[rc.Message], found[rc.Message], rc.Reader) {
				late = append(late, &events[i])
			}
		}
	})
	return late, nil
}

// takenBefore reports whether role mail that has left the mailboxes was read by another than a reader before a place.
func (s *state) takenBefore(place mail.Seq, r *archivedRecord, reader mail.Address) bool {
	isRole := func(a mail.Address) bool { return a.Kind() == mail.ToRole }
	if r == nil || !slices.ContainsFunc(r.msg.To, isRole) || slices.Contains(r.msg.To, reader) {
		return false
	}
	return slices.ContainsFunc(r.marks, func(k marks) bool {
		later := func(e mail.Event) bool {
			return e.Seq > place && e.Receipt.Mark == mail.MarkRead && e.Receipt.Reader.Signer() == k.who.Name
		}
		return k.read != 0 && k.who.Name != reader.Signer() && !slices.ContainsFunc(s.lateMarks[r.msg.ID], later)
	})
}
