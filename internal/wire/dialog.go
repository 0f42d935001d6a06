package wire

import "pennypost/internal/mail"

// Away says that the user wants to be asked elsewhere by an agent whose client shows no dialog while it waits for a
// hook.
type Away struct {
	Room  mail.RoomName `json:"room,omitempty"`  // "": all rooms
	Agent mail.Name     `json:"agent,omitempty"` // "": all agents
	Until mail.Time     `json:"until"`
}

// Aways lists the current Away entries.
type Aways struct {
	Away []Away `json:"away"`
}
