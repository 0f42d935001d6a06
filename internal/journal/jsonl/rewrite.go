package jsonl

import (
	"context"
	"errors"
	"os"

	"pennypost/internal/journal"
	"pennypost/internal/mail"
)

// plan says what becomes of the main file as it was when the plan was made. What is appended later stays.
type plan struct {
	size int64    // of the file then
	last mail.Seq // its last event

	keep    []span
	archive map[string][]place // by month
	gone    int                // lines that do not stay
	lost    mail.Event         // the last event, if it does not stay: at least its place must

	index index // of the file to come, whose size will be
	kept  int64
}

// verdict decides on a line of the main file. Err says why the line cannot be read; then e is empty.
type verdict func(p *plan, l line, e mail.Event, err error) journal.Fate

// becomeKeeper waits until nobody else works on the files as a whole.
func (j *Journal) becomeKeeper(ctx context.Context) error {
	select {
	case <-j.closed:
		return journal.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	case j.keeper <- struct{}{}:
	}
	err := j.stopped(ctx)
	if err != nil {
		j.endKeeping()
	}
	return err
}

func (j *Journal) endKeeping() { <-j.keeper }

// stopped returns why long work should end early.
func (j *Journal) stopped(ctx context.Context) error {
	select {
	case <-j.closed:
		return journal.ErrClosed
	default:
		return ctx.Err()
	}
}

// plan goes through the main file. Its caller is the keeper, so nobody replaces the file meanwhile.
func (j *Journal) plan(ctx context.Context, decide verdict) (*plan, error) {
	p := &plan{archive: make(map[string][]place)}
	j.mu.Lock()
	p.size, p.last = j.size, j.last
	start, err := j.index.start, j.broken
	j.mu.Unlock()
	if err != nil {
		return nil, err
	}
	var parse parser
	err = scan(j.file, start, p.size, func(l line) error {
		if err := j.stopped(ctx); err != nil {
			return err
		}
		var e mail.Event
		seq, covered, err := check(l.text)
		if err == nil {
			e = parse.decode(seq, covered)
		}
		p.settle(place{e.Seq, crcOf(l.text), span{l.off, l.bytes}}, e, decide(p, l, e, err))
		return nil
	})
	return p, err
}

func (p *plan) settle(l place, e mail.Event, fate journal.Fate) {
	if fate == journal.Keep {
		if l.seq != 0 {
			p.index.add(l.seq, p.kept)
		}
		p.keep = addSpan(p.keep, l.span)
		p.kept += l.bytes
		return
	}
	if fate == journal.Archive {
		month := e.At.Std().Format("2006-01")
		p.archive[month] = append(p.archive[month], l)
	}
	p.gone++
	if l.seq == p.last {
		p.lost = mail.Event{Seq: l.seq, At: e.At}
	}
}

// carryOut replaces the main file by what p keeps of it, after what p archives is durable there. Before the file is
// replaced nothing has happened that is not undone: here if a step fails, by the next Open after a crash.
func (j *Journal) carryOut(p *plan) error {
	if err := j.undoArchive(); err != nil { // what an earlier failure could not undo
		return err
	}
	r, err := j.replace(j.path(mainName))
	if err != nil {
		return err
	}
	if err := j.build(r, p); err != nil {
		r.abandon()
		return err
	}
	if len(p.archive) > 0 {
		// From here on the unfinished file is the sign, for Open too, that the archive may hold what the main file still holds.
		j.halfArchived = true
		err = j.disk.SyncDir(j.dir)
		if err == nil {
			err = j.growArchive(p.archive)
		}
	}
	replaced := false
	if err == nil {
		replaced, err = j.exchange(r, p)
	}
	if replaced {
		j.halfArchived = false
		return err
	}
	_ = r.closeFile()
	if undone := j.undoArchive(); undone != nil {
		return errors.Join(err, undone)
	}
	r.abandon()
	return err
}

// build writes what p keeps.
func (j *Journal) build(r *replacement, p *plan) error {
	if err := r.copy(j.file, p.keep...); err != nil {
		return err
	}
	if p.lost.Seq != 0 {
		// Its place must not be given to another event: followers and archives go by places.
		payload, err := appendPayload(nil, &p.lost)
		if err != nil {
			return err
		}
		p.index.add(p.lost.Seq, r.end())
		if err := r.write(appendLine(nil, p.lost.Seq, payload)); err != nil {
			return err
		}
	}
	return r.sync() // most of it now, while appends go on
}

// exchange adds what was appended since the plan was made and puts r in the place of the main file. Appends wait meanwhile.
// If it was not replaced, the old file is in its place and goes on being used.
func (j *Journal) exchange(r *replacement, p *plan) (replaced bool, err error) {
	j.takeLead()
	defer j.giveLead()
	j.mu.Lock()
	size, err := j.size, j.broken
	for _, at := range j.index.points {
		if at.off >= p.size {
			p.index.add(at.seq, at.off-p.size+r.end())
		}
	}
	j.mu.Unlock()
	if err != nil {
		return false, err
	}
	end, err := j.afterStrangers(size)
	if err != nil {
		return false, err
	}
	if err := r.copy(j.file, span{p.size, end - p.size}); err != nil {
		return false, err
	}
	if err := r.sync(); err != nil {
		return false, err
	}
	return j.takePlace(r, p, size)
}

// takePlace puts r in the place of the main file, whose durable size is size. It is called by whoever leads.
func (j *Journal) takePlace(r *replacement, p *plan, size int64) (replaced bool, err error) {
	j.swap.Lock()
	defer j.swap.Unlock()
	_ = j.file.Close() // all of it is synced; and Windows does not replace an open file
	j.file = nil
	failed := r.commit()
	f, err := j.disk.Open(j.path(mainName), os.O_RDWR)
	if err != nil {
		return true, j.poison(errors.Join(failed, err)) // nobody knows; the next Open finds out
	}
	j.file = f
	if now, err := f.Size(); failed != nil && (err != nil || now >= size) { // what replaces it is always shorter
		return false, failed
	}
	j.mu.Lock()
	j.size = r.end()
	j.index = p.index
	j.rewrites++
	j.tail.reset(j.last)
	j.mu.Unlock()
	if failed != nil { // its name may not survive a power cut, and with it what is appended from now on
		return true, j.poison(failed)
	}
	return true, nil
}
