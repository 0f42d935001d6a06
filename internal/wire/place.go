package wire

import "pennypost/internal/mail"

// Place is where a client's session, or a command in its shell, is, and what it says of room and agent. The process
// itself has read the file of its project: the post office may be on another machine.
type Place struct {
	Client string `json:"client,omitempty"`
	// what a flag or a variable names
	Room  mail.RoomName `json:"room,omitempty"`
	Agent mail.Name     `json:"agent,omitempty"`
	// what the file of the project proposes
	FileRoom  mail.RoomName `json:"file_room,omitempty"`
	FileAgent mail.Name     `json:"file_agent,omitempty"`
	// what the directory has without them
	Own  mail.RoomName `json:"own,omitempty"`
	Free mail.Name     `json:"free,omitempty"`
	Home string        `json:"home,omitempty"` // the directory
	// Session is the client's session of a program that serves several windows, and SessionHome the client's own
	// directory: the variables that count are those of its window, and no others are among the above.
	Session     string `json:"session,omitempty"`
	SessionHome string `json:"session_home,omitempty"`
	// Starts says that a session begins, or goes on: the user is asked for what it may not have.
	Starts bool `json:"starts,omitzero"`
}

// Placed answers a Place: in which room, and as whom.
type Placed struct {
	Room  mail.RoomName `json:"room"`
	Agent mail.Name     `json:"agent"`
}
