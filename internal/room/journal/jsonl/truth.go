package jsonl

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"pennypost/internal/base/durable"
)

// Changes by other programs to the main file.
var (
	// errSecondWriter means that the lock does not work: two post offices write to one file.
	errSecondWriter = errors.New(
		"another process has written events to the mailbox file; two post offices must not share it")
	// errChanged means that our lines are not where they were.
	errChanged = errors.New("the mailbox file was changed")
)

// stayOpen checks that the path of the main file still leads to the open file, and brings it back if not. The caller
// leads.
func (j *Journal) stayOpen() error {
	j.mu.Lock()
	size, broken := j.size, j.broken
	j.mu.Unlock()
	if broken != nil || j.inPlace(size) {
		return nil // added bytes are checked before the next write
	}
	return j.bringBack(size)
}

// inPlace reports whether the path leads to the open file, and the file has at least size bytes.
func (j *Journal) inPlace(size int64) bool {
	now, leads := j.leads(j.file)
	return leads && now >= size
}

// leads is disk.Leads for the main file. It is false for no file.
func (j *Journal) leads(f file) (size int64, leads bool) {
	if f == nil {
		return 0, false
	}
	return j.disk.Leads(j.mainPath, f)
}

// afterStrangers returns the end of the file: size, unless another program wrote to the file, which the lock cannot
// prevent. Added text stays, as a line that cannot be read. Removed events are put back, as far as they are known. A
// file that received events from another writer is no longer ours to append to. The caller leads.
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
		return j.size, nil // only the leader changes it
	case err == errSecondWriter:
		j.mu.Lock()
		j.shared = true
		j.mu.Unlock()
	}
	if err != nil {
		return 0, j.poison(err)
	}
	j.log.Warn("another program wrote to the mailbox file; its text is preserved", "offset", size,
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

// judgeAdded says what the file's growth between two sizes means.
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

// bringBack undoes changes to the main file while it was open: removed, replaced, cut off. The first size bytes of the
// open file are the truth. The caller leads.
func (j *Journal) bringBack(size int64) error {
	_, there := j.leads(j.file)
	missing := j.Condition().Missing
	if err := j.rebuild(size); err != nil {
		return j.poison(fmt.Errorf("the file was removed or replaced and could not be restored: %w", err))
	}
	j.meddledWith(there, j.Condition().Missing-missing)
	return nil
}

// heal makes a poisoned journal usable again. It writes the acknowledged events to a new file and syncs that, since it
// is unknown which parts of the old one would survive. The caller leads.
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
		fmt.Sprintf("From %s until now it was closed: %v\nIt was then written to a new file, with all acknowledged "+
			"mail. Mail sent meanwhile was refused, and its senders were told.",
			stamp(since),
			broken))
	return nil
}

// holdTruth brings the file back if necessary. It tries to heal a poisoned journal if the next attempt is due or, with
// now, immediately. The caller leads.
func (j *Journal) holdTruth(now bool) error {
	j.mu.Lock()
	broken, shared := j.broken, j.shared
	j.mu.Unlock()
	switch {
	case broken == nil:
		j.healing, j.healAt = 0, time.Time{}
		return j.stayOpen() // if it fails it poisons the journal and logs that
	case shared || !now && time.Now().Before(j.healAt):
		return nil
	}
	j.healing = min(max(2*j.healing, firstPause), lastPause)
	err := j.heal()
	if err != nil {
		j.healAt = time.Now().Add(j.healing)
		j.log.Warn("journal still not writable", "err", err, "next", j.healing)
	}
	return err
}

// secureDir makes and locks the directory again if it was removed.
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

// giveWay handles another process that made the directory again and works there: from now on its journal is the
// room's. The events acknowledged here are saved beside it.
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
	j.log.Error("another process has taken over the room; acknowledged mail of this one is beside its journal",
		"file", name, "err", err)
}
