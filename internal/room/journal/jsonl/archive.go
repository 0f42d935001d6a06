package jsonl

import (
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
	names, err := j.disk.List(j.path(archiveName))
	if err != nil {
		return nil, err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !isMonth(name) })
	slices.Sort(names)
	for i := range names {
		names[i] = path.Join(archiveName, names[i])
	}
	return names, nil
}

func isMonth(name string) bool {
	ok, _ := path.Match("[0-9][0-9][0-9][0-9]-[0-9][0-9].jsonl", name)
	return ok
}

// growArchive appends parts of the main file to the months they belong to, and makes that durable.
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

func (j *Journal) growMonth(name string, from file, lines []place) error {
	f, err := j.disk.Open(j.path(name), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return err
	}
	if lines, err = j.notYet(f, name, size, lines); err != nil {
		return err
	}
	o := output{file: f, off: size}
	if err := o.endLine(f, size); err != nil {
		return err
	}
	var pieces []piece
	for _, l := range lines {
		pieces = addPiece(pieces, l.piece)
	}
	if err := o.pieces(from, pieces...); err != nil {
		return err
	}
	return o.sync()
}

// notYet returns those of lines that a file of the archive does not have yet. It should have none; but if somebody
// brought back an older main file, they must not get there twice. Looking once is enough as long as the journal is
// open.
func (j *Journal) notYet(f file, name string, size int64, lines []place) ([]place, error) {
	if j.looked[name] {
		return lines, nil
	}
	there := make(map[mail.Seq]uint32)
	err := scan(f, firstLine(f), size, func(l line) error {
		seq, _, err := check(l.text)
		if _, found := slices.BinarySearchFunc(lines, place{seq: seq}, bySeq); err == nil && found {
			there[seq] = crcOf(l.text)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	j.looked[name] = true
	return slices.DeleteFunc(slices.Clone(lines), func(l place) bool {
		crc, found := there[l.seq]
		return found && crc == l.crc // another event of that place is not to be lost
	}), nil
}

// endLine writes the newline that a file lacks if some editor took it away.
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

// undoArchive takes out of the archive what a compaction put there that did not come to its end: lines whose events
// stand in the main file. They are the last ones of their files.
func (j *Journal) undoArchive() error {
	if !j.halfArchived {
		return nil
	}
	hot, err := j.places()
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

// cutMonth cuts off the last lines of a file of the archive, as far as their places are in hot, and a torn one.
func (j *Journal) cutMonth(name string, hot []mail.Seq) error {
	f, err := j.disk.Open(j.path(name), os.O_RDWR)
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return err
	}
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

// place is where a line stands in its journal and in its file.
type place struct {
	seq mail.Seq
	crc uint32
	piece
}

func bySeq(a, b place) int { return cmp.Compare(a.seq, b.seq) }
