package journaltest

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"sort"
	"sync"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal"
)

var (
	_ journal.Journal       = (*Memory)(nil)
	_ journal.Compacter     = (*Memory)(nil)
	_ journal.AfterAppender = (*Memory)(nil)
)

// Store is the storage of journals in memory, as a disk is for files: it outlives them, so a journal can be closed and
// reopened. The zero Store is empty. Several journals may be open on one store, like several post offices on one
// stream.
//
// It blocks on channels only, so it can be used in a testing/synctest bubble.
type Store struct {
	mu       sync.Mutex
	events   []mail.Event // only appended to, or replaced: cursors hold parts of it
	archive  []mail.Event
	last     mail.Seq
	rewrites int           // how often events was replaced
	broken   error         // the argument of Break
	grown    chan struct{} // closed when there are new events; nil while no cursor waits
}

// Open returns a journal on s. It makes a broken store work again.
func (s *Store) Open() *Memory {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = nil
	return &Memory{store: s, closed: make(chan struct{})}
}

// Break poisons every journal that is open on s: appends return err until a journal is opened.
func (s *Store) Break(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = err
}

// Memory is a journal in memory. It lives as long as its Store.
type Memory struct {
	store  *Store
	once   sync.Once
	closed chan struct{}
}

func (m *Memory) open() bool {
	select {
	case <-m.closed:
		return false
	default:
		return true
	}
}

// Append implements journal.Journal.
func (m *Memory) Append(ctx context.Context, events ...mail.Event) (mail.Seq, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s := m.store
	s.mu.Lock()
	defer s.mu.Unlock()
	return m.appendLocked(events...)
}

// AppendAfter implements journal.AfterAppender.
func (m *Memory) AppendAfter(ctx context.Context, after mail.Seq, e mail.Event) (mail.Seq, bool, error) {
	if err := ctx.Err(); err != nil {
		return 0, false, err
	}
	s := m.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.open() && s.last != after {
		return 0, false, nil
	}
	seq, err := m.appendLocked(e)
	return seq, err == nil, err
}

// End implements journal.AfterAppender.
func (m *Memory) End(context.Context) (mail.Seq, error) { return m.Last(), nil }

func (m *Memory) appendLocked(events ...mail.Event) (mail.Seq, error) {
	s := m.store
	if !m.open() {
		return 0, journal.ErrClosed
	}
	if s.broken != nil {
		return 0, s.broken
	}
	for _, e := range events {
		s.last++
		e.Seq = s.last
		s.events = append(s.events, e)
	}
	if s.grown != nil && len(events) > 0 {
		close(s.grown)
		s.grown = nil
	}
	return s.last, nil
}

// Last implements journal.Journal.
func (m *Memory) Last() mail.Seq {
	m.store.mu.Lock()
	defer m.store.mu.Unlock()
	return m.store.last
}

// Follow implements journal.Journal.
func (m *Memory) Follow(after mail.Seq) journal.Cursor {
	return &memoryCursor{journal: m, after: after, closed: make(chan struct{})}
}

// Read implements journal.Journal.
func (m *Memory) Read(ctx context.Context, seqs ...mail.Seq) ([]mail.Event, error) {
	if !m.open() {
		return nil, journal.ErrClosed
	}
	s := m.store
	s.mu.Lock()
	defer s.mu.Unlock()
	var events []mail.Event
	for _, seq := range slices.Compact(slices.Sorted(slices.Values(seqs))) {
		i, found := slices.BinarySearchFunc(s.events, seq, func(e mail.Event, seq mail.Seq) int {
			return cmp.Compare(e.Seq, seq)
		})
		if found {
			events = append(events, s.events[i])
		}
	}
	return events, ctx.Err()
}

// Close implements journal.Journal.
func (m *Memory) Close() error {
	m.once.Do(func() { close(m.closed) })
	return nil
}

// behind returns some events that follow after, or a channel that closes when there may be some.
func (s *Store) behind(after mail.Seq) ([]mail.Event, <-chan struct{}) {
	const some = 1000 // so that a reader of a long journal checks its context in between
	s.mu.Lock()
	defer s.mu.Unlock()
	from := sort.Search(len(s.events), func(i int) bool { return s.events[i].Seq > after })
	if to := min(from+some, len(s.events)); from < to {
		return s.events[from:to:to], nil
	}
	if s.grown == nil {
		s.grown = make(chan struct{})
	}
	return nil, s.grown
}

type memoryCursor struct {
	journal *Memory
	after   mail.Seq
	once    sync.Once
	closed  chan struct{}
}

func (c *memoryCursor) Next(ctx context.Context) ([]mail.Event, error) {
	for {
		select {
		case <-c.closed:
			return nil, journal.ErrClosed
		case <-c.journal.closed:
			return nil, journal.ErrClosed
		case <-ctx.Done():
			return nil, ctx.Err()
		default:
		}
		events, grown := c.journal.store.behind(c.after)
		if len(events) > 0 {
			c.after = events[len(events)-1].Seq
			return events, nil
		}
		select {
		case <-grown:
		case <-c.closed:
		case <-c.journal.closed:
		case <-ctx.Done():
		}
	}
}

func (c *memoryCursor) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

// Compact implements journal.Compacter.
func (m *Memory) Compact(ctx context.Context, fate func(mail.Event) journal.Fate) error {
	return m.rewrite(ctx, func(events, archive []mail.Event) (kept, archived []mail.Event) {
		for i, e := range events {
			// We must not decide about events of a newer Pennypost.
			if i == len(events)-1 || e == (mail.Event{Seq: e.Seq, At: e.At}) {
				kept = append(kept, e)
				continue
			}
			switch fate(e) {
			case journal.Keep:
				kept = append(kept, e)
			case journal.Archive:
				archive = append(archive, e)
			}
		}
		return kept, archive
	})
}

// Erase implements journal.Compacter.
func (m *Memory) Erase(ctx context.Context, _ mail.ID, match func(mail.Event) bool) (int, error) {
	var gone int
	err := m.rewrite(ctx, func(events, archive []mail.Event) (kept, archived []mail.Event) {
		kept = slices.DeleteFunc(slices.Clone(events), match)
		archived = slices.DeleteFunc(slices.Clone(archive), match)
		gone = len(events) - len(kept) + len(archive) - len(archived)
		return kept, archived
	})
	return gone, err
}

// rewrite replaces the events and the archive by the result of plan. Plan calls back, so it runs without the lock:
// later events are kept, and if another rewrite was faster plan runs again.
func (m *Memory) rewrite(ctx context.Context, plan func(events, archive []mail.Event) (kept,
	archived []mail.Event)) error {
	s := m.store
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !m.open() {
			return journal.ErrClosed
		}
		s.mu.Lock()
		events, archive, rewrites := s.events, slices.Clip(s.archive), s.rewrites
		s.mu.Unlock()
		kept, archived := plan(events, archive)
		s.mu.Lock()
		if s.rewrites == rewrites {
			s.events = slices.Clip(append(kept, s.events[len(events):]...))
			s.archive, s.rewrites = archived, rewrites+1
			s.mu.Unlock()
			return nil
		}
		s.mu.Unlock()
	}
}

// Archived implements journal.Compacter.
func (m *Memory) Archived(ctx context.Context, from mail.Seq, newest bool) iter.Seq2[mail.Event, error] {
	return func(yield func(mail.Event, error) bool) {
		if !m.open() {
			yield(mail.Event{}, journal.ErrClosed)
			return
		}
		for _, e := range m.inOrder(newest) {
			if err := ctx.Err(); err != nil {
				yield(mail.Event{}, err)
				return
			}
			if newest && from != 0 && e.Seq >= from || !newest && e.Seq <= from {
				continue
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// ArchivedOf implements journal.Compacter.
func (m *Memory) ArchivedOf(ctx context.Context, ids ...mail.ID) ([]mail.Event, error) {
	if !m.open() {
		return nil, journal.ErrClosed
	}
	return slices.DeleteFunc(m.inOrder(false), func(e mail.Event) bool {
		return !(e.Message != nil && slices.Contains(ids, e.Message.ID) ||
			e.Receipt != nil && slices.Contains(ids, e.Receipt.Message) ||
			e.Erased != nil && slices.Contains(ids, e.Erased.Message) ||
			e.Settled != nil && slices.Contains(ids, e.Settled.Message))
	}), ctx.Err()
}

// ArchivedAt implements journal.Compacter.
func (m *Memory) ArchivedAt(ctx context.Context, seqs ...mail.Seq) ([]mail.Event, error) {
	if !m.open() {
		return nil, journal.ErrClosed
	}
	return slices.DeleteFunc(m.inOrder(false), func(e mail.Event) bool {
		return !slices.Contains(seqs, e.Seq)
	}), ctx.Err()
}

// inOrder returns the archived events in sequence, or in reverse.
func (m *Memory) inOrder(newest bool) []mail.Event {
	m.store.mu.Lock()
	events := slices.Clone(m.store.archive)
	m.store.mu.Unlock()
	slices.SortStableFunc(events, func(a, b mail.Event) int { return cmp.Compare(a.Seq, b.Seq) })
	if newest {
		slices.Reverse(events)
	}
	return events
}
