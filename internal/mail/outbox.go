package mail

import "context"

// Kept is a letter in the outbox of a machine: it is on that machine's disk only, because the way to its room was away
// when it was sent. It has no place in the room's order yet, and nobody has it.
type Kept struct {
	Key     string     `json:"key"` // by which it is one message, however often it is sent
	Room    RoomName   `json:"room"`
	From    Name       `json:"from"`
	To      Recipients `json:"to"`
	Type    string     `json:"type,omitempty"`
	Subject string     `json:"subject,omitempty"`
	Since   Time       `json:"since"`
	// Refused says that it is not sent any more: the way was back, and Why is what the room said. Else Why is what it
	// waits for.
	Refused bool   `json:"refused,omitzero"`
	Why     string `json:"why,omitempty"`
	Body    string `json:"body,omitempty"` // of what was refused, so that it can be sent again
}

// Outbox is what a machine keeps, by sender and in the order in which it is sent; what was refused comes first.
type Outbox struct {
	Letters []Kept `json:"letters"`
	// Unread is how many lines of its file cannot be read. They are kept as they are.
	Unread int `json:"unread_lines,omitzero"`
}

// KeptHere stands in the answer to a send only: the message is in the outbox of the machine on which it was sent.
const KeptHere DeliveryState = "kept"

// AsKept answers a send whose message is kept.
func (k *Kept) AsKept() Sent {
	out := Sent{Room: k.Room, Kept: k, Recipients: make([]Delivery, len(k.To))}
	for i, a := range k.To {
		out.Recipients[i] = Delivery{Address: Address(a), State: KeptHere, Wake: WakeNone}
	}
	return out
}

type unkept struct{}

// Unkept returns a context in which a send is refused if the way to the room is away: whoever sends has to answer with
// the id of a message.
func Unkept(ctx context.Context) context.Context { return context.WithValue(ctx, unkept{}, true) }

// MayKeep reports whether a send of ctx may be answered by Kept.
func MayKeep(ctx context.Context) bool { return ctx.Value(unkept{}) == nil }
