package policy

import (
	"time"

	"pennypost/internal/mail"
)

const (
	ringTime = 2 * time.Minute  // for an agent to look after a ring
	turnTime = 15 * time.Minute // for a turn to end, when the agent looks
)

// Stuck reports whether a message has waited too long for a reader on the roster, who is in the given state and whom
// the message should wake.
func Stuck(reader mail.State, d *mail.Delivery, sent, now mail.Time) bool {
	switch {
	case d.State != mail.Queued && d.State != mail.Notified, d.Wake == mail.WakeNone, d.Wake == mail.WakeWaiting,
		d.Wake == mail.WakeAsking: // a reader at a dialog counts as stuck by itself
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
