package wire

import "pennypost/internal/mail"

// Place is the location of a client's session, or of a command in its shell, and the proposals for its room and
// agent. The process itself has read the project's file: the post office may be on another machine.
type Place struct {
	Client string `json:"client,omitempty"`
	// from a flag or a variable
	Room  mail.RoomName `json:"room,omitempty"`
	Agent mail.Name     `json:"agent,omitempty"`
	// proposed by the project's file
	FileRoom  mail.RoomName `json:"file_room,omitempty"`
	FileAgent mail.Name     `json:"file_agent,omitempty"`
	// the directory's defaults without them
	Own  mail.RoomName `json:"own,omitempty"`
	Free mail.Name     `json:"free,omitempty"`
	Home string        `json:"home,omitempty"` // the directory
	// Session is the client's session, for a program that serves several windows, and SessionHome the client's own
	// directory: then only the variables of its window count, and the fields above contain no others.
	Session     string `json:"session,omitempty"`
	SessionHome string `json:"session_home,omitempty"`
	// Starts says that a session begins, or resumes: the user is asked for rights that it lacks.
	Starts bool `json:"starts,omitzero"`
}

// Placed answers a Place: the room and the agent.
type Placed struct {
	Room  mail.RoomName `json:"room"`
	Agent mail.Name     `json:"agent"`
}
