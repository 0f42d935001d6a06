package events

import "pennypost/internal/mail"

// Codes of errors. Those of the extension are the ones that clients know today; SEP-3415, which clients do not follow
// in this, numbers them -32023 to -32027 in the same order.
const (
	InvalidParams         = -32602
	NotFound              = -32011
	Forbidden             = -32012
	ResourceExhausted     = -32013
	Unsupported           = -32014
	CallbackEndpointError = -32015
)

// Error is what a caller is told in the protocol's own way.
type Error struct {
	Code    int            `json:"code"`
	Message string         `json:"message"`
	Data    map[string]any `json:"data,omitempty"`
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Ended is the error of a subscription whose owner has no right any more.
func Ended(err error) *Error {
	return &Error{Forbidden, "what this subscription stood on has ended: " + err.Error(), nil}
}

// isOver reports whether an error says that the right of a caller has ended, and not that it cannot be asked.
func isOver(err error) bool {
	switch mail.CodeOf(err) {
	case mail.Unknown, mail.Denied, mail.NotFound:
		return true
	}
	return false
}
