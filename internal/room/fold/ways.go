package fold

import "pennypost/internal/mail"

// Ways is how one machine would wake someone at present, which no event records. Its functions are called with the
// state locked, so they must not block.
type Ways struct {
	// Here is the machine; "": the room is in a file, and no other machine writes to it.
	Here mail.Machine
	// Door names the door of an agent, or of the holder of roles; "": none is known.
	Door func(agent mail.Name, roles []string) string
	// PutOff returns until when an agent is not rung for new mail; zero: it is rung.
	PutOff func(agent mail.Name, roles []string, urgent bool, now mail.Time) mail.Time
	// Tells says how the user is told, a word for Delivery.Wake, and until when that is put off.
	Tells func(asks, urgent bool, now mail.Time) (how string, putOff mail.Time)
	// Away reports whether nothing is heard of another machine.
	Away func(mail.Machine) bool
}

// Sight is a state as one machine sees it, including how it would tell of waiting mail.
type Sight struct {
	*State
	ways *Ways
}

// Seen returns the state as a machine sees it.
func (s *State) Seen(w *Ways) Sight { return Sight{s, w} }
