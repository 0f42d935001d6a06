package mail

import (
	"slices"
	"strings"
)

// The doors at which a process next to an agent waits to be rung.
const (
	PosterDoor  = "poster"  // a child of a session that writes to the session's own inbox
	RewakeDoor  = "rewake"  // a background hook whose end wakes a session
	MonitorDoor = "monitor" // a program whose every line wakes a session
	ChannelDoor = "channel" // an MCP server that may notify its session
)

// WaitDoor is the door of mail that ended a wait of its recipient.
const WaitDoor = "wait"

// ListenerDoors lists the doors at which processes wait, in the order in which they are tried.
func ListenerDoors() []string { return []string{PosterDoor, RewakeDoor, MonitorDoor, ChannelDoor} }

// Listener is the door at which a process next to an agent waits for the next ring.
type Listener struct {
	Door string `json:"door"`
	// Session is the client's id of the session for which the process waits; "": any session. For one session only
	// the latest process waits at a door, and none once the session has ended.
	Session string `json:"session,omitempty"`
}

// Check validates l by itself.
func (l Listener) Check() error {
	if !slices.Contains(ListenerDoors(), l.Door) {
		return Errorf(Invalid, "%q is not a door that agents wait at; use %s", l.Door,
			strings.Join(ListenerDoors(), ", "))
	}
	if l.Session == "" {
		return nil
	}
	return checkWord("session", l.Session)
}

// Rung is the answer to a waiting process.
type Rung struct {
	ID   string `json:"id,omitempty"`   // of the ring
	Text string `json:"text,omitempty"` // for the model, on one line: that there is mail, never its content
	// Over says that the process must stop waiting: another waits for the session, or the session has ended.
	Over bool `json:"over,omitzero"`
}
