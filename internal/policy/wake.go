package policy

import (
	"time"

	"pennypost/internal/mail"
)

// Wakes reports whether m is worth waking a recipient that it reached through address a.
//
// Results and questions wake the orchestrator; orders, requests, questions, answers and cancels wake whoever they are
// for; so does anything urgent, and whatever the person writes to one agent. Progress and announcements wake nobody:
// they are found when the agent next looks.
func Wakes(m *mail.Message, a mail.Address, orchestrator bool) bool {
	switch a.Kind() {
	case mail.ToPerson:
		return false // the person is told by the window, not woken by a door
	case mail.ToEveryone, mail.ToTag:
		return m.Priority == mail.Urgent || m.Type == mail.Cancel
	}
	if m.Priority == mail.Urgent {
		return true
	}
	switch m.Type {
	case mail.TaskDone, mail.ReviewResult:
		return orchestrator
	case mail.TaskAssigned, mail.ReviewRequest, mail.Question, mail.Answer, mail.Cancel:
		return true
	case mail.Custom:
		return m.From == mail.ToUser
	}
	return false
}

// proofTime is how long behind a ring an agent that looks does so because of it: the time that the ladder gives it.
const proofTime = 2 * time.Minute

// ProvenDoor returns the door that has made an agent look at a message: the one that was rung for it shortly before it
// was handed over, else the one through which it was handed over.
func ProvenDoor(rung string, at mail.Time, through string, handed mail.Time) string {
	if rung != "" && rung != mail.HookDoor && handed.Sub(at) <= proofTime {
		return rung
	}
	return through
}
