package mailroom

import (
	"sync"

	"pennypost/internal/mail"
)

// underWay are messages that somebody was given, as is being recorded: servers may take seconds for that. Nobody is
// rung for them meanwhile, though a turn ends.
type underWay struct {
	mu sync.Mutex
	of map[given]int
}

// given is a message and who was given it.
type given struct {
	id     mail.ID
	reader mail.Address
}

// add takes in what events say, until done is called.
func (u *underWay) add(events []mail.Event) (done func()) {
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
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.of == nil {
			u.of = make(map[given]int)
		}
		for _, g := range these {
			if u.of[g] += by; u.of[g] == 0 {
				delete(u.of, g)
			}
		}
	}
	count(1)
	return func() { count(-1) }
}

// has reports whether it is being recorded that somebody was given a message.
func (u *underWay) has(id mail.ID, reader mail.Address) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.of[given{id, reader}] > 0
}
