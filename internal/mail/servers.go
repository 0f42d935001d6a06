package mail

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// ServerState is the condition of a NATS server.
type ServerState string

const (
	ServerUp      ServerState = "up"
	ServerSilent  ServerState = "silent"  // it cannot be heard
	ServerUnknown ServerState = "unknown" // this machine has no source that it may ask
)

// ServerStatus is the known status of one of the NATS servers that store rooms.
type ServerStatus struct {
	Name    string      `json:"name"`
	State   ServerState `json:"state"`
	Since   Time        `json:"since,omitzero"`    // when it fell silent
	Version string      `json:"version,omitempty"` // "": unknown
	// Sync is how often it syncs its storage: "always", or a duration such as "2m0s"; "": unknown.
	Sync string `json:"sync,omitempty"`
	// Behind is the largest number of writes by which one of its copies of a room lags; BehindIn counts the rooms
	// that lag.
	Behind   uint64 `json:"behind,omitzero"`
	BehindIn int    `json:"behind_in,omitzero"`
}

// Degraded is a problem of the servers, even though mail may still flow.
type Degraded struct {
	About string `json:"about"` // identifies the problem, such as "silent tower"
	Text  string `json:"text"`
	Fix   string `json:"fix,omitempty"`   // what to do
	Since Time   `json:"since,omitzero"`  // when it was noticed
	Stops bool   `json:"stops,omitempty"` // some room accepts no mail
}

// WrongClock is the difference from the servers' clock at which a machine's clock counts as wrong.
const WrongClock = time.Second

// ServersHealth is the health of the NATS servers.
type ServersHealth struct {
	Servers []ServerStatus `json:"servers"`          // by name
	Unknown int            `json:"unknown,omitzero"` // number of other servers, of unknown status
	// MayFail is how many more of them may fail, whichever they are, before some room accepts no mail. -1: some
	// room accepts none now. Nil: unknown.
	MayFail  *int       `json:"may_fail,omitempty"`
	Degraded []Degraded `json:"degraded,omitempty"`
	// Erasing counts erased messages that the servers' logs may still have; nil if there are none.
	Erasing *Lingering `json:"erasing,omitempty"`
}

// Lingering is erased text that may still be in the servers' own logs, which they compact some minutes later.
type Lingering struct {
	Messages int  `json:"messages"`
	Since    Time `json:"since"` // when the first of them was erased
	Until    Time `json:"until"` // when all logs are free of it, if all servers stay up
	// Servers are away. Their logs may have the text until some minutes after they return.
	Servers []string `json:"servers,omitempty"`
}

// Join returns the sum of both. l may be nil.
func (l *Lingering) Join(o *Lingering) *Lingering {
	if l == nil {
		return o
	}
	servers := slices.Compact(slices.Sorted(slices.Values(slices.Concat(l.Servers, o.Servers))))
	return &Lingering{l.Messages + o.Messages, min(l.Since, o.Since), max(l.Until, o.Until), servers}
}

// String describes it in a sentence.
func (l *Lingering) String() string {
	text := fmt.Sprintf("The text of %d erased messages may still be in the NATS servers' own logs", l.Messages)
	if l.Messages == 1 {
		text = "The text of an erased message may still be in the NATS servers' own logs"
	}
	if len(l.Servers) > 0 {
		return text + ", until a few minutes after " + strings.Join(l.Servers, " and ") + " is reachable again."
	}
	return text + ", until " + l.Until.Std().Local().Format("15:04:05") + "."
}
