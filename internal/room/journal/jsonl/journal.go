package jsonl

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"pennypost/internal/base/durable"
	"pennypost/internal/base/pause"
	"pennypost/internal/mail"
	"pennypost/internal/room/journal"
)

// Names in the journal's directory. A name that ends in tmpSuffix is an unfinished file; Open removes it.
const (
	mainName     = "mailbox.jsonl"
	rejectedName = "mailbox.rejected.jsonl"
	foreignName  = "mailbox.foreign-%d.jsonl" // a file that another program put in place of the main file
	archiveName  = "archive"
	lockName     = "LOCK"
	tmpSuffix    = ".tmp"
)

var (
	_ journal.Journal  = (*Journal)(nil)
	_ journal.Replayer = (*Journal)(nil)
)

// Journal is a journal.Journal in a directory.
type Journal struct {
	// Fixed by Open.
	dir      string
	mainPath string
	log      *slog.Logger
	onSync   func(events, bytes int, took time.Duration)
	disk     disk
	copied   bool        // Options.Copy
	unsynced atomic.Bool // of a copy: events were placed since the last sync
	recovery Recovery
	closed   chan struct{} // closed by Close; stops cursors and keepers
	watching sync.WaitGroup
	calm     atomic.Bool // no recent appends
	stirred  pause.Nudge // the calm is over
	// keeper holds a value while one goroutine works on the files as a whole: compaction, erasure, verification,
	// Close.
	keeper chan struct{}
	// shelf holds a value while one goroutine uses the archive: a lookup or the keeper. A compaction leaves it to
	// lookups until it reaches the archive. Taken after keeper.
	shelf chan struct{}
	// Owned by the holder of shelf.
	halfArchived bool                     // the archive may hold events that are also in the main file
	looked       map[string]bool          // archive files known to hold no event of the main file
	indexes      map[string][]*monthIndex // of the archive files used so far
	missed       time.Time                // when the person was last told that an archive file is missing

	// Owned by the goroutine that watches the files.
	noted   mail.Seq // the sequence number in lastName
	healAt  time.Time
	healing time.Duration // the pause before healAt

	// readers counts reads that run ahead of their cursors.
	readers sync.WaitGroup

	// swap is held for reading during a read of the main file, so that the file is not replaced meanwhile, and for
	// writing while the leader replaces it.
	swap    sync.RWMutex
	file    file   // nil once closed, or if it could not be reopened after a replacement
	retired []file // former main files that readers may still use

	// Owned by the leader.
	buf     []byte   // the batch being written
	shares  bool     // the last batch held more than one append
	starts  []int    // offsets of its lines
	lock    lock     // keeps other processes out
	refused *refusal // appends refused since the disk last took one; nil: none
	meddled meddling

	mu       sync.Mutex
	queue    []*request // waiting appends, in order; if led, the first one leads
	led      bool
	closing  bool
	broken   error // why the journal takes no appends; nil: it does
	brokenAt time.Time
	shared   bool  // broken for good: another process writes to the file
	size     int64 // of the durable part of the file
	end      item  // the last durable line
	rewrites int   // how often the file was replaced
	index    index
	tail     tail
	grown    chan struct{} // closed at the next commit; nil while no cursor waits
	// lines in the rejected file, unreadable lines that could not be moved there, and foreign files
	rejected int
	absent   mail.Seq // sequence numbers known to be missing from the main file
	news     []journal.News
	told     chan struct{} // closed when there is news; nil while no caller waits for any
}

// Holds reports whether dir holds a journal that is not empty.
func Holds(dir string) bool {
	info, err := os.Lstat(filepath.Join(dir, mainName))
	return err == nil && info.Size() > 0
}

// Open opens the journal in dir, creates both if they are missing, and repairs the damage of a crash or of another
// program: see Recovery. If the journal is already open, in this process or another, the error is a *mail.Error that
// names the process.
func Open(dir string, opts Options) (*Journal, error) {
	opts = opts.withDefaults()
	j := &Journal{
		dir: dir, log: opts.Log.With("journal", dir), onSync: opts.OnSync, disk: opts.disk, copied: opts.Copy,
		closed: make(chan struct{}), stirred: pause.NewNudge(),
		keeper: make(chan struct{}, 1), shelf: make(chan struct{}, 1), looked: make(map[string]bool),
		indexes: make(map[string][]*monthIndex),
	}
	j.mainPath = j.path(mainName)
	if err := j.disk.MkdirAll(dir); err != nil {
		return nil, fmt.Errorf("make journal directory: %w", err)
	}
	lock, err := j.disk.Lock(j.path(lockName))
	if err != nil {
		return nil, lockError(dir, err)
	}
	j.lock = lock
	if err := j.openMain(); err != nil {
		if j.file != nil {
			j.file.Close()
		}
		j.lock.Close()
		return nil, fmt.Errorf("open journal in %s: %w", dir, err)
	}
	if opts.watch > 0 {
		j.watching.Go(func() { j.watch(opts.watch) })
	}
	return j, nil
}

func lockError(dir string, err error) error {
	var locked *durable.LockedError
	if !errors.As(err, &locked) {
		return err
	}
	who := "another process"
	switch locked.PID {
	case 0:
	case os.Getpid():
		who = "this process"
	default:
		who = fmt.Sprintf("process %d", locked.PID)
	}
	return &mail.Error{
		Code: mail.Conflict,
		Msg: fmt.Sprintf(
			"the mailbox in %s is already open in %s. Nothing was changed. Stop that post office (pennypost stop), "+
				"or connect to it instead of opening its files", dir, who),
		Err: err,
	}
}

// path returns the path of a name in the journal's directory.
func (j *Journal) path(name string) string { return filepath.Join(j.dir, filepath.FromSlash(name)) }

// Last implements journal.Journal.
func (j *Journal) Last() mail.Seq {
	return j.lastItem().end
}

func (j *Journal) lastItem() item {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.end
}

// Condition implements journal.Verifier.
func (j *Journal) Condition() journal.Condition {
	j.mu.Lock()
	defer j.mu.Unlock()
	return journal.Condition{Bytes: j.size, Rejected: j.rejected, Missing: int(j.absent), Broken: j.broken}
}

// Recovery returns what Open found and did.
func (j *Journal) Recovery() Recovery { return j.recovery }

// Close implements journal.Journal. Closing again does nothing.
func (j *Journal) Close() error {
	j.mu.Lock()
	if j.closing {
		j.mu.Unlock()
		return nil
	}
	j.closing = true
	close(j.closed)
	j.mu.Unlock()

	j.watching.Wait()
	j.keeper <- struct{}{}   // for good
	j.shelf <- struct{}{}    // for good
	j.takeLead()             // for good: all earlier appends are written
	err := j.holdTruth(true) // no later attempt follows
	j.syncCopy()
	j.noteLast()
	j.readers.Wait()
	j.swap.Lock()
	defer j.swap.Unlock()
	for _, f := range append(j.retired, j.file) {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	j.file, j.retired = nil, nil
	return errors.Join(err, j.lock.Close())
}

// main returns the current main file. A keeper may continue to read from it after it has been replaced.
func (j *Journal) main() file {
	j.swap.RLock()
	defer j.swap.RUnlock()
	return j.file
}
