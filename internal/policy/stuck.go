package policy

import (
	"time"

	"pennypost/internal/mail"
)

const (
	ringTime = 2 * time.Minute  // for an agent to look when a door was rung
	turnTime = 15 * time.Minute // for a turn to end, at which an agent looks
)

// Stuck reports whether a message that was sent some time ago has by now waited too long for a reader who is on the
// roster, in that state, and whom the message should wake.
func Stuck(reader mail.State, d *mail.Delivery, sent, now mail.Time) bool {
	switch {
	case d.State != mail.Queued && d.State != mail.Notified, d.Wake == mail.WakeNone, d.Wake == mail.WakeWaiting,
		d.Wake == mail.WakeAsking: // that its reader is at a dialog is stuck by itself
		return false
	case reader == mail.Frozen, d.Wake == mail.WakeNoDoor:
		return true
	case d.Wake == mail.WakeTurnEnd:
		return now.Sub(sent) >= turnTime
	case d.State == mail.Notified:
		return now.Sub(d.At) >= ringTime
	}
	return now.Sub(sent) >= ringTime
}
