// Package wire is the HTTP vocabulary of httpapi and client that package mail does not define.
package wire

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"pennypost/internal/mail"
)

// Base is the path prefix of every route.
const Base = "/api/v1"

// Header names.
const (
	// AgentHeader names, percent-encoded, the agent for which the process at the far end of a Unix socket acts.
	AgentHeader = "Pennypost-Agent"
	// SessionHeader names the client's session in whose shell the process at the far end runs. If several sessions
	// share an agent's name, NAME-2 among them, it says which one is meant.
	SessionHeader = "Pennypost-Session"
	// SeatHeader, with any value, says that the agent of AgentHeader was guessed from where the process runs: it
	// counts only if that agent has a session, or together with the session of SessionHeader.
	SeatHeader = "Pennypost-Seat"
	// ToolUseHeader names the tool call for which a client's MCP server acts, as the client's hooks know it; it is
	// ShellUse in a command of an agent's shell that does not itself say who speaks. If several agents run in one
	// process, it says which one, or that this is unknown.
	ToolUseHeader = "Pennypost-Tool-Use"
	// ProgramsHeader is part of a relay's call, and names, separated by commas, the process that has called the relay
	// and its ancestors, the nearest first, as package process does; InsideHeader, with any value, says that an
	// agent's client started one of them, or that this is unknown. They are trusted only with a machine's token.
	ProgramsHeader = "Pennypost-Programs"
	// ThreadsHeader has, for each of them, the session in whose shell it started the next, "" if unknown.
	ThreadsHeader = "Pennypost-Threads"
	InsideHeader  = "Pennypost-Inside"
	// KeyHeader carries Draft.Key for clients that prefer it outside the body.
	KeyHeader = "Idempotency-Key"
	// VersionHeader of an answer is the version of the post office.
	VersionHeader = "Pennypost-Version"
	// RawTrailer follows the last byte of a backup: the rooms that could not be opened, for a person.
	RawTrailer = "Pennypost-Raw-Rooms"
)

// ShellUse is the ToolUseHeader of a command in a shell.
const ShellUse = "shell"

// CallsPath, followed by a room's name, is where a GET upgrades its connection to CallsProtocol.
const CallsPath = "/calls/"

// CallsProtocol is the protocol of such a connection (RFC 9110, Upgrade). A line to the post office is a key chosen
// by the caller, a space and a tools/call of MCP; the line back is that key, a space and the response, or nothing if
// such a call is not served here. Calls run concurrently. A key without a call cancels the call of that key. A send
// has mail.MadeKey and the key as its idempotency key.
const CallsProtocol = "pennypost-calls"

// RelayPath is where a GET of a machine without its own post office upgrades its connection to RelayProtocol, over
// which its agents are rung. Package wake defines the messages.
const (
	RelayPath     = "/relay"
	RelayProtocol = "pennypost-relay"
)

// Content types.
const (
	JSON        = "application/json"
	ProblemJSON = "application/problem+json" // RFC 9457
	Lines       = "application/x-ndjson"     // one JSON value per line
	Events      = "text/event-stream"        // HTML, 9.2
	Gzip        = "application/gzip"         // RFC 6713
)

// SetAgent writes n into h.
func SetAgent(h http.Header, n mail.Name) { h.Set(AgentHeader, url.PathEscape(string(n))) }

// Agent returns the agent for which the far end claims to act: mail.User without a header. It proves nothing; trust
// it only on a connection that is proven to be the person's own.
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

// Status is a post office's description of itself.
type Status struct {
	Version string        `json:"version"`
	PID     int           `json:"pid"`
	Started mail.Time     `json:"started"`
	Home    string        `json:"home,omitempty"`   // the data directory; only for the user
	Listen  []string      `json:"listen,omitempty"` // the addresses on which it listens; only for the user
	You     mail.Name     `json:"you,omitempty"`    // as whom the caller's credential speaks
	Room    mail.RoomName `json:"room,omitempty"`   // the only room that it opens; empty: any
	Rooms   int           `json:"rooms"`            // open ones
	Bridges int           `json:"bridges,omitzero"` // running ones
	// Busy is the number of calls in progress that change a room or copy all of them; only for the user.
	Busy int `json:"busy,omitzero"`
	// Fingerprint is the SHA-256 of the certificate of its address for other machines, as browsers show it.
	Fingerprint string   `json:"fingerprint,omitempty"`
	Failing     []string `json:"failing,omitempty"` // faults of bridges and rooms; only for the user
	Cluster     *Cluster `json:"cluster,omitempty"` // the NATS servers, if it has rooms there; only for the user
	// Relay says that this is not a post office, but passes calls on to one.
	Relay  *RelayStatus   `json:"relay,omitempty"`
	Outbox *OutboxFigures `json:"outbox,omitempty"` // if it is not empty; only for the user
	// Joined are the connected machines that use this post office from elsewhere; only for the user.
	Joined []mail.Machine `json:"joined,omitempty"`
}

// RelayStatus is a relay's description of itself.
type RelayStatus struct {
	URL     string       `json:"url"`     // of the post office
	Machine mail.Machine `json:"machine"` // the name of this machine there
	// Trouble says why the post office cannot be reached now; "": it can.
	Trouble string `json:"trouble,omitempty"`
}

// OutboxFigures are figures about the mail that is kept on a machine.
type OutboxFigures struct {
	Waiting int       `json:"waiting"` // letters that will be sent when the connection is back
	Since   mail.Time `json:"since,omitzero"`
	Why     string    `json:"why,omitempty"`    // why the oldest of them waits
	Refused int       `json:"refused,omitzero"` // letters that were then refused, and not dismissed yet
	Unread  int       `json:"unread,omitzero"`  // unreadable lines of the file
}

// String describes the kept mail for a person.
func (o *OutboxFigures) String() string {
	var parts []string
	if o.Waiting > 0 {
		parts = append(parts, fmt.Sprintf("%d kept on this machine: %s", o.Waiting, o.Why))
	}
	if o.Refused > 0 {
		parts = append(parts, fmt.Sprintf("%d refused after reconnecting", o.Refused))
	}
	if o.Unread > 0 {
		parts = append(parts, fmt.Sprintf("%d lines cannot be read", o.Unread))
	}
	return strings.Join(parts, "; ")
}

// Cluster describes the NATS servers on which a post office has rooms.
type Cluster struct {
	Machine mail.Machine `json:"machine"`           // the name of this machine there
	Trouble string       `json:"trouble,omitempty"` // why they cannot be used now
	// how far this machine's clock is ahead of theirs, in milliseconds
	Skew     int64              `json:"skew_ms"`
	Warnings []string           `json:"warnings,omitempty"` // dangers for mail in their settings
	Health   mail.ServersHealth `json:"health"`
}

// MoveRoom asks to move a room.
type MoveRoom struct {
	// "jetstream": to the NATS servers; "shard:N": to that shard there; "file": to a file of the machine that is
	// asked
	To string `json:"to"`
}

// Shard returns the number of the shard to which to move a room.
func (m MoveRoom) Shard() (number int, named bool) {
	text, named := strings.CutPrefix(m.To, "shard:")
	number, err := strconv.Atoi(text)
	return number, named && err == nil && number > 0
}

// AdmitMachine asks that a machine be admitted.
type AdmitMachine struct {
	Machine mail.Machine `json:"machine"`
	Key     string       `json:"key"` // in the form of mail.KeyText
}

// MovedRoom answers MoveRoom.
type MovedRoom struct {
	Room  mail.RoomName `json:"room"`
	To    string        `json:"to"`
	Seq   mail.Seq      `json:"seq"`            // the last sequence number moved
	Moved bool          `json:"moved,omitzero"` // false: it was there already
}

// MostShards is the largest number of shards of a cluster.
const MostShards = 64

// MakeShards asks for shards up to a number.
type MakeShards struct {
	Number int `json:"number"` // 1 to MostShards, not below the current number
}

// Shards are the streams that rooms on the NATS servers share.
type Shards struct {
	Shards []Shard `json:"shards"`        // by number
	Made   int     `json:"made,omitzero"` // how many of them are new
}

// Shard is one such stream.
type Shard struct {
	Number   int    `json:"number"`
	Rooms    int    `json:"rooms"`
	Messages uint64 `json:"messages"` // including those of rooms that were moved or removed
	Bytes    uint64 `json:"bytes"`
	// the server that leads it; without one, messages and bytes are unknown
	Leader string `json:"leader,omitempty"`
}

// RestoreRoom asks to compare a room on the NATS servers with the machines' copies, and to restore it.
type RestoreRoom struct {
	From mail.Machine `json:"from,omitempty"` // whose copy to use; without it, nothing is changed
}

// RestoredRoom answers RestoreRoom.
type RestoredRoom struct {
	Room     mail.RoomName `json:"room"`
	Damage   string        `json:"damage,omitempty"` // of the stream; "": none
	Copies   []RoomCopy    `json:"copies"`           // the fullest first
	Restored bool          `json:"restored,omitzero"`
	// Also are other rooms that were restored, because they were in the same stream.
	Also []mail.RoomName `json:"also,omitempty"`
}

// RoomCopy is a machine's copy of a room.
type RoomCopy struct {
	Machine mail.Machine `json:"machine"`
	Last    mail.Seq     `json:"last,omitzero"` // the last sequence number that it knows
	Events  int          `json:"events"`
	At      mail.Time    `json:"at,omitzero"`       // of the last event
	Lacks   int          `json:"lacks,omitzero"`    // at least that many events of the fullest
	Besides int          `json:"besides,omitzero"`  // at least that many events that the fullest lacks
	Differs bool         `json:"differs,omitzero"`  // it has different ones somewhere; an erasure may be pending
	Trouble string       `json:"trouble,omitempty"` // why nothing is known about it
}

// Machines is a list of machines.
type Machines struct {
	Machines []mail.MachineStatus `json:"machines"`
	mail.ServersHealth
}

// Trials are test messages.
type Trials struct {
	Trials []Trial `json:"trials"`
}

// Trial is a test message, outside all rooms.
type Trial struct {
	Kind    string `json:"kind"`              // of journal: "file" or "jetstream"
	Wrote   int64  `json:"wrote_us,omitzero"` // in microseconds
	Read    int64  `json:"read_us,omitzero"`
	Through string `json:"through,omitempty"` // the NATS server over which it was read
	Failed  string `json:"failed,omitempty"`  // why it could not be written or read
}

// Login asks for a link that opens the pages.
type Login struct {
	Room  mail.RoomName `json:"room,omitempty"` // to show first
	Plain bool          `json:"plain,omitzero"` // for a browser that cannot resolve the pages' own address
	Phone bool          `json:"phone,omitzero"` // for a browser on another machine
	// Pass is the pass of the asking machine, if that is not the post office's; it is found out, not sent.
	Pass *mail.Pass `json:"-"`
}

// Session is a browser that is logged in to the pages.
type Session struct {
	ID      string    `json:"id"`
	Browser string    `json:"browser"` // its own description
	Opened  mail.Time `json:"opened"`
	Seen    mail.Time `json:"seen"`           // the person's last action in it
	Plain   bool      `json:"plain,omitzero"` // it was opened at the plain address
	TLS     bool      `json:"tls,omitzero"`   // it was opened over TLS, for example from another machine
	// Machine is the machine that was let in and for which it was opened; "": none.
	Machine mail.Machine `json:"machine,omitempty"`
}

// Sessions is a list of sessions, the last used first.
type Sessions struct {
	Sessions []Session `json:"sessions"`
}

// Link is an address for a browser.
type Link struct {
	URL string `json:"url"`
}

// NotifyChannel is a way to notify the person of mail, and its state.
type NotifyChannel struct {
	Name       string    `json:"name"`
	What       string    `json:"what"`                  // kinds of mail that it reports
	Quiet      string    `json:"quiet,omitempty"`       // hours of the day in which it is silent
	QuietFrom  mail.Time `json:"quiet_from,omitzero"`   // start of the next or current quiet hours
	QuietUntil mail.Time `json:"quiet_until,omitzero"`  // their end
	Waiting    int       `json:"waiting,omitzero"`      // messages not yet reported
	Last       mail.Time `json:"last,omitzero"`         // its last notification
	Answer     string    `json:"answer,omitempty"`      // the other side's answer to it
	Failed     string    `json:"failed,omitempty"`      // why it fails
	Since      mail.Time `json:"failed_since,omitzero"` // since when it fails
	Answers    bool      `json:"answers,omitzero"`      // questions can be answered there
	Pairs      bool      `json:"pairs,omitzero"`        // it is a chat, which is paired
	Paired     string    `json:"paired,omitempty"`      // with whom, in the chat service's terms
	// PairedSince is the time of the pairing.
	PairedSince mail.Time `json:"paired_since,omitzero"`
}

// NotifyChannels is a list of them.
type NotifyChannels struct {
	Channels []NotifyChannel `json:"channels"`
}

// NotifyTest asks for a test notification.
type NotifyTest struct {
	Channel string `json:"channel,omitempty"` // through which channel; empty: all
}

// NotifyPair names the channel of a chat.
type NotifyPair struct {
	Channel string `json:"channel"`
}

// NotifyPairing is a code that pairs a chat.
type NotifyPairing struct {
	Channel string    `json:"channel"`
	Code    string    `json:"code"`
	Until   mail.Time `json:"until"`          // valid once, until then
	Bot     string    `json:"bot"`            // to which to send it
	Link    string    `json:"link,omitempty"` // sends it, in the service's app
}

// NotifyTested is the result of a test.
type NotifyTested struct {
	Name   string `json:"name"`
	Answer string `json:"answer,omitempty"` // the other side's answer
	Failed string `json:"failed,omitempty"` // why it failed
}

// NotifyTests is a list of results.
type NotifyTests struct {
	Tests []NotifyTested `json:"tests"`
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

// BadLines lists the lines that a bridge cannot read.
type BadLines struct {
	Lines []mail.BadLine `json:"lines"`
}

// Grants is a list of grants.
type Grants struct {
	Grants []mail.Grant `json:"grants"`
}

// Workspaces is a list of workspaces.
type Workspaces struct {
	Workspaces []mail.Workspace `json:"workspaces"`
}

// Attach asks to see the session of an agent. The person's location decides how.
type Attach struct {
	Agent    mail.Name `json:"-"`                 // in the path
	Terminal bool      `json:"terminal,omitzero"` // the person is in a terminal that can display it
	Tmux     string    `json:"tmux,omitempty"`    // the variable TMUX there
}

// Attached is the state of the session afterwards.
type Attached struct {
	Live  bool   `json:"live"`            // it is running
	Front bool   `json:"front"`           // it is in front of the person now
	Where string `json:"where,omitempty"` // where it is, in words
	Why   string `json:"why,omitempty"`   // why it was not brought to the front
	// Command is the command with which a person can see it, "" if it is in front or none is known: it shows the
	// session if another terminal can, and otherwise resumes it.
	Command string `json:"command,omitempty"`
	// Shows are the words of Command if it shows the running session.
	Shows []string `json:"shows,omitempty"`
}

// Rename asks for a new name.
type Rename struct {
	From mail.Name `json:"-"` // in the path
	To   mail.Name `json:"to"`
}

// Merge asks to make two agents one.
type Merge struct {
	From mail.Name `json:"-"` // in the path
	Into mail.Name `json:"into"`
}

// Token holds a bearer token.
type Token struct {
	Token string `json:"token"`
}

// Problem is an error in the form of RFC 9457.
type Problem struct {
	Type     string    `json:"type"`               // "urn:pennypost:problem:" and the code
	Title    string    `json:"title"`              // the code in words
	Status   int       `json:"status"`             // as in the status line
	Detail   string    `json:"detail"`             // mail.Error.Msg
	Code     mail.Code `json:"code"`               // for decisions by programs
	Instance string    `json:"instance,omitempty"` // to find more in the log
}
