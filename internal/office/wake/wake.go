package wake

import (
	"context"
	"errors"
	"fmt"

	"pennypost/internal/fence"
	"pennypost/internal/mail"
)

// Waker is one way to make an agent look.
//
// Ring returns nil when the door was rung: what that takes is the door's own rule, which its type states. It never
// means that the agent has seen anything. Any other error says what the door answered, in words for the user and
// without secrets, and that it may be tried again; one that wraps ErrOff that it must not.
//
// Ring gives up when ctx ends, and within its own time in any case. It may be called concurrently, but not for the
// same agent. A failed ring may be tried again under the same Ring.ID, perhaps with more mail.
type Waker interface {
	// Door names the kind of door, as deliveries and notices show it.
	Door() string
	Ring(ctx context.Context, r Ring) error
}

// AtSessions is a door that leads nowhere without a session.
type AtSessions interface{ AtSessions() }

// ErrOff says that a door is closed for good.
var ErrOff = errors.New("the door is off")

// Ring is what a door is told: a pointer to mail, never its text, and never an order.
type Ring struct {
	ID       string         `json:"id"`
	Room     mail.RoomName  `json:"room"`
	Agent    mail.Name      `json:"agent"`          // whom to wake; empty: nobody has Role
	Role     string         `json:"role,omitempty"` // the role whose mail waits for a holder
	Unread   int            `json:"unread"`
	Urgent   int            `json:"urgent"`   // of Unread
	From     []mail.Address `json:"from"`     // who wrote what is worth waking for
	Messages []mail.ID      `json:"messages"` // what is worth waking for: the first of it, if it is much
	Text     string         `json:"text"`     // what a model may be shown
	State    mail.State     `json:"-"`        // of the agent when the ring was made
	Live     bool           `json:"-"`        // it had a session then
	Known    bool           `json:"-"`        // its session knows the post office: few words do
}

// Pointer returns what the session of an agent is shown of a ring.
func (r *Ring) Pointer() string { return fence.Ring(r.Room, r.Unread, r.Urgent, r.ID, r.Known) }

// The most that a ring names; the numbers always tell of everything.
const (
	maxMessages = 50
	maxFrom     = 20
)

// newRing returns the pointer to what waits for u.
func newRing(id string, room mail.RoomName, u *mail.Unwoken) Ring {
	r := Ring{ID: id, Room: room, Agent: u.Agent, Role: u.Role, State: u.State, Live: u.Live, Known: u.Known,
		Unread: u.Unread,
		Urgent: u.Urgent,
		From:   []mail.Address{}, Messages: []mail.ID{}}
	known := make(map[mail.Address]bool)
	for _, m := range u.Mail {
		if len(r.Messages) < maxMessages {
			r.Messages = append(r.Messages, m.ID)
		}
		if !known[m.From] && len(r.From) < maxFrom {
			r.From = append(r.From, m.From)
		}
		known[m.From] = true
	}
	r.Text = fmt.Sprintf("%d unread", u.Unread)
	if u.Urgent > 0 {
		r.Text += fmt.Sprintf(", %d urgent", u.Urgent)
	}
	r.Text += ": read_messages"
	return r
}
