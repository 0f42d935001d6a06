package jsonl

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"pennypost/internal/durable"
	"pennypost/internal/journal"
	"pennypost/internal/mail"
)

// Names in the directory of a journal. A name ending in tmpSuffix is a file being written, which goes when the journal is opened.
const (
	mainName     = "mailbox.jsonl"
	rejectedName = "mailbox.rejected.jsonl"
	archiveName  = "archive"
	lockName     = "LOCK"
	tmpSuffix    = ".tmp"
)

var _ journal.Journal = (*Journal)(nil)

// Journal is a journal.Journal in a directory.
type Journal struct {
	// Fixed by Open.
	dir      string
	log      *slog.Logger
	onSync   func(events, bytes int, took time.Duration)
	disk     disk
	lock     io.Closer
	recovery Recovery
	closed   chan struct{} // closed by Close: cursors and whoever keeps the files stop
	// keeper holds a value while one goroutine works on the files as a whole: compaction, erasure, verification, Close.
	keeper chan struct{}
	// These belong to the keeper.
	halfArchived bool            // the archive may hold events that the main file holds too
	looked       map[string]bool // files of the archive that are known to hold nothing of the main file
	erasures     int             // how often a file beside the main one was rewritten

	// readers counts the reads that run ahead of their cursors.
	readers sync.WaitGroup

	// swap is held for reading while a part of the main file is read, so that the file is not replaced meanwhile, and for
	// writing while it is replaced. Only whoever leads replaces it.
	swap sync.RWMutex
	file file // nil once closed, or if it could not be opened again when it had been replaced

	// buf is the batch being written. It belongs to whoever leads.
	buf []byte

	mu       sync.Mutex
	queue    []*request // who waits, in order; if led, the first one leads
	led      bool
	closing  bool
	broken   error    // why nothing can be appended any more
	size     int64    // of the durable part of the file
	last     mail.Seq // of the last durable event
	rewrites int      // how often the file was replaced
	index    index
	tail     tail
	grown    chan struct{} // closed at the next commit; nil while no cursor waits
	rejected int           // lines in the rejected file, and unreadable ones that could not be moved there
}

// Open opens the journal in dir, making both if they are not there, and repairs what a crash or a stranger left: see Recovery. If
// somebody has it open, in this process or another one, the error is a *mail.Error that says who.
func Open(dir string, opts Options) (*Journal, error) {
	opts = opts.withDefaults()
	j := &Journal{
		dir: dir, log: opts.Log.With("journal", dir), onSync: opts.OnSync, disk: opts.disk,
		closed: make(chan struct{}), keeper: make(chan struct{}, 1), looked: make(map[string]bool),
	}
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
		lock.Close()
		return nil, fmt.Errorf("open journal in %s: %w", dir, err)
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
		Msg: fmt.Sprintf("the mailbox in %s is open in %s already. Nothing was changed. Stop the post office that runs there "+
			"(pennypost stop), or speak to it instead of opening its files", dir, who),
		Err: err,
	}
}

// path returns the path of a name in the journal's directory.
func (j *Journal) path(name string) string { return filepath.Join(j.dir, filepath.FromSlash(name)) }

// Last implements journal.Journal.
func (j *Journal) Last() mail.Seq {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.last
}

// Size returns the bytes of the main file and how many lines were set aside.
func (j *Journal) Size() (bytes int64, rejected int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.size, j.rejected
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

	j.keeper <- struct{}{} // for good
	j.takeLead()           // for good: everything that waited before is written
	j.readers.Wait()
	j.swap.Lock()
	defer j.swap.Unlock()
	var err error
	if j.file != nil {
		err = j.file.Close()
		j.file = nil
	}
	return errors.Join(err, j.lock.Close())
}
