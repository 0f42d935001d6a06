package wake

import "time"

// alarm is a timer that fires at the earliest of its set times.
type alarm struct {
	*time.Timer
	at time.Time // zero: not set
}

func newAlarm(d time.Duration) alarm { return alarm{time.NewTimer(d), time.Now().Add(d)} }

// by makes it fire in d or earlier.
func (a *alarm) by(d time.Duration) {
	if at := time.Now().Add(d); a.at.IsZero() || at.Before(a.at) {
		a.postpone(d)
	}
}

// postpone makes it fire in d, not earlier.
func (a *alarm) postpone(d time.Duration) {
	a.at = time.Now().Add(d)
	a.Reset(d)
}

func (a *alarm) rung() { a.at = time.Time{} }
