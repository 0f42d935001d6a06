package jsonl

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"pennypost/internal/base/durable"
)

// What strangers do to the main file.
var (
	// errSecondWriter means that the lock does not work: two post offices write to one file.
	errSecondWriter = errors.New(
		"another process has written events to the mailbox file; two post offices must not share it")
	// errChanged means that lines of ours are not where they were.
	errChanged = errors.New("the mailbox file was changed")
)

// stayOpen sees that the path of the main file still leads to what is open, and brings that back if not. The caller
// leads.
func (j *Journal) stayOpen() error {
	j.mu.Lock()
	size, broken := j.size, j.broken
	j.mu.Unlock()
	if broken != nil || j.inPlace(size) {
		return nil // what strangers added is looked at before the next write
	}
	return j.bringBack(size)
}

// inPlace reports whether the path leads to the open file, and that has so many bytes.
func (j *Journal) inPlace(size int64) bool {
	now, leads := j.leads(j.file)
	return leads && now >= size
}

// leads is disk.Leads for the main file. Nothing leads to no file.
func (j *Journal) leads(f file) (size int64, leads bool) {
	if f == nil {
		return 0, false
	}
	return j.disk.Leads(j.mainPath, f)
}

// afterStrangers returns where the file ends: at size, unless somebody else wrote to it, which the lock cannot
// hinder. What was added by hand stays, as a line of its own that cannot be read. What was taken away is put back, as
// far as that is known. But a file that got events from elsewhere is not ours to go on with. The caller leads.
func (j *Journal) afterStrangers(size int64) (int64, error) {
	now, err := j.file.Size()
	switch {
	case err == nil && now == size:
		return size, nil
	case err == nil && now < size:
		err = errChanged
	case err == nil:
		err = j.judgeAdded(size, now)
	}
	switch {
	case err == errChanged:
		if err := j.bringBack(max(now, size)); err != nil {
			return 0, err
		}
		return j.size, nil // only who leads changes it
	case err == errSecondWriter:
		j.mu.Lock()
		j.shared = true
		j.mu.Unlock()
	}
	if err != nil {
		return 0, j.poison(err)
	}
	j.log.Warn("somebody else has written to the mailbox file; what they wrote is kept as it is", "offset", size,
		"bytes", now-size)
	o := output{file: j.file, off: now}
	if err := o.endLine(j.file, now); err != nil {
		return 0, j.poison(err)
	}
	if err := o.flush(); err != nil {
		return 0, j.refuse(err)
	}
	return o.end(), nil
}

// judgeAdded says what it means that the file has grown from one size to another.
func (j *Journal) judgeAdded(from, to int64) error {
	end := j.Last()
	return scan(j.file, from, to, func(l line) error {
		switch seq, _, err := check(l.text); {
		case err != nil:
			return nil
		case seq <= end:
			return errChanged
		}
		return errSecondWriter
	})
}

// bringBack undoes what somebody did to the main file while it was open: removed it, put another in its place, cut it
// off. What is open is the truth, of which the first size bytes count. The caller leads.
func (j *Journal) bringBack(size int64) error {
	_, there := j.leads(j.file)
	missing := j.Condition().Missing
	if err := j.rebuild(size); err != nil {
		return j.poison(fmt.Errorf("the file was removed or replaced, and could not be put back: %w", err))
	}
	j.meddledWith(there, j.Condition().Missing-missing)
	return nil
}

// heal makes a poisoned journal usable again: what was acknowledged is written to a new file and synced, since nobody
// knows what of the old one would survive. The caller leads.
func (j *Journal) heal() error {
	j.mu.Lock()
	broken, since, size := j.broken, j.brokenAt, j.size
	j.mu.Unlock()
	if err := j.rebuild(size); err != nil {
		return err
	}
	j.mu.Lock()
	j.broken = nil
	j.mu.Unlock()
	j.refused = nil
	j.tell("The mailbox can be written again",
		fmt.Sprintf("From %s until now it was closed: %v\nIt was then written to a new file, with all "+
			"that was ever acknowledged. What was sent meanwhile was refused, and its senders were told.",
			stamp(since),
			broken))
	return nil
}

// holdTruth brings the file back if it must be, and tries to take up a poisoned journal: if its time has come or, with
// now, at once. The caller leads.
func (j *Journal) holdTruth(now bool) error {
	j.mu.Lock()
	broken, shared := j.broken, j.shared
	j.mu.Unlock()
	switch {
	case broken == nil:
		j.healing, j.healAt = 0, time.Time{}
		return j.stayOpen() // it poisons the journal if it fails, which is in the log
	case shared || !now && time.Now().Before(j.healAt):
		return nil
	}
	j.healing = min(max(2*j.healing, firstPause), lastPause)
	err := j.heal()
	if err != nil {
		j.healAt = time.Now().Add(j.healing)
		j.log.Warn("the journal still cannot be written", "err", err, "next", j.healing)
	}
	return err
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
	names, err := j.names()
	name := freeForeign(names)
	if err == nil {
		var r *replacement
		if r, err = j.build(name, name, j.file, []piece{{span: span{0, size}}}); err == nil {
			err = r.commit()
		}
	}
	j.log.Error("another process has taken over the room; what was acknowledged here is kept beside its journal",
		"file", name, "err", err)
}
