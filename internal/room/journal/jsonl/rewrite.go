package jsonl

import (
	"context"
	"errors"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal"
)

// plan says what happens to the lines that the main file had when the plan was made. Later lines stay.
type plan struct {
	from     file     // the main file at that time
	rewrites int      // identifies that file
	size     int64    // of that file
	last     mail.Seq // its last event

	keep    []piece
	archive map[string]*bundle // by month
	gone    int                // lines that leave
	run     run                // lines that leave, or left earlier, since the last line that stays

	index index // of the new file
	kept  int64 // the size of the new file
}

// verdict decides on a line of the main file. Err says why the line cannot be read; e is empty then.
type verdict func(p *plan, l line, e mail.Event, err error) journal.Fate

// becomeKeeper waits until no other goroutine works on the files as a whole or with the archive.
func (j *Journal) becomeKeeper(ctx context.Context) error {
	if err := j.occupy(ctx, j.keeper); err != nil {
		return err
	}
	err := j.occupy(ctx, j.shelf)
	if err != nil {
		<-j.keeper
	}
	return err
}

// occupy waits for its turn on a channel of capacity one.
func (j *Journal) occupy(ctx context.Context, place chan struct{}) error {
	select {
	case <-j.closed:
		return journal.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	case place <- struct{}{}:
	}
	err := j.stopped(ctx)
	if err != nil {
		<-place
	}
	return err
}

func (j *Journal) endKeeping() {
	<-j.shelf
	<-j.keeper
}

// stopped returns why long work should end early.
func (j *Journal) stopped(ctx context.Context) error {
	select {
	case <-j.closed:
		return journal.ErrClosed
	default:
		return ctx.Err()
	}
}

// spell measures background work that must not take the processor from appends: with few cores, they would wait for
// one.
type spell struct{ since time.Time }

// rest is called often. At intervals it sleeps as long as the work since its last sleep took.
func (s *spell) rest() {
	const short, long = 2 * time.Millisecond, 10 * time.Millisecond
	if s.since.IsZero() {
		s.since = time.Now()
	}
	if worked := time.Since(s.since); worked >= short {
		time.Sleep(min(worked, long))
		s.since = time.Now()
	}
}

// plan decides on every line of the main file. Its caller is the keeper.
func (j *Journal) plan(ctx context.Context, decide verdict) (*plan, error) {
	p := &plan{archive: make(map[string]*bundle), from: j.main()}
	j.mu.Lock()
	p.size, p.last, p.rewrites = j.size, j.end.end, j.rewrites
	start, err := j.index.start, j.broken
	j.mu.Unlock()
	if err != nil {
		return nil, err
	}
	var parse parser
	var spell spell
	err = scan(p.from, start, p.size, func(l line) error {
		if err := j.stopped(ctx); err != nil {
			return err
		}
		spell.rest()
		at := piece{span: span{l.off, l.bytes}}
		it, covered, err := inspect(l.text)
		switch {
		case err != nil:
			p.settleBad(at, decide(p, l, mail.Event{}, err))
		case it.gone == missing:
			p.stay(at, it)
		case it.gone != "":
			p.goes(at, it, it.gone, false)
		default:
			e := parse.decode(it.seq, covered)
			p.settle(at, it, decide(p, l, e, nil))
		}
		return nil
	})
	p.endRun()
	return p, err
}

// settleBad decides on an unreadable line, for which no stub can stand.
func (p *plan) settleBad(l piece, fate journal.Fate) {
	if fate != journal.Keep {
		p.gone++
		return
	}
	p.put(l)
}

func (p *plan) settle(l piece, it item, fate journal.Fate) {
	switch fate {
	case journal.Keep:
		p.stay(l, it)
		return
	case journal.Archive:
		p.goes(l, it, archived, true)
	default:
		p.goes(l, it, dropped, true)
	}
	p.gone++
}

// stay keeps a line.
func (p *plan) stay(l piece, it item) {
	if !it.chained {
		p.run = run{} // there may be a gap before a line of version 1
	}
	p.endRun()
	p.index.add(it.seq, p.kept)
	p.put(l)
}

func (p *plan) put(l piece) {
	p.keep = addPiece(p.keep, l)
	p.kept += max(l.bytes, int64(len(l.text)))
}

// run is an unbroken range of sequence numbers that leave the main file or have left it. One stub will represent it
// there. If any of it is in the archive, all of it is: stubs in the archive represent the dropped lines in between.
type run struct {
	all     stub
	dropped stub // the dropped end of the run, not in the archive
}

// stub will represent a range of sequence numbers; with seq 0 there is none.
type stub struct {
	item
	at piece // the stub's line, if the file has it already
}

// add extends the stub by the line at l; event says that the line is an event, not a stub.
func (s *stub) add(it item, l piece, event bool) {
	if s.item.seq != 0 {
		s.end, s.crc, s.when, s.at = it.end, it.crc, it.when, piece{}
		return
	}
	s.item, s.at = it, l
	s.gone = dropped
	if event {
		s.at = piece{}
	}
}

// piece returns the line of the stub.
func (s *stub) piece() piece {
	if s.at.bytes == 0 {
		return piece{text: s.line()}
	}
	return s.at
}

// goes adds a line to the run: an event that leaves for the reason why, or a stub.
func (p *plan) goes(l piece, it item, why absence, event bool) {
	r := &p.run
	if r.all.seq != 0 && (!it.chained || r.all.linkTo(&it) != follows) {
		if it.chained { // a fault in the chain, which must stay visible
			p.endRun()
		}
		p.run = run{} // as in stay
	}
	r.all.add(it, l, event)
	if why != archived {
		r.dropped.add(it, l, event)
		return
	}
	p.archiveDropped()
	r.all.gone = archived
	if event {
		p.toArchive(l, it)
	}
}

// archiveDropped puts a stub for dropped lines into the archive.
func (p *plan) archiveDropped() {
	if r := &p.run; r.dropped.seq != 0 {
		p.toArchive(r.dropped.piece(), r.dropped.item)
		r.dropped = stub{}
	}
}

func (p *plan) toArchive(l piece, it item) {
	month := it.at().Std().Format("2006-01")
	b := p.archive[month]
	if b == nil {
		b = new(bundle)
		p.archive[month] = b
	}
	b.add(it.seq, l)
}

// endRun writes the stub of the run.
func (p *plan) endRun() {
	r := &p.run
	if r.all.seq == 0 {
		return
	}
	if r.all.gone == archived {
		p.archiveDropped()
	}
	p.put(r.all.piece())
	p.run = run{}
}

// prepare writes the lines that p keeps to a new file while appends continue. The caller must have undone leftovers of
// an earlier failure in the archive.
func (j *Journal) prepare(p *plan) (*replacement, error) {
	return j.build(mainName, mainName, p.from, p.keep)
}

// carryOut makes the lines that p archives durable, then replaces the main file by r, which holds the lines that p
// keeps. Until then every step can be undone: here if a step fails, by the next Open after a crash.
func (j *Journal) carryOut(p *plan, r *replacement) (err error) {
	if len(p.archive) > 0 {
		j.takeLead()
		_, err = j.asPlanned(p)
		j.giveLead()
		if err != nil {
			r.abandon()
			return err
		}
		// From here on the unfinished file tells Open too that the archive may hold events of the main file.
		j.halfArchived = true
		err = j.disk.SyncDir(j.dir)
		if err == nil {
			err = j.growArchive(p)
		}
	}
	replaced := false
	if err == nil {
		replaced, err = j.exchange(r, p)
	}
	if replaced {
		j.halfArchived = err != nil // the next use of the archive finds out which of the two files is there
		return err
	}
	_ = r.closeFile()
	if undone := j.undoArchive(); undone != nil {
		return errors.Join(err, undone)
	}
	r.abandon()
	return err
}

// exchange adds later appends to r and puts r in place of the main file. If that fails, the old file stays in use.
func (j *Journal) exchange(r *replacement, p *plan) (replaced bool, err error) {
	copied, err := j.catchUp(r, p)
	if err != nil {
		return false, err
	}
	if replaced, err = j.exchangeLeading(r, p, copied); replaced {
		j.dropRetired()
	}
	return replaced, err
}

// catchUp copies later appends, while more arrive, until so little is left that appends may wait for it. It returns
// the offset that it reached.
func (j *Journal) catchUp(r *replacement, p *plan) (copied int64, err error) {
	const little, tries = 64 << 10, 10
	copied = p.size
	for range tries {
		size := j.Condition().Bytes
		if size-copied < little {
			break
		}
		if err := r.copy(p.from, piece{span: span{copied, size - copied}}); err != nil {
			return copied, err
		}
		if err := r.sync(); err != nil {
			return copied, err
		}
		copied = size
	}
	return copied, nil
}

// exchangeLeading copies the rest and replaces the file. Appends wait meanwhile.
func (j *Journal) exchangeLeading(r *replacement, p *plan, copied int64) (replaced bool, err error) {
	j.takeLead()
	defer j.giveLead()
	end, err := j.asPlanned(p)
	if err != nil {
		return false, err
	}
	j.mu.Lock()
	for _, at := range j.index.points {
		if at.off >= p.size {
			p.index.add(at.seq, at.off-copied+r.end())
		}
	}
	j.mu.Unlock()
	if err := r.copy(j.file, piece{span: span{copied, end - copied}}); err != nil {
		return false, err
	}
	if err := r.sync(); err != nil {
		return false, err
	}
	return j.takePlace(r, p)
}

// asPlanned checks that the main file is the one that p was made from, and returns its end. If it was changed since,
// its lines are not where p says. The caller leads.
func (j *Journal) asPlanned(p *plan) (end int64, err error) {
	if err := j.stayOpen(); err != nil {
		return 0, err
	}
	j.mu.Lock()
	size, err := j.size, j.broken
	j.mu.Unlock()
	if err == nil {
		end, err = j.afterStrangers(size)
	}
	if err == nil && j.rewrites != p.rewrites { // only the leader changes it, as both may have
		err = errChanged
	}
	return end, err
}

// takePlace puts r in place of the main file. The caller leads.
func (j *Journal) takePlace(r *replacement, p *plan) (replaced bool, err error) {
	j.mu.Lock()
	s, before := &survey{size: r.end(), end: j.end, index: p.index, missing: j.absent}, j.rewrites
	j.mu.Unlock()
	err = j.install(r, s, false)
	return j.rewrites > before, err // only the leader changes it
}
