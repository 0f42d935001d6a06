package jetstream

import (
	"testing"
	"testing/synctest"
	"time"

	"pennypost/internal/base/pause"
)

// A room that is flooded sends as much as it may and no more, and one that was quiet sends at once.
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
