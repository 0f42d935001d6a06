package events

import "pennypost/internal/mail"

// Error codes. Those of the extension are the ones that clients know today; SEP-3415, which clients do not follow in
// this, numbers them -32023 to -32027 in the same order.
const (
	InvalidParams         = -32602
	NotFound              = -32011
	Forbidden             = -32012
	ResourceExhausted     = -32013
	Unsupported           = -32014
	CallbackEndpointError = -32015
)

// Error is an error in the protocol's form.
type Error struct {
	Code    int            `json:"code"`
	Message string         `json:"message"`
	Data    map[string]any `json:"data,omitempty"`
}

func (e *Error) Error() string { return e.Message }

// Ended returns the error for a subscription whose owner's right has ended.
func Ended(err error) *Error {
	return &Error{Forbidden, "the owner of this subscription has lost access: " + err.Error(), nil}
}

// isOver reports whether an error means that the caller's right has ended, rather than that the room is unavailable.
func isOver(err error) bool {
	switch mail.CodeOf(err) {
	case mail.Unknown, mail.Denied, mail.NotFound:
		return true
	}
	return false
}
