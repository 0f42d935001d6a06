package bridge

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"pennypost/internal/base/durable"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

// Set runs the bridges of one room. Its owner supplies the list.
type Set struct {
	opts     Options // without Dialect, Bridge, Others and State
	dialects []dialect.Dialect
	dir      string // parent of the bridges' own directories

	reconciling sync.Mutex // serialises changes of the list; locked before mu
	// hung has the bridges that did not end in time, by id; each channel is closed when its bridge ends. Guarded by
	// reconciling.
	hung map[string]<-chan struct{}

	mu      sync.Mutex
	bridges []*running
	closed  bool
}

type running struct {
	*Bridge
	stop context.CancelFunc
	done chan struct{}
}

// NewSet returns an empty set for a room. dir is created with the first bridge.
func NewSet(dialects []dialect.Dialect, dir string, opts Options) *Set {
	return &Set{opts: opts, dialects: dialects, dir: dir, hung: make(map[string]<-chan struct{})}
}

// Check returns an error if a bridge cannot be added.
func Check(dialects []dialect.Dialect, b *mail.Bridge) error {
	if err := b.Check(); err != nil {
		return err
	}
	d, err := dialect.Find(dialects, b.Dialect)
	switch {
	case err != nil:
		return err
	case d.Files == nil:
		return mail.Errorf(mail.Invalid, "%s has no files to bridge", b.Dialect)
	}
	info, err := os.Stat(b.Dir)
	if err != nil || !info.IsDir() {
		return mail.Errorf(mail.NotFound, "no directory %s. Nothing was added", b.Dir)
	}
	return nil
}

// Reconcile starts new bridges, stops those no longer in the room's list, and restarts changed ones. It leaves a
// directory for each bridge, from which the post office learns at startup which rooms it must open.
func (s *Set) Reconcile(bridges func() ([]mail.BridgeStatus, error)) error {
	s.reconciling.Lock()
	defer s.reconciling.Unlock()
	list, err := bridges()
	if err != nil {
		return err
	}
	var all []mail.Bridge
	for _, b := range list {
		all = append(all, b.Bridge)
	}
	s.mu.Lock()
	now := slices.Clone(s.bridges)
	s.mu.Unlock()
	next := make([]*running, 0, len(all))
	for _, r := range now {
		if slices.Contains(all, r.opts.Bridge) {
			next = append(next, r)
			continue
		}
		r.stop()
		s.await(r, time.Now().Add(stopPatience))
		if !slices.ContainsFunc(all, func(b mail.Bridge) bool { return b.ID == r.opts.Bridge.ID }) {
			s.forget(r.opts.Bridge.ID)
		}
	}
	for _, b := range all {
		if !slices.ContainsFunc(next, func(r *running) bool { return r.opts.Bridge == b }) {
			next = append(next, s.start(b, all))
		}
	}
	slices.SortFunc(next, func(a, b *running) int {
		return slices.Index(all, a.opts.Bridge) - slices.Index(all, b.opts.Bridge)
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bridges = next
	return nil
}

func (s *Set) start(b mail.Bridge, all []mail.Bridge) *running {
	opts := s.opts
	opts.Bridge, opts.State = b, filepath.Join(s.dir, b.ID)
	opts.Others = slices.DeleteFunc(slices.Clone(all), func(o mail.Bridge) bool { return o.ID == b.ID })
	d, err := dialect.Find(s.dialects, b.Dialect)
	if err == nil {
		opts.Dialect = *d
	}
	if d == nil || d.Files == nil { // from a newer version of this program
		opts.Dialect.Files = func(dialect.FilesOptions) (dialect.Files, error) {
			return nil, mail.Errorf(mail.Invalid, "this post office does not know the files of %q", b.Dialect)
		}
	}
	_ = durable.MkdirAll(opts.State, 0o700) // if this fails, opening the files reports it
	ctx, stop := context.WithCancel(context.Background())
	r := &running{Bridge: New(opts), stop: stop, done: make(chan struct{})}
	r.begin()
	before := s.hung[b.ID]
	go func() {
		defer close(r.done)
		r.waitFor(ctx, before)
		r.Run(ctx)
	}()
	return r
}

// waitFor waits for the previous bridge with this id, if it hung: it may still write the same changes.
func (r *running) waitFor(ctx context.Context, before <-chan struct{}) {
	if before == nil {
		return
	}
	_ = r.outcome(ctx, in, errors.New("the previous bridge of this name is still waiting for its files"))
	select {
	case <-before:
	case <-ctx.Done():
	}
}

// await waits until a stopped bridge has ended. A call that hangs in its files cannot be cancelled: then the bridge
// ends when the call returns, or with the process, and touches nothing more.
func (s *Set) await(r *running, until time.Time) {
	t := time.NewTimer(time.Until(until))
	defer t.Stop()
	select {
	case <-r.done:
	case <-t.C:
		r.log.Warn("bridge still waits for its files; abandoned", "dir", r.opts.Bridge.Dir)
		s.hung[r.opts.Bridge.ID] = r.done
	}
}

// forget removes a bridge's own files.
func (s *Set) forget(id string) {
	_ = os.RemoveAll(filepath.Join(s.dir, id))
	_ = os.Remove(s.dir) // succeeds if it is empty
}

func (s *Set) all() []*running {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bridges
}

// Len returns the number of bridges.
func (s *Set) Len() int { return len(s.all()) }

// Written returns the sequence number up to which all bridges' files are complete. For a closed set it is unknown:
// 0.
func (s *Set) Written() mail.Seq {
	s.mu.Lock()
	defer s.mu.Unlock()
	written := mail.Seq(math.MaxUint64)
	if s.closed {
		written = 0
	}
	for _, r := range s.bridges {
		written = min(written, r.Written())
	}
	return written
}

// Await returns when all bridges' files have everything up to seq, as Bridge.Await does, and after 100 ms in any
// case.
func (s *Set) Await(ctx context.Context, seq mail.Seq) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, r := range s.all() {
		r.Await(ctx, seq)
	}
}

// AwaitLooks returns when all bridges have looked at their files once, and after a second in any case. Until then,
// mail that was read in the files while no post office ran still counts as unread.
func (s *Set) AwaitLooks(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, firstPatience)
	defer cancel()
	for _, r := range s.all() {
		r.until(ctx, func(s *mail.BridgeStatus, _ int) bool { return r.looked > 0 || !s.Running })
	}
}

// Statuses returns the bridges' statuses in the order of adding.
func (s *Set) Statuses() []mail.BridgeStatus {
	out := []mail.BridgeStatus{}
	for _, r := range s.all() {
		out = append(out, r.Status())
	}
	return out
}

// Sync syncs one bridge.
func (s *Set) Sync(ctx context.Context, id string) (mail.BridgeStatus, error) {
	r, err := s.find(id)
	if err != nil {
		return mail.BridgeStatus{}, err
	}
	return r.Sync(ctx), nil
}

// RejectedLines lists the malformed lines of one bridge.
func (s *Set) RejectedLines(ctx context.Context, id string) ([]mail.BadLine, error) {
	r, err := s.find(id)
	if err != nil {
		return nil, err
	}
	return r.RejectedLines(ctx)
}

func (s *Set) find(id string) (*running, error) {
	for _, r := range s.all() {
		if r.opts.Bridge.ID == id {
			return r, nil
		}
	}
	return nil, mail.Errorf(mail.NotFound, "no bridge %q. To list the bridges: pennypost bridge list",
		id)
}

// Close stops all bridges and waits for them, except for files that hang.
func (s *Set) Close() {
	s.reconciling.Lock()
	defer s.reconciling.Unlock()
	for _, r := range s.all() {
		r.stop()
	}
	until := time.Now().Add(stopPatience)
	for _, r := range s.all() {
		s.await(r, until)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bridges, s.closed = nil, true
}
