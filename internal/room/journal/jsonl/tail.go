package jsonl

import (
	"sort"

	"pennypost/internal/mail"
)

// tailBytes bounds the memory that serves live followers. A slower follower reads from the file again. Most messages
// in it share memory with the room that sent them.
const tailBytes = 4 << 20

// tail holds the latest batches as they were appended, so that live followers share them and decode nothing.
type tail struct {
	batches []batch
	bytes   int
	after   mail.Seq // batches has every durable event after it
}

type batch struct {
	events []mail.Event
	bytes  int
	prev   uint32 // the crc of the line before the first
}

func (t *tail) add(events []mail.Event, bytes int, prev uint32) {
	t.batches = append(t.batches, batch{events, bytes, prev})
	t.bytes += bytes
	for t.bytes > tailBytes && len(t.batches) > 1 {
		old := &t.batches[0]
		t.after = old.events[len(old.events)-1].Seq
		t.bytes -= old.bytes
		*old = batch{}
		t.batches = t.batches[1:]
	}
}

// reset forgets everything up to last.
func (t *tail) reset(last mail.Seq) { *t = tail{after: last} }

// behind returns some events after seq, which must not be before t.after.
func (t *tail) behind(seq mail.Seq) []mail.Event {
	i := sort.Search(len(t.batches), func(i int) bool {
		events := t.batches[i].events
		return events[len(events)-1].Seq > seq
	})
	if i == len(t.batches) {
		return nil
	}
	events := t.batches[i].events
	from := sort.Search(len(events), func(i int) bool { return events[i].Seq > seq })
	return events[from:len(events):len(events)]
}
