package jsonl

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"

	"pennypost/internal/mail"
)

func isNotExist(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// months returns the names of the archive's files, oldest first.
func (j *Journal) months() ([]string, error) {
	names, _, err := j.listMonths()
	return names, err
}

// listMonths returns the names of the archive's files, oldest first, and odd names of that form that lead to no
// regular file.
func (j *Journal) listMonths() (names, odd []string, err error) {
	names, odd, err = j.disk.List(j.path(archiveName))
	return onlyMonths(names), onlyMonths(odd), err
}

func onlyMonths(names []string) []string {
	names = slices.DeleteFunc(names, func(name string) bool { return !isMonth(name) })
	slices.Sort(names)
	for i := range names {
		names[i] = path.Join(archiveName, names[i])
	}
	return names
}

func isMonth(name string) bool {
	ok, _ := path.Match("[0-9][0-9][0-9][0-9]-[0-9][0-9].jsonl", name)
	return ok
}

// growArchive appends parts of the main file to their months, and makes them durable.
func (j *Journal) growArchive(p *plan) error {
	if err := j.disk.MkdirAll(j.path(archiveName)); err != nil {
		return err
	}
	for _, month := range slices.Sorted(maps.Keys(p.archive)) {
		if err := j.growMonth(path.Join(archiveName, month+".jsonl"), p.from, p.archive[month]); err != nil {
			return err
		}
	}
	return j.disk.SyncDir(j.path(archiveName))
}

func (j *Journal) growMonth(name string, from file, add *bundle) error {
	f, size, err := j.open(name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return err
	}
	defer f.Close()
	pieces, err := j.notYet(f, name, size, from, add)
	if err != nil {
		return err
	}
	o := output{file: f, off: size}
	if err := o.endLine(f, size); err != nil {
		return err
	}
	if err := o.copy(from, pieces...); err != nil {
		return err
	}
	return o.sync()
}

// notYet returns the part of a bundle that a file of the archive lacks. That should be all of it; but if an older main
// file was restored, no line must be archived twice. One check per file is enough while the journal is open.
func (j *Journal) notYet(f file, name string, size int64, from file, add *bundle) ([]piece, error) {
	if j.looked[name] {
		return add.pieces, nil
	}
	there := make(map[mail.Seq]uint32)
	err := scan(f, firstLine(f), size, func(l line) error {
		if seq, _, err := check(l.text); err == nil && add.seqs.has(seq) {
			there[seq] = crcOf(l.text)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	j.looked[name] = true
	if len(there) == 0 {
		return add.pieces, nil
	}
	return add.without(there, from)
}

// bundle holds lines for one file of the archive, in sequence.
type bundle struct {
	pieces []piece
	seqs   seqRanges
}

func (b *bundle) add(seq mail.Seq, l piece) {
	b.pieces = addPiece(b.pieces, l)
	b.seqs = b.seqs.with(seq, seq)
}

// without returns the pieces without the given lines, each a sequence number and crc. Another event with the same
// sequence number must not be lost.
func (b *bundle) without(lines map[mail.Seq]uint32, from file) (left []piece, err error) {
	known := func(text []byte) bool {
		seq, _, err := check(text)
		crc, found := lines[seq]
		return err == nil && found && crc == crcOf(text)
	}
	for _, p := range b.pieces {
		if p.text != nil {
			if !known(bytes.TrimSuffix(p.text, []byte("\n"))) {
				left = append(left, p)
			}
			continue
		}
		err := scan(from, p.off, p.off+p.bytes, func(l line) error {
			if !known(l.text) {
				left = addPiece(left, piece{span: span{l.off, l.bytes}})
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return left, nil
}

// endLine writes the last newline of a file if an editor removed it.
func (o *output) endLine(f file, size int64) error {
	var last [1]byte
	if size == 0 {
		return nil
	}
	if _, err := f.ReadAt(last[:], size-1); err != nil {
		return err
	}
	if last[0] == '\n' {
		return nil
	}
	return o.write([]byte("\n"))
}

// undoArchive removes the leftovers of an interrupted compaction from the archive: lines whose events are in the main
// file. They are the last lines of their files.
func (j *Journal) undoArchive() error {
	if !j.halfArchived {
		return nil
	}
	hot, err := j.seqs()
	if err != nil {
		return err
	}
	names, err := j.months()
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := j.cutMonth(name, hot); err != nil {
			return err
		}
	}
	j.halfArchived = false
	return nil
}

// cutMonth cuts off the last lines of a file of the archive that have sequence numbers in hot, and a torn line.
func (j *Journal) cutMonth(name string, hot []mail.Seq) error {
	f, size, err := j.open(name, os.O_RDWR)
	if err != nil {
		return err
	}
	defer f.Close()
	cut := size
	err = scan(f, firstLine(f), size, func(l line) error {
		seq, _, err := check(l.text)
		_, found := slices.BinarySearch(hot, seq)
		switch {
		case err == nil && !found:
			cut = size
		case cut == size && (err == nil || !l.whole):
			cut = l.off
		}
		return nil
	})
	if err != nil || cut == size {
		return err
	}
	if err := f.Truncate(cut); err != nil {
		return err
	}
	return f.Sync()
}

// seqs returns the sorted sequence numbers of the main file's events, and of its stubs for events that are not
// archived.
func (j *Journal) seqs() (seqs []mail.Seq, err error) {
	f := j.main()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	err = scan(f, firstLine(f), size, func(l line) error {
		if it, _, err := inspect(l.text); err == nil && it.gone != archived {
			seqs = append(seqs, it.seq)
		}
		return nil
	})
	slices.Sort(seqs)
	return seqs, err
}

// seqRanges are ranges of sequence numbers, in order.
type seqRanges []placeRange

type placeRange struct{ first, last mail.Seq }

// with adds a range after the others.
func (r seqRanges) with(first, last mail.Seq) seqRanges {
	if n := len(r); n > 0 && r[n-1].last+1 == first {
		r[n-1].last = last
		return r
	}
	return append(r, placeRange{first, last})
}

func (r seqRanges) has(seq mail.Seq) bool {
	_, found := slices.BinarySearchFunc(r, seq, func(r placeRange, seq mail.Seq) int {
		switch {
		case r.last < seq:
			return -1
		case r.first > seq:
			return 1
		}
		return 0
	})
	return found
}

// within returns how many sequence numbers from first to last are in the ranges.
func (r seqRanges) within(first, last mail.Seq) (n mail.Seq) {
	for _, r := range r {
		if from, to := max(first, r.first), min(last, r.last); from <= to {
			n += to - from + 1
		}
	}
	return n
}

// archivedPlaces returns the sequence numbers that the archive accounts for.
func (j *Journal) archivedPlaces() (r seqRanges, err error) {
	err = j.eachArchived(func(it item) { r = r.with(it.seq, it.end) })
	slices.SortFunc(r, func(a, b placeRange) int { return cmp.Compare(a.first, b.first) })
	return r, err
}
