package jetstream

import (
	"testing"
	"testing/synctest"
	"time"

	"pennypost/internal/base/pause"
)

// A flooded room sends at the allowed rate and no faster, and one that was quiet sends immediately.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := new(Journal)
		began := time.Now()
		for range 100 {
			pause.For(t.Context(), j.pace(maxBatch))
		}
		const want = (100*maxBatch - mostAhead) * time.Second / mostPerSecond
		if took := time.Since(began); took < want-time.Second/2 || took > want {
			t.Errorf("100 batches took %v, want %v", took, want)
		}
		time.Sleep(time.Minute)
		if wait := j.pace(1); wait != 0 {
			t.Errorf("after a minute it waits %v", wait)
		}
	})
}
