package jsonl

// lastName is a file with one line: the journal's last sequence number. With it Open notices an end that was cut off
// between two lines, or a missing journal. It is written apart from appends, at most once a second, and not synced, so
// it may be a second old or damaged by a power cut. Its sequence number is never too high.
const lastName = "mailbox.last"

// lastMember holds the crc of the last line.
const lastMember = `,"last":"`

// skipped is how many sequence numbers are skipped after the end of a journal was lost: more than the fastest journal
// ever measured assigns while lastName is out of date.
const skipped = 1_000_000

// noteLast writes lastName if there are new events. Only the goroutine of watch calls it, and Close after that has
// ended.
func (j *Journal) noteLast() {
	last := j.lastItem()
	if last.end == j.noted || last.end == 0 {
		return
	}
	line := last
	line.seq, line.chained = last.end, false
	if err := j.replaceSmall(lastName, line.lastLine()); err != nil {
		j.log.Warn("last sequence number not saved", "file", lastName, "err", err)
		return
	}
	j.noted = last.end
}

func (it *item) lastLine() []byte {
	b := appendNumber(append([]byte(nil), head...), it.seq)
	if it.when[0] != 0 {
		b = append(append(append(b, atHead...), it.when[:]...), '"')
	}
	b = append(appendSum(append(b, lastMember...), it.crc), '"')
	return append(appendCRC(b, 0), '\n')
}

// replaceSmall replaces a file whose loss does no harm.
func (j *Journal) replaceSmall(name string, text []byte) error {
	tmp := j.path(name) + tmpSuffix
	f, err := j.create(tmp)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(text, 0)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = j.disk.Rename(tmp, j.path(name))
	}
	if err != nil {
		_ = j.disk.Remove(tmp)
	}
	return err
}

// lastKnown returns the last line that this directory is known to have held, zero if none is known: from lastName, or,
// if hot says that the journal is empty, from the archive.
func (j *Journal) lastKnown(hot item) (item, error) {
	known := j.readLast()
	if known.end != 0 || hot.end != 0 {
		return known, nil
	}
	err := j.eachArchived(func(it item) {
		if it.end > known.end {
			known = it
		}
	})
	return known, err
}

// readLast returns the item in lastName, zero if it cannot be read.
func (j *Journal) readLast() (it item) {
	_, _ = j.eachLine(lastName, func(l line) error {
		said, covered, err := inspect(l.text)
		if err != nil || len(covered) <= len(lastMember)+crcDigits {
			return nil
		}
		tail := covered[len(covered)-len(lastMember)-crcDigits-1:]
		if crc, ok := hexSum(tail[len(lastMember):]); ok && string(tail[:len(lastMember)]) == lastMember {
			it = said
			it.crc = crc
		}
		return nil
	})
	return it
}

// eachArchived calls f for each readable line of the archive.
func (j *Journal) eachArchived(f func(item)) error {
	names, err := j.months()
	if err != nil {
		return err
	}
	return j.eachLineOf(names, func(_ string, l line) error {
		if it, _, err := inspect(l.text); err == nil {
			f(it)
		}
		return nil
	})
}
