package mail

import (
	"errors"
	"fmt"
)

// Code classifies an error. Each edge has one table from codes to its own numbers (HTTP status, MCP error, exit
// status).
type Code string

// The codes. Anything that is not an *Error counts as Internal.
const (
	Invalid     Code = "invalid"     // the request itself is wrong; sending it again cannot help
	NotFound    Code = "not_found"   // the named message, agent or room does not exist
	Denied      Code = "denied"      // the caller may not do this
	Unconfirmed Code = "unconfirmed" // the person must confirm it first with the passphrase
	Unknown     Code = "unknown"     // the caller did not prove who it is
	Conflict    Code = "conflict"    // someone else got there first
	TooLarge    Code = "too_large"   // over a size limit; nothing was stored
	Limited     Code = "limited"     // over a rate limit; try again later
	Timeout     Code = "timeout"     // the awaited event did not occur
	Unavailable Code = "unavailable" // the post office cannot answer now
	Internal    Code = "internal"    // our fault
)

// Error is an error for the caller. Msg is for a person or a model: what happened, what was kept, what to do next.
// Err is the private cause; it is logged where the error is handled and never leaves the process.
type Error struct {
	Code Code
	Msg  string
	Err  error
}

func (e *Error) Error() string { return e.Msg }

// Unwrap returns the private cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf returns an *Error. Names, addresses and ids among args appear as slugs. A %w verb records the private
// cause; its text becomes part of the message, so use %w only if that text is fit for the caller.
func Errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, slugged(args)...)
	return &Error{Code: code, Msg: err.Error(), Err: errors.Unwrap(err)}
}

// CodeOf returns the code of the first *Error in err's chain, Internal if there is none, and "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return Internal
}
