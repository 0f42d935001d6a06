package mailroom

import (
	"slices"

	"pennypost/internal/mail"
)

// lateMarks are receipts for messages that are in the archive already. The next compaction takes them there too; but
// when the state hears of that by its checkpoint it is yet to be done. So they are kept until the checkpoint after.
// What stands in both counts once.
type lateMarks struct {
	recent, older map[mail.ID][]mail.Event
}

// of returns the late receipts for a message.
func (l *lateMarks) of(id mail.ID) []mail.Event {
	return append(slices.Clone(l.older[id]), l.recent[id]...)
}

// add keeps a receipt instead of the one of the same kind by the same reader, so that marking back and forth takes no
// memory.
func (l *lateMarks) add(e *mail.Event) {
	if l.recent == nil {
		l.recent = make(map[mail.ID][]mail.Event)
	}
	id := e.Receipt.Message
	l.recent[id] = append(slices.DeleteFunc(slices.Clone(l.recent[id]), func(old mail.Event) bool {
		return old.Receipt.Reader == e.Receipt.Reader && old.Receipt.Mark == e.Receipt.Mark
	}), *e)
}

func (l *lateMarks) age() { l.older, l.recent = l.recent, nil }
