package jsonl

import (
	"cmp"
	"context"
	"io"
	"iter"
	"os"
	"slices"
	"strings"
	"time"

	"pennypost/internal/mail"
)

// archiveReader reads events of the archive through its indexes. Only the holder of the shelf may use it.
type archiveReader struct {
	*Journal
	parts []openPart
	files []io.Closer
}

// openPart is an open file of the archive with one of its indexes.
type openPart struct {
	*monthIndex
	lines *lineReader // of the file
	index io.ReaderAt
}

// hit is an index entry for a line of the archive.
type hit struct {
	part *openPart
	entry
}

// Archived implements journal.Compacter. It reads the archive in parts; between two parts, compaction and erasure may
// change the archive.
func (j *Journal) Archived(ctx context.Context, from mail.Seq, newest bool) iter.Seq2[mail.Event, error] {
	const most = 256 // a part is some hundred kilobytes of usual messages
	return func(yield func(mail.Event, error) bool) {
		if newest && from == 0 {
			from = maxSeq + 1
		}
		for n := 16; ; n = min(2*n, most) {
			var events []mail.Event
			err := j.withArchive(ctx, func(a *archiveReader) (err error) {
				hits, err := a.walk(from, newest, n)
				if err == nil {
					events, err = a.read(hits)
				}
				return err
			})
			if err != nil {
				yield(mail.Event{}, err)
				return
			}
			if newest {
				slices.Reverse(events)
			}
			for _, e := range events {
				if !yield(e, nil) {
					return
				}
				from = e.Seq
			}
			if len(events) == 0 {
				return
			}
		}
	}
}

// ArchivedOf implements journal.Compacter.
func (j *Journal) ArchivedOf(ctx context.Context, ids ...mail.ID) ([]mail.Event, error) {
	keys := make([]uint64, len(ids))
	for i, id := range ids {
		keys[i] = hashID(id)
	}
	events, err := j.lookUp(ctx, keys)
	return slices.DeleteFunc(events, func(e mail.Event) bool { return !slices.Contains(ids, about(&e)) }), err
}

// ArchivedAt implements journal.Compacter.
func (j *Journal) ArchivedAt(ctx context.Context, seqs ...mail.Seq) ([]mail.Event, error) {
	keys := make([]uint64, len(seqs))
	for i, seq := range seqs {
		keys[i] = uint64(seq)
	}
	events, err := j.lookUp(ctx, keys)
	return slices.CompactFunc(events, func(x, y mail.Event) bool { return x.Seq == y.Seq }), err
}

// lookUp returns the events with the given keys.
func (j *Journal) lookUp(ctx context.Context, keys []uint64) (events []mail.Event, err error) {
	slices.Sort(keys)
	keys = slices.Compact(keys)
	err = j.withArchive(ctx, func(a *archiveReader) error {
		var hits []hit
		for i := range a.parts {
			p := &a.parts[i]
			err := p.find(p.index, keys, func(e entry) { hits = append(hits, hit{p, e}) })
			if err != nil {
				return err
			}
		}
		events, err = a.read(hits)
		return err
	})
	return events, err
}

// withArchive calls f with a reader of the archive. If an index turns out to be wrong, all are rebuilt, and f is
// called again.
func (j *Journal) withArchive(ctx context.Context, f func(*archiveReader) error) error {
	if err := j.occupy(ctx, j.shelf); err != nil {
		return err
	}
	defer func() { <-j.shelf }()
	if err := j.undoArchive(); err != nil { // or events would be found both here and in the main file
		return err
	}
	return j.readArchive(ctx, f)
}

// readArchive is withArchive for the holder of the shelf.
func (j *Journal) readArchive(ctx context.Context, f func(*archiveReader) error) error {
	err := j.tryArchive(ctx, f)
	if err != errIndex {
		return err
	}
	j.log.Warn("index does not match the archive; rebuilt")
	names, err := j.months()
	if err != nil {
		return err
	}
	for _, name := range names {
		j.forgetIndex(name)
	}
	return j.tryArchive(ctx, f)
}

func (j *Journal) tryArchive(ctx context.Context, f func(*archiveReader) error) error {
	names, err := j.months()
	if err != nil {
		return err
	}
	j.missMonths(names)
	a := &archiveReader{Journal: j}
	defer a.close()
	for _, name := range names {
		if err := a.add(ctx, name); err != nil {
			return err
		}
	}
	return f(a)
}

func (a *archiveReader) add(ctx context.Context, name string) error {
	f, err := a.disk.Open(a.path(name), os.O_RDONLY)
	if err != nil {
		return err
	}
	a.files = append(a.files, f)
	parts, err := a.month(ctx, name, f)
	if err != nil {
		return err
	}
	lines := &lineReader{file: f}
	for _, x := range parts {
		p := openPart{monthIndex: x, lines: lines}
		if x.filed {
			f, err := a.disk.Open(a.path(indexOf(name)), os.O_RDONLY)
			if err != nil {
				return errIndex
			}
			p.index = f
			a.files = append(a.files, f)
		}
		a.parts = append(a.parts, p)
	}
	return nil
}

func (a *archiveReader) close() {
	for _, f := range a.files {
		f.Close()
	}
}

// walk returns the first n events after from or, with newest, the last n before it, newest first.
func (a *archiveReader) walk(from mail.Seq, newest bool, n int) ([]hit, error) {
	walkers := make([]walker, 0, len(a.parts))
	for i := range a.parts {
		p := &a.parts[i]
		w := walker{part: p, from: uint64(from), newest: newest, block: p.before(uint64(from))}
		if err := w.load(); err != nil {
			return nil, err
		}
		walkers = append(walkers, w)
	}
	var hits []hit
	for len(hits) < n {
		var next *walker
		for i := range walkers {
			w := &walkers[i]
			if len(w.entries) > 0 && (next == nil || w.entries[0].key < next.entries[0].key != newest) {
				next = w
			}
		}
		if next == nil {
			break
		}
		e := next.entries[0]
		if k := len(hits); k == 0 || hits[k-1].key != e.key {
			hits = append(hits, hit{next.part, e})
		}
		if next.entries = next.entries[1:]; len(next.entries) == 0 {
			if err := next.load(); err != nil {
				return nil, err
			}
		}
	}
	return hits, nil
}

// walker iterates over the sequence numbers of a part.
type walker struct {
	part    *openPart
	from    uint64
	newest  bool
	block   int     // the next block to read
	entries []entry // the remaining entries of the block before
}

// load reads blocks until there are entries, if any are left.
func (w *walker) load() error {
	x := w.part
	for len(w.entries) == 0 && w.block >= 0 && w.block < x.blocks() && x.firsts[w.block] < idKey {
		all, err := x.entries(w.part.index, w.block)
		if err != nil {
			return err
		}
		w.entries = slices.DeleteFunc(all, func(e entry) bool {
			return w.newest && e.key >= w.from || !w.newest && e.key <= w.from || e.key >= idKey
		})
		w.block++
		if w.newest {
			slices.Reverse(w.entries)
			w.block -= 2
		}
	}
	return nil
}

// read returns the events of hits, in sequence. The error is errIndex if a line does not match the index.
func (a *archiveReader) read(hits []hit) ([]mail.Event, error) {
	slices.SortFunc(hits, func(x, y hit) int {
		return cmp.Or(cmp.Compare(x.part.name, y.part.name), cmp.Compare(x.off, y.off))
	})
	events := make([]mail.Event, 0, len(hits))
	var parse parser
	for _, h := range hits {
		text, err := h.part.lines.at(int64(h.off), h.part.covered)
		if err != nil {
			return nil, err
		}
		seq, covered, err := check(text)
		if err != nil {
			return nil, errIndex
		}
		e := parse.decode(seq, covered)
		if h.key != uint64(seq) && h.key != hashID(about(&e)) {
			return nil, errIndex
		}
		events = append(events, e)
	}
	slices.SortStableFunc(events, func(x, y mail.Event) int { return cmp.Compare(x.Seq, y.Seq) })
	return events, nil
}

// lineReader reads lines of a file, and reads ahead: the next line is usually needed next.
type lineReader struct {
	file file
	off  int64 // of buf
	buf  []byte
}

const readAhead = 16 << 10

// at returns the line at an offset, an empty one if none begins before end. It is valid until the next call.
func (r *lineReader) at(off, end int64) ([]byte, error) {
	for n := int64(readAhead); ; n *= 2 {
		if r.off <= off && off < r.off+int64(len(r.buf)) {
			l, _ := cutLine(r.buf[off-r.off:], off)
			if l.whole || r.off+int64(len(r.buf)) >= end {
				return l.text, nil
			}
		}
		if off < 0 || off >= end {
			return nil, nil
		}
		r.off, r.buf = off, slices.Grow(r.buf[:0], int(min(n, end-off)))[:min(n, end-off)]
		if _, err := io.ReadFull(io.NewSectionReader(r.file, off, int64(len(r.buf))), r.buf); err != nil {
			return nil, err
		}
	}
}

// missMonths forgets the indexes of missing archive files, and tells the person. Its caller holds the shelf, as does
// that of archiveChanged.
func (j *Journal) missMonths(there []string) {
	var gone []string
	for name := range j.indexes {
		if !slices.Contains(there, name) {
			gone = append(gone, name)
			delete(j.indexes, name)
		}
	}
	if slices.Sort(gone); len(gone) > 0 {
		j.archiveChanged(gone...)
	}
}

// archiveChanged tells the person that archive files that were in use are missing or were replaced.
func (j *Journal) archiveChanged(names ...string) {
	what := strings.Join(names, ", ")
	if time.Since(j.missed) < meddledEvery {
		j.log.Warn("archive changed from outside", "files", what)
		return
	}
	j.missed = time.Now()
	j.tell("The archive was changed from outside", "Another program removed or "+
		"changed "+what+" while the post office was "+
		"using the room. The mail in it is no longer shown; the rest is. Put the files back if you have a copy. To "+
		"see what is missing: pennypost verify. Before you change the files, stop the post office: pennypost stop")
}
