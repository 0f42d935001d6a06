package bridge

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"pennypost/internal/base/durable"
	"pennypost/internal/base/pause"
	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

// Room is the room of a bridge.
type Room interface {
	As(caller mail.Name) mail.Service
	// ForFiles returns the room as the user sees it, for changes that come from foreign files.
	ForFiles() mail.Service
	// Shown returns the sequence number of the last event that a watch shows.
	Shown() mail.Seq
	// Note records marks that readers made elsewhere, and returns how many of them changed something.
	Note(ctx context.Context, receipts []mail.Receipt) (int, error)
}

// Options configure a bridge. Room, Dialect, Bridge and State must be set.
type Options struct {
	Room    Room
	Dialect dialect.Dialect
	Bridge  mail.Bridge
	Others  []mail.Bridge // other bridges of the room
	State   string        // a directory of its own; created if missing
	Now     func() time.Time
	Log     *slog.Logger
	Getenv  func(string) string
	// Retention of a format that is trimmed.
	RetainAge   time.Duration
	RetainCount int
}

// Time limits of a bridge.
const (
	// pollEvery is how often the files are checked if the system reports no changes.
	pollEvery = 2 * time.Second
	// firstRetry and lastRetry bound the back-off between attempts to write.
	firstRetry = 200 * time.Millisecond
	lastRetry  = 10 * time.Second
	// patience is how long a sender waits for slow files. After it the send succeeds as it does when they fail.
	patience = 100 * time.Millisecond
	// firstPatience is how long the first callers of a room wait for its files.
	firstPatience = time.Second
	// stuckAfter is how long the use of the files may make no progress before the status reports that they hang.
	stuckAfter = 3 * time.Second
	// syncPatience is how long Sync waits for files that hang or for a long import, which then continues without it.
	syncPatience = 5 * time.Second
	// stopPatience is how long a stopping bridge may take to return from its files. After it the bridge is
	// abandoned.
	stopPatience = time.Second
)

// Bridge is one bridge. Run drives it.
type Bridge struct {
	opts Options
	log  *slog.Logger

	files chan struct{} // full while open and news are in use; filled before mu is locked
	dir   *placed       // the directory; nil until it is known
	open  dialect.Files // nil until opened
	news  *dialect.News // read, but not yet in the room
	kick  pause.Nudge   // ends the pause between attempts to write
	look  pause.Nudge   // ends the pause between looks at the files

	mu      sync.Mutex
	begunAt time.Time // start of the present use of the files; zero if there is none
	busy    time.Time // last progress of that use
	status  mail.BridgeStatus
	owes    mail.Seq       // sequence number of the first event that a part of the files could not take; 0: none
	failing [3]string      // by direction
	refused int            // messages in the files that the room refused
	refuses []mail.BadLine // the first of them, with reasons
	looks   int            // looks at the files begun
	looked  int            // number of the last look that ended
	unseen  bool           // that look failed
	begun   int            // attempts to write begun
	failed  int            // number of the last attempt that failed; 0: none
	moved   chan struct{}  // closed and replaced when status or failed changes
}

// New returns a bridge that is not running.
func New(opts Options) *Bridge {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.Getenv == nil {
		opts.Getenv = func(string) string { return "" }
	}
	b := &Bridge{
		opts: opts, log: opts.Log.With("bridge", opts.Bridge.ID),
		files: make(chan struct{}, 1), kick: pause.NewNudge(), look: pause.NewNudge(), moved: make(chan struct{}),
	}
	b.status.Bridge = opts.Bridge
	b.status.Seq, b.owes = b.loadCursor()
	return b
}

// begin marks the bridge as running before Run starts: from now on Await waits.
func (b *Bridge) begin() { b.change(func(s *mail.BridgeStatus) { s.Running = true }) }

// Run keeps room and files in sync until ctx ends.
func (b *Bridge) Run(ctx context.Context) {
	b.begin()
	defer b.change(func(s *mail.BridgeStatus) { s.Running = false })
	defer b.close()
	var both sync.WaitGroup
	both.Go(func() { b.follow(ctx) })
	if b.opts.Bridge.Mode != mail.BridgeFollow {
		both.Go(func() { b.mirror(ctx) })
	}
	both.Wait()
}

// Status returns the bridge's status.
func (b *Bridge) Status() mail.BridgeStatus {
	shown := b.opts.Room.Shown()
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.status
	if s.Mode != mail.BridgeFollow && shown > s.Seq {
		s.Behind = int(shown - s.Seq)
	}
	if b.owes > 0 && s.Failing == "" { // the reason is not known yet after a start
		s.Behind = max(s.Behind, int(shown-b.owes)+1)
	}
	if d := b.busyForLocked(); d > stuckAfter && s.Failing == "" {
		s.Failing = fmt.Sprintf("reading its files in %s has taken %v so far", s.Dir, d.Round(time.Second))
		s.Since = mail.TimeOf(b.opts.Now().Add(-d))
	}
	if !b.begunAt.IsZero() && time.Since(b.begunAt) > stuckAfter {
		s = goesOn(s)
	}
	return s
}

// goesOn returns the status of a bridge whose import takes longer than a moment.
func goesOn(s mail.BridgeStatus) mail.BridgeStatus {
	if s.Failing == "" {
		s.Notice = fmt.Sprintf("it is still importing from the files (%s so far) and continues by itself",
			wording.Plural(s.Imported, "message"))
	}
	return s
}

// Written returns the sequence number up to which the files are complete.
func (b *Bridge) Written() mail.Seq {
	if b.opts.Bridge.Mode == mail.BridgeFollow {
		return math.MaxUint64
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.owes > 0 {
		return min(b.status.Seq, b.owes-1)
	}
	return b.status.Seq
}

// working records that the use of the files makes progress.
func (b *Bridge) working() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.busy.IsZero() {
		b.busy = time.Now()
	}
}

// busyForLocked returns how long the files have been in use without progress.
func (b *Bridge) busyForLocked() time.Duration {
	if b.busy.IsZero() {
		return 0
	}
	return time.Since(b.busy)
}

// Await returns when the files have everything up to seq, or immediately if the bridge fails, hangs or does not
// write: a send succeeds regardless of the files. It waits for slow files until ctx ends.
func (b *Bridge) Await(ctx context.Context, seq mail.Seq) {
	b.until(ctx, func(s *mail.BridgeStatus, _ int) bool {
		return s.Mode == mail.BridgeFollow || s.Seq >= seq || b.failing[in]+b.failing[out] != "" || !s.Running ||
			b.busyForLocked() > patience
	})
}

// Sync syncs both sides now and returns the status. It stops waiting for files that hang or take long; the bridge
// then continues, as the status says.
func (b *Bridge) Sync(ctx context.Context) mail.BridgeStatus {
	ctx, cancel := context.WithTimeout(ctx, syncPatience)
	defer cancel()
	target := b.opts.Room.Shown()
	b.mu.Lock()
	looks, before := b.looks, b.begun // operations in progress may have met an earlier fault: they do not count
	b.mu.Unlock()
	b.look.Give()
	b.kick.Give()
	seen := false
	b.until(ctx, func(s *mail.BridgeStatus, _ int) bool {
		seen = b.looked > looks && !b.unseen
		return b.looked > looks || !s.Running
	})
	if seen {
		target = max(target, b.opts.Room.Shown())
		b.until(ctx, func(s *mail.BridgeStatus, failed int) bool {
			return s.Mode == mail.BridgeFollow || s.Seq >= target || failed > before || !s.Running
		})
	}
	if ctx.Err() != nil {
		return goesOn(b.Status())
	}
	return b.Status()
}

// RejectedLines reads the files' news and lists malformed lines, as defined by mail.Connector.
func (b *Bridge) RejectedLines(ctx context.Context) (list []mail.BadLine, err error) {
	ctx, cancel := context.WithTimeout(ctx, syncPatience)
	defer cancel()
	if _, err = b.inward(ctx); err == nil {
		err = b.use(ctx, func(f dialect.Files) error {
			list, err = f.Rejected()
			return err
		})
	}
	if err != nil {
		return nil, mail.Errorf(mail.Conflict, "the files of the bridge %s cannot be read: %w", b.opts.Bridge.ID,
			err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	list = slices.Concat(list, b.refuses)
	return list[:min(len(list), mail.MaxBadLines)], nil
}

// until blocks until done or ctx ends.
func (b *Bridge) until(ctx context.Context, done func(s *mail.BridgeStatus, failed int) bool) {
	for {
		b.mu.Lock()
		ok, moved := done(&b.status, b.failed), b.moved
		b.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return
		}
	}
}

// change changes the status and wakes waiters.
func (b *Bridge) change(f func(*mail.BridgeStatus)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f(&b.status)
	close(b.moved)
	b.moved = make(chan struct{})
}

// direction is an index of Bridge.failing.
type direction int

const (
	in direction = iota
	out
	part // part of the files cannot be written
)

// outcome records the result of an attempt, and returns err.
func (b *Bridge) outcome(ctx context.Context, way direction, err error) error {
	if ctx.Err() != nil {
		return err // the bridge is stopping, which is no failure of the files
	}
	var was string
	b.change(func(s *mail.BridgeStatus) {
		was, b.failing[way] = b.failing[way], ""
		if err != nil {
			b.failing[way] = err.Error()
		}
		before := s.Failing
		s.Failing = cmp.Or(b.failing[out], b.failing[in], b.failing[part])
		switch {
		case s.Failing == "":
			s.Since = 0
		case before == "":
			s.Since = mail.TimeOf(b.opts.Now())
		}
	})
	switch {
	case err != nil && was == "":
		b.log.Warn("bridge failed", "dir", b.opts.Bridge.Dir, "err", err)
	case err == nil && was != "":
		b.log.Info("bridge works again", "dir", b.opts.Bridge.Dir)
	}
	return err
}

// use runs f on the files, and opens them first if necessary.
func (b *Bridge) use(ctx context.Context, f func(dialect.Files) error) error {
	if err := b.hold(ctx); err != nil {
		return err
	}
	defer b.release()
	// Check each time: open files would recreate a directory that was moved away, and the mailbox in it.
	if err := b.there(ctx); err != nil {
		b.closeLocked()
		return err
	}
	if b.open == nil {
		if err := b.openFiles(); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return f(b.open)
}

// hold waits until the files are free.
func (b *Bridge) hold(ctx context.Context) error {
	select {
	case b.files <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.busy = time.Now()
	b.begunAt = b.busy
	return nil
}

func (b *Bridge) release() {
	b.mu.Lock()
	b.busy, b.begunAt = time.Time{}, time.Time{}
	if open, ok := b.open.(dialect.Owing); ok {
		b.owes = open.Owes()
	}
	b.mu.Unlock()
	<-b.files
}

func (b *Bridge) openFiles() error {
	o := &b.opts
	open, err := o.Dialect.Files(dialect.FilesOptions{
		Dir: b.dir.Dir(b.dir.Below), State: o.State, Service: o.Room.ForFiles(), Bridge: o.Bridge, Others: o.Others,
		Now: o.Now, Log: b.log, Getenv: o.Getenv, Working: b.working, RetainAge: o.RetainAge,
		RetainCount: o.RetainCount,
	})
	if err == nil {
		b.open = open
	}
	return err
}

func (b *Bridge) close() {
	if b.hold(context.Background()) == nil {
		defer b.release()
		b.closeLocked()
	}
}

// closeLocked closes the files if they are open.
func (b *Bridge) closeLocked() {
	if b.open == nil {
		return
	}
	if err := b.open.Close(); err != nil {
		b.log.Warn("bridge not closed cleanly", "err", err)
	}
	b.open = nil
}

func (b *Bridge) cursorFile() string { return filepath.Join(b.opts.State, "cursor") }

// loadCursor returns how far the files are, and the first event that a part of them lacks.
func (b *Bridge) loadCursor() (seq, owes mail.Seq) {
	text, _ := durable.ReadFile(b.cursorFile()) // a new bridge has no cursor and starts at the beginning
	_, _ = fmt.Sscan(string(text), &seq, &owes)
	return seq, owes
}

// saveCursor does not wait for the disk: after a power cut the cursor may be old, and events that the files already
// have are not written again.
func (b *Bridge) saveCursor(seq mail.Seq) error {
	b.mu.Lock()
	owes := b.owes
	b.mu.Unlock()
	return durable.ReplaceUnsynced(b.cursorFile(), fmt.Appendln(nil, seq, owes))
}
