package fold

import (
	"slices"

	"pennypost/internal/mail"
)

// Owes reports whether a machine has still to erase a message: it has not said that it is done, or its journal had the
// text when it came to the erasure, which others had done with before it followed the room.
func (s *State) Owes(id mail.ID, me mail.Machine) bool {
	e := s.Erasing[id]
	return e != nil && (me == "" || !slices.Contains(e.done, me)) || e == nil && s.Remains[id]
}
