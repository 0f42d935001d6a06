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
// Ring returns nil when the door was rung; the door's type states when that is. It never means that the agent has seen
// anything. An error has the door's answer, in words for the user and without secrets. The ring may be retried, unless
// the error wraps ErrOff.
//
// Ring gives up when ctx ends, and within its own timeout in any case. It may be called concurrently, but not for the
// same agent. A failed ring may be retried with the same Ring.ID, perhaps with more mail.
type Waker interface {
	// Door returns the kind of door, as deliveries and notices show it.
	Door() string
	Ring(ctx context.Context, r Ring) error
}

// AtSessions is a door that leads nowhere without a session.
type AtSessions interface{ AtSessions() }

// ErrOff says that a door is closed for good.
var ErrOff = errors.New("the door is off")

// Ring is the message to a door: a pointer to mail, never its text or an order.
type Ring struct {
	ID       string         `json:"id"`
	Room     mail.RoomName  `json:"room"`
	Agent    mail.Name      `json:"agent"`          // the agent to wake; empty: Role has no holder
	Role     string         `json:"role,omitempty"` // the role whose mail waits for a holder
	Unread   int            `json:"unread"`
	Urgent   int            `json:"urgent"`   // of Unread
	From     []mail.Address `json:"from"`     // the senders of the messages that should wake the agent
	Messages []mail.ID      `json:"messages"` // the messages that should wake the agent, up to maxMessages
	Text     string         `json:"text"`     // the text that a model may be shown
	State    mail.State     `json:"-"`        // the agent's state when the ring was made
	Live     bool           `json:"-"`        // it had a session then
	Known    bool           `json:"-"`        // its session knows the post office: a short text is enough
}

// Pointer returns the text of a ring for an agent's session.
func (r *Ring) Pointer() string { return fence.Ring(r.Room, r.Unread, r.Urgent, r.ID, r.Known) }

// Limits of the lists in a ring; the counts always cover everything.
const (
	maxMessages = 50
	maxFrom     = 20
)

// newRing returns the ring for the mail of u.
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
