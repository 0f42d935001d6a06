package wake

import "time"

// alarm is a timer that goes off at the earliest of the times it was set to.
type alarm struct {
	*time.Timer
	at time.Time // zero: it is not set
}

func newAlarm(d time.Duration) alarm { return alarm{time.NewTimer(d), time.Now().Add(d)} }

// by has it go off in d, unless it does so before.
func (a *alarm) by(d time.Duration) {
	if at := time.Now().Add(d); a.at.IsZero() || at.Before(a.at) {
		a.postpone(d)
	}
}

// postpone has it go off in d and not before.
func (a *alarm) postpone(d time.Duration) {
	a.at = time.Now().Add(d)
	a.Reset(d)
}

func (a *alarm) rung() { a.at = time.Time{} }
