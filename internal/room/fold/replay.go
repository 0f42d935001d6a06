package fold

import (
	"slices"

	"pennypost/internal/mail"
)

// Misses reports whether an event did not count of which a checkpoint of a shared room says that it did.
func (s *State) Misses(c *mail.Checkpoint) bool {
	return len(c.Machines) > 0 && slices.ContainsFunc(s.Void, func(seq mail.Seq) bool { return !IsAmong(c.Void, seq) })
}
