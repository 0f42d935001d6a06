package demoday

import (
	"context"
	"slices"
	"sync"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal"
)

// ledger is the journal of a story while it is played. It goes to the disk as a whole when that is done, because a
// newcomer should not wait for a thousand syncs.
type ledger struct {
	mu     sync.Mutex
	events []mail.Event
	closed bool
	grown  chan struct{} // closed, and replaced, at every change
}

var _ journal.Journal = (*ledger)(nil)

func newLedger() *ledger { return &ledger{grown: make(chan struct{})} }

// Append implements journal.Journal.
func (l *ledger) Append(_ context.Context, events ...mail.Event) (mail.Seq, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return 0, journal.ErrClosed
	}
	for _, e := range events {
		e.Seq = mail.Seq(len(l.events) + 1)
		l.events = append(l.events, e)
	}
	l.changedLocked()
	return mail.Seq(len(l.events)), nil
}

func (l *ledger) changedLocked() {
	close(l.grown)
	l.grown = make(chan struct{})
}

// Last implements journal.Journal.
func (l *ledger) Last() mail.Seq {
	l.mu.Lock()
	defer l.mu.Unlock()
	return mail.Seq(len(l.events))
}

// Follow implements journal.Journal.
func (l *ledger) Follow(after mail.Seq) journal.Cursor { return &page{ledger: l, after: after} }

// Read implements journal.Journal.
func (l *ledger) Read(_ context.Context, places ...mail.Seq) ([]mail.Event, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var events []mail.Event
	for _, seq := range slices.Compact(slices.Sorted(slices.Values(places))) {
		if 0 < seq && int(seq) <= len(l.events) {
			events = append(events, l.events[seq-1])
		}
	}
	return events, nil
}

// Close implements journal.Journal.
func (l *ledger) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.closed = true
		l.changedLocked()
	}
	return nil
}

// page is a cursor. It ends with its ledger.
type page struct {
	ledger *ledger
	after  mail.Seq
}

func (p *page) Next(ctx context.Context) ([]mail.Event, error) {
	for {
		p.ledger.mu.Lock()
		events, closed, grown := p.ledger.events[p.after:], p.ledger.closed, p.ledger.grown
		p.ledger.mu.Unlock()
		switch {
		case len(events) > 0:
			p.after += mail.Seq(len(events))
			return events, nil
		case closed:
			return nil, journal.ErrClosed
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (p *page) Close() error { return nil }
