package jsonl

import (
	"time"
)

// The pauses between attempts to heal a poisoned journal.
const (
	firstPause = time.Second
	lastPause  = time.Minute
)

// calmly is the factor by which checks of a calm journal's files are rarer. There may be a thousand such journals, and
// programs that take their files away are rare.
const calmly = 10

// watch checks the files until the journal is closed. It checks all calm journals at the same moment, so that an idle
// process wakes once for all of them.
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
			j.calm.Store(true) // first: later appends stir
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

// stir makes watch check the files soon, because they are being changed.
func (j *Journal) stir() {
	if j.calm.CompareAndSwap(true, false) {
		j.stirred.Give()
	}
}

// look checks that the path leads to the open file, tries to heal a poisoned journal, and notes the last sequence
// number.
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
	default: // the keeper may still read from the old files
	}
}

// dropRetired closes files without readers. The caller is the keeper.
func (j *Journal) dropRetired() {
	j.swap.Lock()
	old := j.retired
	j.retired = nil
	j.swap.Unlock()
	for _, f := range old { // the system frees their blocks, which takes longer the larger they were
		_ = f.Close()
	}
}
