package jetstream

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"sync"
	"time"

	"pennypost/internal/base/pause"
	"pennypost/internal/mail"
	"pennypost/internal/room/journal"
	"pennypost/internal/room/journal/jsonl"
)

var (
	_ journal.Journal       = (*Journal)(nil)
	_ journal.Replayer      = (*Journal)(nil)
	_ journal.Compacter     = (*Journal)(nil)
	_ journal.Verifier      = (*Journal)(nil)
	_ journal.AfterAppender = (*Journal)(nil)
	_ journal.Reopener      = (*Journal)(nil)
	_ journal.Prover        = (*Journal)(nil)
)

// files are the methods that the copy serves by itself. Compaction leaves the stream unchanged, which keeps
// everything.
type files interface {
	Last() mail.Seq
	Follow(after mail.Seq) journal.Cursor
	Replay() journal.Cursor
	Read(ctx context.Context, seqs ...mail.Seq) ([]mail.Event, error)
	Compact(ctx context.Context, fate func(mail.Event) journal.Fate) error
	Archived(ctx context.Context, from mail.Seq, newest bool) iter.Seq2[mail.Event, error]
	ArchivedOf(ctx context.Context, ids ...mail.ID) ([]mail.Event, error)
	ArchivedAt(ctx context.Context, seqs ...mail.Seq) ([]mail.Event, error)
	Condition() journal.Condition
	News(ctx context.Context) ([]journal.News, error)
	Snapshot(ctx context.Context) (*jsonl.Snapshot, error)
}

// Journal is a journal.Journal whose events are in a stream, with a copy in a directory.
type Journal struct {
	files // the local copy
	// Fixed by Open.
	cluster *Cluster
	room    string
	dir     string // of the copy
	log     *slog.Logger
	local   *jsonl.Journal
	writer  string             // prefix of the ids of this journal's messages
	ctx     context.Context    // ends when the journal is closed
	stop    context.CancelFunc // ends it
	running sync.WaitGroup     // the follower and the flights
	reopen  chan struct{}      // closed when the journal must be opened again
	overdue pause.Nudge        // something was acknowledged some time ago, but not delivered
	ended   chan struct{}      // closed when the fence has arrived, after which nothing counts
	rings   rings              // owned by the follower

	mu       sync.Mutex
	subject  string  // to which events are sent, once the room was found
	shared   bool    // whether that is in a shard
	points   *points // positions of events in it
	left     string  // the subject that the room has left
	queue    []*request
	flights  int // goroutines that send
	closing  bool
	sent     uint64             // number of messages that were given ids
	paced    time.Time          // when all that was sent should have been, at a room's rate
	pending  map[string]*flight // sent, but not known to be stored; by the id of the last message
	current  bool               // the copy has reached the stream's end since it is followed
	checked  uint64             // the connection over which the copy was compared with the stream
	trouble  error              // why the stream could not be followed, or delivered events not placed
	diverged error              // why the journal must be opened again
	moved    error              // where the room went, once ended is closed
	advanced chan struct{}      // closed when the copy has grown, or current changes
	standing standing           // the known keys of the machines
	numbered uint64             // the last number of a signed message
	ways     [maxFlights]bool   // those in use by a flight

	placing sync.Mutex        // held while events are placed in the copy
	cold    map[mail.Seq]bool // the events that belong in the archive; see noteCold
}

// Open opens the journal of a room with its copy in dir, and creates both if necessary. It returns when the copy has
// caught up with the stream, or when the servers have not answered for a while and the copy is not empty.
func (c *Cluster) Open(ctx context.Context, room, dir string, opts jsonl.Options) (*Journal, error) {
	opts.Copy = true
	began := time.Now()
	if err := removePartialCopy(dir); err != nil {
		return nil, err
	}
	local, err := jsonl.Open(dir, opts)
	if err != nil {
		return nil, err
	}
	j := &Journal{
		cluster: c, room: room, dir: dir, points: loadPoints(dir), rings: loadRings(dir),
		log:   cmp.Or(opts.Log, slog.New(slog.DiscardHandler)).With("room", room),
		local: local, files: local,
		overdue: pause.NewNudge(), writer: rand.Text(), reopen: make(chan struct{}), ended: make(chan struct{}),
		pending: make(map[string]*flight), advanced: make(chan struct{}),
	}
	j.ctx, j.stop = context.WithCancel(context.Background())
	wait := patience
	l, err := j.reconcile(ctx)
	if isNewer(err) {
		return nil, errors.Join(err, j.Close())
	} else if err != nil {
		j.log.Warn("copy not compared with the servers", "err", err)
		wait = max(patience-time.Since(began), patience/4)
	}
	first := make(chan error, 1)
	j.running.Go(func() { j.follow(l, first) })
	if err := errors.Join(j.catchUp(ctx, first, wait), j.putAway(ctx)); err != nil {
		return nil, errors.Join(err, j.Close())
	}
	return j, nil
}

// catchUp waits until the copy has caught up with the stream. The first progress must come within wait.
func (j *Journal) catchUp(ctx context.Context, first <-chan error, wait time.Duration) error {
	failed := errSilent
	at, stalled := j.local.Last(), time.NewTimer(wait)
	defer stalled.Stop()
	if _, _, err := j.cluster.connection(); err != nil && at > 0 {
		return nil // there is no server to wait for
	}
	for {
		j.mu.Lock()
		current, advanced, diverged := j.current, j.advanced, j.diverged
		j.mu.Unlock()
		if isNewer(diverged) {
			return diverged
		}
		if current {
			return nil
		}
		if now := j.local.Last(); now != at {
			at = now
			stalled.Reset(patience)
		}
		select {
		case <-advanced:
		case failed = <-first:
			if said := saidOf(failed, at); said != nil {
				return said
			}
		case <-ctx.Done():
			return ctx.Err()
		case <-stalled.C:
			if at > 0 && !j.fetching() {
				return nil
			}
			return &mail.Error{Code: mail.Unavailable, Err: failed,
				Msg: fmt.Sprintf("room %s is not on this machine yet and cannot be fetched: %s. Try again when "+
					"they answer", j.room, j.cluster.away(failed))}
		}
	}
}

// saidOf returns the servers' answer that a room is not for this machine, nil if the room cannot be followed for
// another reason. The copy of a room whose shard is gone, or whose place another room has taken, can still be read.
func saidOf(failed error, at mail.Seq) error {
	said, ok := errors.AsType[*mail.Error](failed)
	if !ok || at > 0 && (errors.Is(failed, errShardGone) || errors.Is(failed, errForged)) {
		return nil
	}
	return said
}

// Close implements journal.Journal.
func (j *Journal) Close() error {
	j.mu.Lock()
	j.closing = true
	for len(j.queue) > 0 || j.flights > 0 {
		advanced := j.advanced
		j.mu.Unlock()
		<-advanced
		j.mu.Lock()
	}
	j.mu.Unlock()
	j.stop()
	j.running.Wait()
	return errors.Join(j.points.save(true), j.rings.save(true), j.local.Close())
}

// wakeLocked wakes the goroutines that wait for the copy, or for flights to end.
func (j *Journal) wakeLocked() {
	close(j.advanced)
	j.advanced = make(chan struct{})
}
