package mail

import "context"

// Kept is a message in a machine's outbox: it is on that machine's disk only, because its room could not be reached
// when it was sent. It has no sequence number yet, and no one has received it.
type Kept struct {
	Key     string     `json:"key"` // its idempotency key, the same in every retry
	Room    RoomName   `json:"room"`
	From    Name       `json:"from"`
	To      Recipients `json:"to"`
	Type    string     `json:"type,omitempty"`
	Subject string     `json:"subject,omitempty"`
	Since   Time       `json:"since"`
	// Refused says that it will not be retried: the room was reached and refused it, and Why is its reason.
	// Otherwise Why is what it waits for.
	Refused bool   `json:"refused,omitzero"`
	Why     string `json:"why,omitempty"`
	Body    string `json:"body,omitempty"` // only if refused, so that it can be sent again
}

// Outbox is a machine's kept mail, by sender and in sending order; refused messages come first.
type Outbox struct {
	Letters []Kept `json:"letters"`
	// Unread counts the unreadable lines of its file. They are left as they are.
	Unread int `json:"unread_lines,omitzero"`
}

// KeptHere occurs only in the answer to a send: the message is in the outbox of the machine on which it was sent.
const KeptHere DeliveryState = "kept"

// AsKept returns the answer to a send whose message is kept.
func (k *Kept) AsKept() Sent {
	out := Sent{Room: k.Room, Kept: k, Recipients: make([]Delivery, len(k.To))}
	for i, a := range k.To {
		out.Recipients[i] = Delivery{Address: Address(a), State: KeptHere, Wake: WakeNone}
	}
	return out
}

type unkept struct{}

// Unkept returns a context in which a send is refused if the room cannot be reached, for callers that must answer
// with a message's id.
func Unkept(ctx context.Context) context.Context { return context.WithValue(ctx, unkept{}, true) }

// MayKeep reports whether a send with ctx may be answered with Kept.
func MayKeep(ctx context.Context) bool { return ctx.Value(unkept{}) == nil }
