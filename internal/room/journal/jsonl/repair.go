package jsonl

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"slices"

	"pennypost/internal/mail"
)

// Repair implements journal.Verifier.
func (j *Journal) Repair(ctx context.Context) (mail.Verification, error) {
	if err := j.becomeKeeper(ctx); err != nil {
		return mail.Verification{}, err
	}
	defer j.endKeeping()
	repaired, err := j.repair(ctx)
	if err != nil {
		return mail.Verification{}, fmt.Errorf("repair journal: %w", err)
	}
	v, err := j.verify(ctx)
	v.Repaired = repaired
	return v, err
}

func (j *Journal) repair(ctx context.Context) (repaired int, err error) {
	if err := j.usable(); err != nil {
		return 0, err
	}
	if err := j.undoArchive(); err != nil {
		return 0, err
	}
	if repaired, err = j.repairMain(ctx); err != nil {
		return repaired, err
	}
	return repaired, j.forgetCopies()
}

// repairMain sets aside bad lines, puts back those that fit, and marks what is missing. Appends wait meanwhile.
func (j *Journal) repairMain(ctx context.Context) (repaired int, err error) {
	j.takeLead()
	defer j.giveLead()
	if err := j.stayOpen(); err != nil {
		return 0, err
	}
	s, err := surveyAll(j.file)
	if err != nil {
		return 0, err
	}
	before := s.events
	if len(s.bad) > 0 {
		if s, err = j.setAside(s); err != nil {
			return 0, j.poison(err)
		}
	}
	spare, err := j.spareLines(ctx)
	if err != nil {
		return 0, err
	}
	pieces, changed, err := j.fillIn(spare)
	if err != nil {
		return 0, err
	}
	if changed {
		f := j.file
		now, err := j.replaceMain(0, func(o *output) error { return o.pieces(f, pieces...) })
		if now == nil {
			return 0, err
		}
		if s = now; err != nil {
			return 0, j.poison(err)
		}
	}
	j.mu.Lock()
	j.end = s.end
	j.tail.reset(s.end.end)
	j.mu.Unlock()
	return s.events - before, nil
}

// spare is a line that was set aside, can be read, and whose place may be free.
type spare struct {
	item
	text    []byte // newline included
	foreign bool   // it is from a file that was put in the place of the journal
}

// spareLines returns the events in the files that were set aside whose places the archive does not have, by place.
func (j *Journal) spareLines(ctx context.Context) (lines []spare, err error) {
	add := func(name string, text []byte) bool {
		it, _, err := inspect(text)
		if err == nil && it.gone == "" {
			lines = append(lines, spare{it, append(slices.Clone(text), '\n'), name != rejectedName})
		}
		return err == nil
	}
	err = j.eachSetAside(func(name string, l line) error {
		if !add(name, l.text) {
			for _, good := range (&badLine{text: l.text}).salvage() {
				add(name, good.text)
			}
		}
		return j.stopped(ctx)
	})
	if err != nil || len(lines) == 0 {
		return nil, err
	}
	taken := make(map[mail.Seq]bool)
	if err := j.eachArchived(func(it item) { taken[it.seq] = true }); err != nil {
		return nil, err
	}
	lines = slices.DeleteFunc(lines, func(l spare) bool { return taken[l.seq] })
	slices.SortStableFunc(lines, func(a, b spare) int { return cmp.Compare(a.seq, b.seq) })
	return lines, nil
}

func (j *Journal) eachSetAside(f func(name string, l line) error) error {
	names, err := j.foreigners()
	if err != nil {
		return err
	}
	for _, name := range append([]string{rejectedName}, names...) {
		from, err := j.disk.Open(j.path(name), os.O_RDONLY)
		if noFile(err) {
			continue
		}
		if err != nil {
			return err
		}
		size, err := from.Size()
		if err == nil {
			err = scan(from, firstLine(from), size, func(l line) error { return f(name, l) })
		}
		from.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// fillIn returns the main file as it is to be: where places are free, with the spare lines that belong there.
func (j *Journal) fillIn(lines []spare) (pieces []piece, changed bool, err error) {
	size, err := j.file.Size()
	if err != nil {
		return nil, false, err
	}
	var last item
	err = scan(j.file, firstLine(j.file), size, func(l line) error {
		it, _, err := inspect(l.text)
		whole := piece{span: span{l.off, l.bytes}}
		if err != nil || it.seq <= last.end {
			pieces = addPiece(pieces, whole)
			return nil
		}
		free := it
		switch {
		case it.gone == missing:
		case last.linkTo(&it) == gap || !it.chained && it.seq > last.end+1:
			free = last.lost(&it)
		default:
			pieces, last = addPiece(pieces, whole), it
			return nil
		}
		var added []piece
		added, last = last.fill(free, lines, it.gone == missing || it.chained)
		if it.gone == missing && len(added) == 1 && string(added[0].text) == string(l.text)+"\n" {
			added = []piece{whole} // as it was
		} else {
			changed = changed || len(added) > 0
		}
		for _, p := range added {
			pieces = addPiece(pieces, p)
		}
		if it.gone != missing {
			pieces, last = addPiece(pieces, whole), it
		}
		return nil
	})
	return pieces, changed, err
}

// fill returns the spare lines for the places of free, which come behind it, with stubs for what is still missing if
// those are called for, and the last of them.
func (it item) fill(free item, lines []spare, stubs bool) (pieces []piece, last item) {
	last = it
	i, _ := slices.BinarySearchFunc(lines, free.seq, func(l spare, seq mail.Seq) int {
		return cmp.Compare(l.seq, seq)
	})
	for ; i < len(lines) && lines[i].seq <= free.end; i++ {
		next := lines[i]
		// Where nothing says that lines are missing they may have been dropped or erased, and an old copy brought
		// back has them.
		if next.seq <= last.end || next.foreign && !stubs {
			continue
		}
		for k := i + 1; k < len(lines) && lines[k].seq == next.seq; k++ { // of two for one place, the one that follows
			if last.linkTo(&next.item) == differs {
				next = lines[k]
			}
		}
		if stubs && next.seq > last.end+1 {
			stub := last.lost(&next.item)
			pieces, last = append(pieces, piece{text: stub.line()}), stub
		}
		pieces, last = append(pieces, piece{text: next.text}), next.item
	}
	if stubs && last.end < free.end {
		stub := free
		stub.seq, stub.prev, stub.chained = last.end+1, last.crc, true
		if stub.known < stub.seq { // nobody was ever given one of these places
			stub.gone = dropped
		}
		pieces, last = append(pieces, piece{text: stub.line()}), stub
	}
	return pieces, last
}

// forgetCopies takes out of the files that were set aside what stands in the journal or in the archive, byte for byte.
func (j *Journal) forgetCopies() error {
	copies := make(map[[sha256.Size]byte]bool) // false: it is found nowhere else
	names := make(map[string]int)              // how many lines each has
	err := j.eachSetAside(func(name string, l line) error {
		copies[sha256.Sum256(l.text)] = false
		names[name]++
		return nil
	})
	if err != nil || len(copies) == 0 {
		return err
	}
	months, err := j.months()
	if err != nil {
		return err
	}
	for _, name := range append([]string{mainName}, months...) {
		if err := j.markCopies(name, copies); err != nil {
			return err
		}
	}
	for name := range names {
		if err := j.dropCopies(name, copies); err != nil {
			return err
		}
	}
	return nil
}

func (j *Journal) markCopies(name string, copies map[[sha256.Size]byte]bool) error {
	f, err := j.disk.Open(j.path(name), os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return err
	}
	return scan(f, firstLine(f), size, func(l line) error {
		sum := sha256.Sum256(l.text)
		if _, aside := copies[sum]; aside {
			copies[sum] = true
		}
		return nil
	})
}

// dropCopies rewrites a file without lines that are found elsewhere; one that has no others goes.
func (j *Journal) dropCopies(name string, copies map[[sha256.Size]byte]bool) error {
	f, err := j.disk.Open(j.path(name), os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return err
	}
	var keep []piece
	gone := 0
	err = scan(f, 0, size, func(l line) error {
		if copies[sha256.Sum256(l.text)] {
			gone++
		} else {
			keep = addPiece(keep, piece{span: span{l.off, l.bytes}})
		}
		return nil
	})
	switch {
	case err != nil || gone == 0:
		return err
	case len(keep) > 0 || name == rejectedName:
		err = j.rewrite(name, f, func(o *output) error { return o.pieces(f, keep...) })
	default:
		if err = j.disk.Remove(j.path(name)); err == nil {
			err = j.disk.SyncDir(j.dir)
		}
	}
	if err == nil && len(keep) == 0 && name != rejectedName {
		gone = 1 // a foreign file counts as one
	}
	if err == nil && (len(keep) == 0 || name == rejectedName) {
		j.lessRejected(gone)
	}
	return err
}
