package policy

import "pennypost/internal/mail"

// Wakes reports whether m is worth waking a recipient that it reached through address a.
//
// Results and questions wake the orchestrator; orders, requests, questions, answers and cancels wake whoever they are
// for; so does anything urgent, and whatever the person writes to one agent. Progress and announcements wake nobody: they
// are found when the agent next looks.
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
