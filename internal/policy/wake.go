package policy

import (
	"time"

	"pennypost/internal/mail"
)

// Wakes reports whether a message is worth waking a recipient that it reached through address a, by the table of
// types. Urgent mail always wakes. Mail to a tag or to all waits until the agent next looks, unless it stops work.
func Wakes(t mail.Type, p mail.Priority, from, a mail.Address, orchestrator bool) bool {
	rule := t.Rule().Wakes
	switch {
	case a.Kind() == mail.ToPerson:
		return false // a window tells the person; no door wakes them
	case p == mail.Urgent, rule == mail.WakesEverybody:
		return true
	case a.Kind() == mail.ToEveryone, a.Kind() == mail.ToTag:
		return false
	}
	return rule == mail.WakesRecipient || rule == mail.WakesOrchestrator && orchestrator ||
		rule == mail.WakesFromUser && from == mail.ToUser
}

// proofTime is how long after a ring an agent that looks does so because of it: the time that the ladder allows.
const proofTime = 2 * time.Minute

// ProvenDoor returns the door that made an agent look at a message: the one rung for it shortly before it was handed
// over, otherwise the one that handed it over.
func ProvenDoor(rung string, at mail.Time, through string, handed mail.Time) string {
	if rung != "" && rung != mail.HookDoor && handed.Sub(at) <= proofTime {
		return rung
	}
	return through
}
