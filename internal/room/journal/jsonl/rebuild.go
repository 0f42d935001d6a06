package jsonl

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"pennypost/internal/base/durable"
	"pennypost/internal/mail"
)

// newName is the name, before tmpSuffix, of a main file that is made anew. It is not that of a compaction's, which is
// the sign that the archive may not be trusted, and may be there at the same time.
const newName = "mailbox.new"

// settleIn sees, before the batch in j.buf at offset at is acknowledged, that the path leads to the file that it was
// written to. It returns where the batch is then.
func (j *Journal) settleIn(at int64, end item) (int64, error) {
	size := at + int64(len(j.buf))
	if now, leads := j.disk.Leads(j.mainPath, j.file); leads && now >= size {
		return at, nil
	}
	if err := j.bringBack(size, end, j.buf); err != nil {
		return 0, err
	}
	return j.size, nil // only who leads changes it
}

// bringBack undoes what somebody did to the main file while it was open: removed it, put another in its place, cut it
// off. What is open is the truth, of which the first size bytes count. The caller leads.
func (j *Journal) bringBack(size int64, end item, batch []byte) error {
	_, there := j.disk.Leads(j.mainPath, j.file)
	missing := j.Condition().Missing
	j.meddled.aside = ""
	if err := j.rebuild(size, end, batch); err != nil {
		return j.poison(fmt.Errorf("the file was removed or replaced, and could not be put back: %w", err))
	}
	j.meddledWith(there, j.Condition().Missing-missing)
	return nil
}

// rebuild writes what was acknowledged to a new main file: the first size bytes of the open one and, should they not
// go up to end any more, what is remembered of the rest. Batch is the part of it that is not published yet.
func (j *Journal) rebuild(size int64, end item, batch []byte) error {
	from := j.main()
	if from == nil {
		f, err := j.disk.Open(j.mainPath, os.O_RDWR)
		if err != nil {
			return err
		}
		defer f.Close()
		from = f
		if size, err = f.Size(); err != nil {
			return err
		}
	}
	now, err := from.Size()
	if err != nil {
		return err
	}
	s, err := surveyFile(from, min(size, now))
	if err != nil {
		return err
	}
	whole := span{0, s.size}
	if n := len(s.bad); n > 0 && !s.bad[n-1].whole {
		whole.bytes = s.bad[n-1].off // what is left of a line that was cut
	}
	var rest []byte
	if s.end.end != end.end {
		published := j.lastItem()
		if s.end.end > published.end { // what was never acknowledged, or a part of the batch
			if whole.bytes, err = endOf(from, s.size, published); err != nil {
				return err
			}
			s.end = published
		}
		if rest, err = j.remember(s.end); err != nil {
			return err
		}
		rest = append(rest, batch...)
	}
	_, err = j.replaceMain(len(batch), func(o *output) error {
		if err := o.copy(from, whole); err != nil {
			return err
		}
		if err := o.endLine(from, whole.bytes); err != nil {
			return err
		}
		return o.write(rest)
	})
	return err
}

// endOf returns where the line of end ends in the first size bytes of f.
func endOf(f file, size int64, end item) (at int64, err error) {
	err = scan(f, firstLine(f), size, func(l line) error {
		if it, _, err := inspect(l.text); err == nil && it.end <= end.end {
			at = l.end()
		}
		return nil
	})
	return at, err
}

// remember returns the published lines behind from: written again as they were from the events that followers share,
// and a stub for those that are older.
func (j *Journal) remember(from item) (lines []byte, err error) {
	end := j.lastItem()
	j.mu.Lock()
	batches := j.tail.rest(from.end)
	j.mu.Unlock()
	lacking := func(next item) {
		stub := from.lost(&next)
		lines = append(lines, stub.line()...)
		from = stub
	}
	for _, b := range batches {
		if first := b.events[0]; first.Seq > from.end+1 {
			next := item{seq: first.Seq, prev: b.prev, chained: true}
			next.setTime(first.At)
			lacking(next)
		}
		for _, e := range b.events {
			if e.Seq <= from.end {
				continue
			}
			payload, err := appendPayload(nil, &e)
			if err != nil {
				return nil, err
			}
			start := len(lines)
			lines = appendLine(lines, e.Seq, from.crc, payload)
			from = item{seq: e.Seq, end: e.Seq, crc: crcOf(lines[start : len(lines)-1])}
		}
	}
	if from.end < end.end {
		next := item{seq: end.end + 1, prev: end.crc, chained: true, when: end.when}
		lacking(next)
	}
	return lines, nil
}

// replaceMain puts a file that fill writes in the place of the main file, and goes on with it. Whatever else is there
// is set aside. If it fails, the file that was open stays so; but if only the last sync failed, the new one is open,
// and may not last. The caller leads, or is Open. The last bytes that fill writes may be unpublished.
func (j *Journal) replaceMain(unpublished int, fill func(*output) error) (*survey, error) {
	if err := j.secureDir(); err != nil {
		return nil, err
	}
	r, err := j.replace(newName, mainName)
	if err != nil {
		return nil, err
	}
	if err = fill(&r.output); err == nil {
		err = r.sync()
	}
	if err == nil {
		err = j.setForeignAside()
	}
	if err != nil {
		r.abandon()
		return nil, err
	}
	j.swap.Lock()
	defer j.swap.Unlock()
	old := j.file
	if windows && old != nil {
		_ = old.Close()
	}
	failed := r.put()
	if _, leads := j.leads(r.file); failed != nil && !leads {
		r.abandon()
		return nil, errors.Join(failed, j.stillOpen())
	}
	s, err := surveyAll(r.file)
	if err != nil {
		_ = r.closeFile()
		return nil, fmt.Errorf("read what was written: %w", err)
	}
	if old != nil && !windows {
		j.retired = append(j.retired, old)
	}
	j.file = r.file
	j.mu.Lock()
	defer j.mu.Unlock()
	j.size, j.index, j.absent = s.size-int64(unpublished), s.index, s.missing
	j.rewrites++
	return s, failed
}

// stillOpen opens the main file again after it could not be replaced, where it had to be closed for that.
func (j *Journal) stillOpen() (err error) {
	if windows {
		j.file, err = j.disk.Open(j.mainPath, os.O_RDWR)
	}
	return err
}

// leads is disk.Leads for the main file. Nothing leads to no file.
func (j *Journal) leads(f file) (size int64, leads bool) {
	if f == nil {
		return 0, false
	}
	return j.disk.Leads(j.mainPath, f)
}

// secureDir makes the directory again if somebody removed it, and locks it again.
func (j *Journal) secureDir() error {
	if j.lock.InPlace() {
		return nil
	}
	if err := j.disk.MkdirAll(j.dir); err != nil {
		return err
	}
	_ = j.lock.Close() // it locks a file without a name
	lock, err := j.disk.Lock(j.path(lockName))
	if err != nil {
		if locked := new(durable.LockedError); errors.As(err, &locked) {
			j.giveWay()
		}
		return lockError(j.dir, err)
	}
	j.lock = lock
	return j.disk.SyncDir(filepath.Dir(j.dir))
}

// giveWay is for when another process has made the directory again and works there: that one's journal is the room's
// from now on. What was acknowledged here is put beside it.
func (j *Journal) giveWay() {
	j.mu.Lock()
	was, size := j.shared, j.size
	j.shared = true
	j.mu.Unlock()
	if was || j.file == nil {
		return
	}
	name, err := j.freeForeign()
	if err == nil {
		err = j.rewrite(name, emptyFile{}, func(o *output) error { return o.copy(j.file, span{0, size}) })
	}
	j.log.Error("another process has taken over the room; what was acknowledged here is kept beside its journal",
		"file", name, "err", err)
}

// places returns where the events of the main file stand, in order, and the stubs that are found nowhere else.
func (j *Journal) places() (places []mail.Seq, err error) {
	f := j.main()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	err = scan(f, firstLine(f), size, func(l line) error {
		if it, _, err := inspect(l.text); err == nil && it.gone != archived {
			places = append(places, it.seq)
		}
		return nil
	})
	slices.Sort(places)
	return places, err
}
