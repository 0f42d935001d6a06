package mailroom

import (
	"pennypost/internal/mail"
	"pennypost/internal/policy"
	"pennypost/internal/room/fold"
)

// Rules are what a room goes by, which no event changes.
type Rules struct {
	Room       mail.RoomName
	MaxBody    int      // bytes
	Namespaces []string // of tags
	TTL        policy.TTL
	Limits     policy.Limits
	// Orchestrators are agents to whom the configuration gives that role, as soon as they are on the roster.
	Orchestrators []mail.Name
	Protocols     []mail.Protocol
	// Machine is this one's name; "": nobody else writes to the journal.
	Machine mail.Machine
	// Alive reports whether a process of this machine runs.
	Alive func(process string) bool
	// Exists reports whether the post office has another room.
	Exists func(mail.RoomName) bool
	// NewID returns an id in a form that no message of a state has.
	NewID func(*fold.State, mail.IDForm) mail.ID
	// Alone says that nothing leads to other rooms.
	Alone bool
}

// Caller is who asks.
type Caller struct {
	Who     mail.Name
	Foreign bool       // Who is the address of an agent of another room
	Across  bool       // what the caller sends came from another room
	Copies  mail.ID    // the id that this has there
	Files   bool       // Who is the user, who repeats what foreign files say
	Means   mail.Means // how the user is known, who is the caller
	Right   bool       // the caller, of another room, may settle there the question that it answers
	// Enters reports whether another room is there for the caller. Nil: all are.
	Enters func(mail.RoomName) bool
	// Claimed is what a session says that it is called now, which stays who it is.
	Claimed mail.Name
	Parent  mail.Name // in whose session the caller runs, if it is not on the roster: whose child it becomes
}

// Asker is a caller and the rules of the room that it asks: what can be said without looking at the state.
type Asker struct {
	*Rules
	*Caller
}

// View is what one who asks sees of a room at a moment.
type View struct {
	Asker
	fold.Sight
	Now mail.Time
}
