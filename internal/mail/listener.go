package mail

import (
	"slices"
	"strings"
)

// The doors at which a process beside an agent waits until it is rung.
const (
	PosterDoor  = "poster"  // a child of a session that writes to the session's own inbox
	RewakeDoor  = "rewake"  // a hook in the background, by whose end a session is woken
	MonitorDoor = "monitor" // a program whose every line wakes a session
	ChannelDoor = "channel" // an MCP server that may notify its session
)

// WaitDoor is the door of mail that ended a wait of its recipient.
const WaitDoor = "wait"

// ListenerDoors lists the doors at which processes wait, in the order in which they are tried.
func ListenerDoors() []string { return []string{PosterDoor, RewakeDoor, MonitorDoor, ChannelDoor} }

// Listener is where a process beside an agent waits for the next ring.
type Listener struct {
	Door string `json:"door"`
	// Session names the session for which the process waits, by the client's id; "": it waits whatever session there
	// is. Of one session only the latest process waits at a door, and none when the session has ended.
	Session string `json:"session,omitempty"`
}

// Check returns what is wrong with l by itself.
func (l Listener) Check() error {
	if !slices.Contains(ListenerDoors(), l.Door) {
		return Errorf(Invalid, "nobody waits at a door %q; use %s", l.Door, strings.Join(ListenerDoors(), ", "))
	}
	if l.Session == "" {
		return nil
	}
	return checkWord("session", l.Session)
}

// Rung is what a process that waits is handed.
type Rung struct {
	ID   string `json:"id,omitempty"`   // of the ring
	Text string `json:"text,omitempty"` // for the model, on one line: that there is mail, and never what it says
	// Over says that the process is not to wait any more: another does for the session, or the session has ended.
	Over bool `json:"over,omitzero"`
}
