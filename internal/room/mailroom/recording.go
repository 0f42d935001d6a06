package mailroom

import (
	"sync"

	"pennypost/internal/mail"
)

// recording counts the appends in progress that record who was given which message. With the journal on servers such
// an append may take seconds, and until it is done the mail is still unread in the state.
type recording struct {
	mu sync.Mutex
	of map[given]int
}

// given is a message and the reader who was given it.
type given struct {
	id     mail.ID
	reader mail.Address
}

// add counts such receipts among events, until done is called.
func (r *recording) add(events []mail.Event) (done func()) {
	var these []given
	for i := range events {
		rc := events[i].Receipt
		if rc == nil {
			continue
		}
		switch rc.Mark {
		case mail.MarkPresented, mail.MarkRead, mail.MarkArchived:
			these = append(these, given{rc.Message, rc.Reader})
		}
	}
	if len(these) == 0 {
		return func() {}
	}
	count := func(by int) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.of == nil {
			r.of = make(map[given]int)
		}
		for _, g := range these {
			if r.of[g] += by; r.of[g] == 0 {
				delete(r.of, g)
			}
		}
	}
	count(1)
	return func() { count(-1) }
}

// has reports whether an append in progress records that reader was given the message.
func (r *recording) has(id mail.ID, reader mail.Address) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.of[given{id, reader}] > 0
}
