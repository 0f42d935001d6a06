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
	_ journal.Journal   = (*Journal)(nil)
	_ journal.Replayer  = (*Journal)(nil)
	_ journal.Compacter = (*Journal)(nil)
	_ journal.Verifier  = (*Journal)(nil)
	_ journal.Behinder  = (*Journal)(nil)
	_ journal.Reopener  = (*Journal)(nil)
	_ journal.Prover    = (*Journal)(nil)
)

// files is what the copy answers by itself. To compact it leaves the stream as it is, which keeps all.
type files interface {
	Last() mail.Seq
	Follow(after mail.Seq) journal.Cursor
	Replay() journal.Cursor
	Read(ctx context.Context, places ...mail.Seq) ([]mail.Event, error)
	Compact(ctx context.Context, fate func(mail.Event) journal.Fate) error
	Archived(ctx context.Context, from mail.Seq, newest bool) iter.Seq2[mail.Event, error]
	ArchivedOf(ctx context.Context, ids ...mail.ID) ([]mail.Event, error)
	ArchivedAt(ctx context.Context, places ...mail.Seq) ([]mail.Event, error)
	Condition() journal.Condition
	News(ctx context.Context) ([]journal.News, error)
	Snapshot(ctx context.Context) (*jsonl.Snapshot, error)
}

// Journal is a journal.Journal whose events are in a stream, with a copy in a directory.
type Journal struct {
	files // the copy, which is local
	// Fixed by Open.
	cluster *Cluster
	room    string
	dir     string // of the copy
	log     *slog.Logger
	local   *jsonl.Journal
	writer  string             // begins the ids of this journal's messages
	ctx     context.Context    // ends when the journal is closed
	stop    context.CancelFunc // ends it
	running sync.WaitGroup     // the follower and the flights
	reopen  chan struct{}      // closed when the journal must be opened again
	overdue pause.Nudge        // something was acknowledged some time ago, and has not come
	ended   chan struct{}      // closed when the fence has come behind which nothing counts
	rings   rings              // the follower's

	mu       sync.Mutex
	subject  string  // to which events are sent, once the room was found
	shared   bool    // that is in a shard
	points   *points // where events are there
	left     string  // the subject that the room has left for another
	queue    []*request
	flights  int // goroutines that send
	closing  bool
	sent     uint64             // messages that were given ids
	paced    time.Time          // when all that was sent had been, at the rate that a room has
	pending  map[string]*flight // by the id of its last message: what was sent, and is not known to be stored
	current  bool               // the copy has been as far as the stream since it is followed
	checked  uint64             // the connection over which the copy was compared with the stream
	trouble  error              // why the stream could not be followed, or what came not placed
	diverged error              // why the journal must be opened again
	moved    error              // where the room went, once ended is closed
	advanced chan struct{}      // closed when the copy has grown, or current changes
	standing standing           // what is known of the machines' keys
	numbered uint64             // the last number of what was signed
	ways     [maxFlights]bool   // those by which a flight sends

	placing sync.Mutex        // held while something is placed in the copy
	cold    map[mail.Seq]bool // places of what belongs into the archive; see noteCold
}

// Open opens the journal of a room, whose copy is in dir, and makes both if they are not there. It returns when the
// copy is as far as the stream, or the servers have not answered for a while and there is something in the copy.
func (c *Cluster) Open(ctx context.Context, room, dir string, opts jsonl.Options) (*Journal, error) {
	opts.Copy = true
	began := time.Now()
	if err := fetchAnew(dir); err != nil {
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
	if err := j.reconcile(ctx); isNewer(err) {
		return nil, errors.Join(err, j.Close())
	} else if err != nil {
		j.log.Warn("the copy was not compared with the servers", "err", err)
		wait = max(patience-time.Since(began), patience/4)
	}
	first := make(chan error, 1)
	j.running.Go(func() { j.follow(first) })
	if err := errors.Join(j.catchUp(ctx, first, wait), j.putAway(ctx)); err != nil {
		return nil, errors.Join(err, j.Close())
	}
	return j, nil
}

// catchUp waits until the copy is as far as the stream. The first of it has to come within a wait.
func (j *Journal) catchUp(ctx context.Context, first <-chan error, wait time.Duration) error {
	failed := errSilent
	at, stalled := j.local.Last(), time.NewTimer(wait)
	defer stalled.Stop()
	if _, _, err := j.cluster.connection(); err != nil && at > 0 {
		return nil // there is nobody to wait for
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
				Msg: fmt.Sprintf("the room %s is not on this machine yet, and cannot be fetched: %s. Try again when "+
					"they answer", j.room, j.cluster.away(failed))}
		}
	}
}

// saidOf returns what the servers say of a room that is not for this machine, nil if that is not why it cannot be
// followed. What a copy has of a room whose shard is gone, or whose place another has, can be read.
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

// wakeLocked wakes whoever waits for the copy, or for flights to end.
func (j *Journal) wakeLocked() {
	close(j.advanced)
	j.advanced = make(chan struct{})
}
