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
	if j.calm.CompareAndSwap(true, false) {
		j.stirred.Give()
	}
}

// look sees that the path leads to the open file, tries to take up a poisoned journal, and notes how far the journal
// has come.
func (j *Journal) look() {
	j.takeLead()
	_ = j.holdTruth(false)
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

// dropRetired closes files in which nobody reads any more. The caller is the keeper.
func (j *Journal) dropRetired() {
	j.swap.Lock()
	old := j.retired
	j.retired = nil
	j.swap.Unlock()
	for _, f := range old { // the system frees what they held, which takes the longer the larger they were
		_ = f.Close()
	}
}
