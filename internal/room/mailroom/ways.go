package mailroom

import "pennypost/internal/mail"

// ways is how this machine would wake somebody at present, which no event tells. Its functions are called with the
// state locked, so they must not block.
type ways struct {
	Here   mail.Machine                                                                // Options.Machine
	Door   func(agent mail.Name, roles []string) string                                // Options.Door
	PutOff func(agent mail.Name, roles []string, urgent bool, now mail.Time) mail.Time // Options.PutOff
	Tells  func(asks, urgent bool, now mail.Time) (how string, putOff mail.Time)       // Options.Tells
	Away   func(mail.Machine) bool                                                     // Options.Away
}

// sight is a state as one machine sees it: with how mail that waits would be told of.
type sight struct {
	*state
	ways *ways
}
