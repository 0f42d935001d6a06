// Package wire is what httpapi and client say to each other over HTTP that package mail has no word for.
package wire

import (
	"net/http"
	"net/url"

	"pennypost/internal/mail"
)

// Base is the path under which every route lies.
const Base = "/api/v1"

// Header names.
const (
	// AgentHeader names, percent-encoded, the agent for whom the process at the far end of a Unix socket acts.
	AgentHeader = "Pennypost-Agent"
	// SessionHeader names the client's session in whose shell the process at the far end runs. Where an agent's name
	// is that of several sessions, NAME-2 among them, it says which.
	SessionHeader = "Pennypost-Session"
	// SeatHeader, with any value, says that the agent of AgentHeader was guessed from where the process runs: only a
	// session that is there, or the one of SessionHeader, makes it that agent.
	SeatHeader = "Pennypost-Seat"
	// ToolUseHeader names the use of a tool for which a client's MCP server calls, as the client's hooks know it; it
	// is ShellUse in a command of an agent's shell that does not say itself who speaks. Where several agents run in
	// one process, it says which, or that it cannot be said.
	ToolUseHeader = "Pennypost-Tool-Use"
	// KeyHeader carries Draft.Key for clients that would rather not have it in the body.
	KeyHeader = "Idempotency-Key"
	// VersionHeader is of an answer: the version of the post office.
	VersionHeader = "Pennypost-Version"
	// RawTrailer is of a backup, behind its last byte: the rooms that could not be opened, for a person.
	RawTrailer = "Pennypost-Raw-Rooms"
)

// ShellUse is the ToolUseHeader of a command in a shell.
const ShellUse = "shell"

// CallsPath, with a room's name behind it, is where a GET turns its connection into CallsProtocol.
const CallsPath = "/calls/"

// CallsProtocol is what such a connection speaks (RFC 9110, Upgrade). A line to the post office is a key of the
// caller's making, a space and a tools/call of MCP; the line back is that key, a space and the response, or nothing if
// such a call is not served here. Calls go on side by side. A key without a call cancels the call of that key. A send
// has the key as its idempotency key, behind mail.MadeKey.
const CallsProtocol = "pennypost-calls"

// Content types.
const (
	JSON        = "application/json"
	ProblemJSON = "application/problem+json" // RFC 9457
	Lines       = "application/x-ndjson"     // one JSON value a line
	Events      = "text/event-stream"        // HTML, 9.2
	Gzip        = "application/gzip"         // RFC 6713
)

// SetAgent writes n into h.
func SetAgent(h http.Header, n mail.Name) { h.Set(AgentHeader, url.PathEscape(string(n))) }

// Agent reads who the far end says it acts for: mail.User without a header. It proves nothing; only a connection that
// has proven to be the person's own may be believed.
func Agent(h http.Header) (mail.Name, error) {
	values := h.Values(AgentHeader)
	if len(values) == 0 {
		return mail.User, nil
	}
	s, err := url.PathUnescape(values[0])
	if err != nil || len(values) > 1 {
		return "", mail.Errorf(mail.Invalid, "the header %s must be one percent-encoded name", AgentHeader)
	}
	if s == string(mail.User) {
		return mail.User, nil
	}
	return mail.ParseName(s)
}

// Status is what a post office says of itself.
type Status struct {
	Version string        `json:"version"`
	PID     int           `json:"pid"`
	Started mail.Time     `json:"started"`
	Home    string        `json:"home,omitempty"`    // the data directory; told to the user only
	Listen  []string      `json:"listen,omitempty"`  // the addresses it listens on; told to the user only
	You     mail.Name     `json:"you,omitempty"`     // as whom the caller's credential speaks
	Room    mail.RoomName `json:"room,omitempty"`    // the only room that it opens; empty: any
	Rooms   int           `json:"rooms"`             // those that are open
	Bridges int           `json:"bridges,omitzero"`  // those that run
	Failing []string      `json:"failing,omitempty"` // what is wrong with bridges and rooms; told to the user only
}

// Login asks for a link that opens the pages.
type Login struct {
	Room  mail.RoomName `json:"room,omitempty"` // which to show first
	Plain bool          `json:"plain,omitzero"` // for a browser that does not find the pages' own address
}

// Session is a browser that is logged in to the pages.
type Session struct {
	ID      string    `json:"id"`
	Browser string    `json:"browser"` // which one it said to be
	Opened  mail.Time `json:"opened"`
	Seen    mail.Time `json:"seen"`           // when the person last did something in it
	Plain   bool      `json:"plain,omitzero"` // it was opened at the plain address
}

// Sessions is a list of sessions, the last used first.
type Sessions struct {
	Sessions []Session `json:"sessions"`
}

// Link is an address for a browser.
type Link struct {
	URL string `json:"url"`
}

// Rooms is a list of rooms.
type Rooms struct {
	Rooms []mail.RoomStatus `json:"rooms"`
}

// RemovedRoom answers the removal of a room.
type RemovedRoom struct {
	Room  mail.RoomName `json:"room"`
	Files string        `json:"files"` // the directory to which its files were moved
}

// Bridges is a list of bridges.
type Bridges struct {
	Bridges []mail.BridgeStatus `json:"bridges"`
}

// Workspaces is a list of workspaces.
type Workspaces struct {
	Workspaces []mail.Workspace `json:"workspaces"`
}

// Rename asks for a new name.
type Rename struct {
	From mail.Name `json:"-"` // in the path
	To   mail.Name `json:"to"`
}

// Token holds a bearer token.
type Token struct {
	Token string `json:"token"`
}

// Problem is an error as RFC 9457 writes it.
type Problem struct {
	Type     string    `json:"type"`               // "urn:pennypost:problem:" and the code
	Title    string    `json:"title"`              // the code in words
	Status   int       `json:"status"`             // as in the status line
	Detail   string    `json:"detail"`             // mail.Error.Msg
	Code     mail.Code `json:"code"`               // what a program decides by
	Instance string    `json:"instance,omitempty"` // under which the log tells more
}
