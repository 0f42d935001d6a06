package jsonl

import (
	"time"
)

// The pauses between two attempts to take up a poisoned journal again.
const (
	firstPause = time.Second
	lastPause  = time.Minute
)

// calmly is how much less often the files of a journal are looked at to which nothing is appended. There may be a
// thousand such journals, and somebody who takes their files away is rare.
const calmly = 10

// watch looks after the files until the journal is closed. Journals that are calm are looked at in the same moment, so
// that an idle process wakes up once for all of them.
func (j *Journal) watch(every time.Duration) {
	timer := time.NewTimer(every)
	defer timer.Stop()
	for {
		select {
		case <-j.closed:
			return
		case <-j.stirred:
			timer.Reset(every)
		case now := <-timer.C:
			noted := j.noted
			j.calm.Store(true) // first: what is appended from here on stirs
			j.look()
			if j.noted == noted && j.usable() == nil {
				timer.Reset(time.Until(now.Truncate(calmly * every).Add(calmly * every)))
			} else {
				j.calm.Store(false)
				timer.Reset(every)
			}
		}
	}
}

// stir has the files looked at soon, for something is done to them.
func (j *Journal) stir() {
	if !j.calm.CompareAndSwap(true, false) {
		return
	}
	select {
	case j.stirred <- struct{}{}:
	default:
	}
}

// look sees that the path leads to the open file, tries to take up a poisoned journal, and notes how far the journal
// has come.
func (j *Journal) look() {
	j.takeLead()
	j.lookAsLeader()
	j.giveLead()
	j.syncCopy()
	j.noteLast()
	select {
	case j.keeper <- struct{}{}:
		j.dropRetired()
		<-j.keeper
	default: // whoever works on the files may still read there
	}
}

func (j *Journal) lookAsLeader() {
	j.mu.Lock()
	broken, shared := j.broken, j.shared
	j.mu.Unlock()
	switch {
	case broken == nil:
		_ = j.stayOpen() // it poisons the journal if it fails, which is in the log
		j.healing, j.healAt = 0, time.Time{}
	case shared || time.Now().Before(j.healAt):
	default:
		j.healing = min(max(2*j.healing, firstPause), lastPause)
		if err := j.heal(); err != nil {
			j.healAt = time.Now().Add(j.healing)
			j.log.Warn("the journal still cannot be written", "err", err, "next", j.healing)
		}
	}
}

// stayOpen sees that the path of the main file still leads to what is open, and brings that back if not. The caller
// leads.
func (j *Journal) stayOpen() error {
	j.mu.Lock()
	size, end, broken := j.size, j.end, j.broken
	j.mu.Unlock()
	if broken != nil {
		return nil
	}
	if now, leads := j.disk.Leads(j.mainPath, j.file); leads && now >= size {
		return nil // what strangers added is looked at before the next write
	}
	return j.bringBack(size, end, nil)
}

// leaveWhole is stayOpen for a journal that is being closed. Nobody comes later to take up a poisoned one.
func (j *Journal) leaveWhole() error {
	j.mu.Lock()
	broken, shared := j.broken, j.shared
	j.mu.Unlock()
	if broken != nil && !shared {
		return j.heal()
	}
	return j.stayOpen()
}

// dropRetired closes files in which nobody reads any more. The caller is the keeper.
func (j *Journal) dropRetired() {
	j.swap.Lock()
	defer j.swap.Unlock()
	for _, f := range j.retired {
		_ = f.Close()
	}
	j.retired = nil
}
