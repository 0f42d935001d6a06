package policy

import (
	"slices"

	"pennypost/internal/mail"
)

// DeliveryFacts decide the state of a message for one recipient: the times of the latest receipts, zero for none, and
// facts about the recipient.
type DeliveryFacts struct {
	Archived, Read, Presented, Notified mail.Time
	Expires                             mail.Time // zero: never
	Direct                              bool      // the message is addressed to this agent by name
	Away                                bool      // the recipient's last session has ended, or no agent has the name
}

// State returns the state at a time, and when it began if a receipt or the expiry tells.
//
// Mail to an absent agent by name is dead, a dead letter, until the agent's next session adopts it. Read mail stays
// read, whatever happens to the reader.
func (s DeliveryFacts) State(now mail.Time) (mail.DeliveryState, mail.Time) {
	switch {
	case s.Archived != 0:
		return mail.Archived, s.Archived
	case s.Read != 0:
		return mail.Read, s.Read
	case Past(s.Expires, now):
		return mail.Expired, s.Expires
	case s.Direct && s.Away:
		return mail.Dead, 0
	case s.Presented != 0:
		return mail.Presented, s.Presented
	case s.Notified != 0:
		return mail.Notified, s.Notified
	}
	return mail.Queued, 0
}

// Carries reports whether an agent with these tags is in the audience of a tag, or of "all".
func Carries(tags []string, a mail.Address) bool {
	return a == mail.ToAll || slices.Contains(tags, string(a))
}

// KeepsRoleMail reports whether an agent that was given mail for a role should still read it. It should while it has
// the role, even when frozen; when it ends or steps down, the mail goes to another holder.
func KeepsRoleMail(listed bool, state mail.State, roles []string, role string) bool {
	return listed && state != mail.Gone && slices.Contains(roles, role)
}
