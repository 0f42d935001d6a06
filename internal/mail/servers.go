package mail

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// ServerState is whether a NATS server does its part.
type ServerState string

const (
	ServerUp      ServerState = "up"
	ServerSilent  ServerState = "silent"  // it is not heard
	ServerUnknown ServerState = "unknown" // nothing that this machine may ask says
)

// ServerStatus is what is known of one of the NATS servers that keep rooms.
type ServerStatus struct {
	Name    string      `json:"name"`
	State   ServerState `json:"state"`
	Since   Time        `json:"since,omitzero"`    // since when it is silent
	Version string      `json:"version,omitempty"` // "": not known
	// Sync is how often it syncs what it stores: "always", or a time such as "2m0s"; "": not known.
	Sync string `json:"sync,omitempty"`
	// Behind is by how many writes the copy of a room there is behind, at most; BehindIn says of how many rooms.
	Behind   uint64 `json:"behind,omitzero"`
	BehindIn int    `json:"behind_in,omitzero"`
}

// Degraded is something of the servers that is not as it should be, though mail may go on.
type Degraded struct {
	About string `json:"about"` // tells it from others, such as "silent tower"
	Text  string `json:"text"`
	Fix   string `json:"fix,omitempty"`   // what to do
	Since Time   `json:"since,omitzero"`  // when it was noticed
	Stops bool   `json:"stops,omitempty"` // some room takes no mail
}

// WrongClock is how far a machine's clock may be from the servers' before it is called wrong.
const WrongClock = time.Second

// ServersHealth is how the NATS servers are.
type ServersHealth struct {
	Servers []ServerStatus `json:"servers"`          // by name
	Unknown int            `json:"unknown,omitzero"` // how many others there are, of which nothing is known
	// MayFail is how many more of them may fail, whichever these are, before some room takes no mail. -1: some room
	// takes none now. Without it nothing is known.
	MayFail  *int       `json:"may_fail,omitempty"`
	Degraded []Degraded `json:"degraded,omitempty"`
	// Erasing counts what was erased and the servers' logs may still have; nil if that is nothing.
	Erasing *Lingering `json:"erasing,omitempty"`
}

// Lingering is erased text that may still be in the servers' own logs, which they compact some minutes later.
type Lingering struct {
	Messages int  `json:"messages"`
	Since    Time `json:"since"` // when the first of them was erased
	Until    Time `json:"until"` // when it is gone from all logs, if all servers stay up
	// Servers are away. Their logs may have the text until some minutes after they are back.
	Servers []string `json:"servers,omitempty"`
}

// Join returns what both say together. l may be nil.
func (l *Lingering) Join(o *Lingering) *Lingering {
	if l == nil {
		return o
	}
	servers := slices.Compact(slices.Sorted(slices.Values(slices.Concat(l.Servers, o.Servers))))
	return &Lingering{l.Messages + o.Messages, min(l.Since, o.Since), max(l.Until, o.Until), servers}
}

// String says it in a sentence.
func (l *Lingering) String() string {
	text := fmt.Sprintf("The text of %d erased messages may still be in the NATS servers' own logs", l.Messages)
	if l.Messages == 1 {
		text = "The text of an erased message may still be in the NATS servers' own logs"
	}
	if len(l.Servers) > 0 {
		return text + ", until minutes after " + strings.Join(l.Servers, " and ") + " is heard again."
	}
	return text + ", until " + l.Until.Std().Local().Format("15:04:05") + "."
}
