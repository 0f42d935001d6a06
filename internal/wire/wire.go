// Package wire is what httpapi and client say to each other over HTTP that package mail has no word for.
package wire

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

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
	// ProgramsHeader is of a relay's call, and names, with commas between, the process that has called the relay and
	// those above it, the nearest first, as package process does; InsideHeader, with any value, says that one of them
	// was started by an agent's client, or that nobody can tell. They are believed with a machine's token only.
	ProgramsHeader = "Pennypost-Programs"
	// ThreadsHeader has, for each of them, the session in whose shell it started the next, "" where it does not say.
	ThreadsHeader = "Pennypost-Threads"
	InsideHeader  = "Pennypost-Inside"
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

// RelayPath is where a GET of a machine that has no post office of its own turns its connection into RelayProtocol,
// over which its agents are rung. What is said there is package wake's.
const (
	RelayPath     = "/relay"
	RelayProtocol = "pennypost-relay"
)

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
	Home    string        `json:"home,omitempty"`   // the data directory; told to the user only
	Listen  []string      `json:"listen,omitempty"` // the addresses it listens on; told to the user only
	You     mail.Name     `json:"you,omitempty"`    // as whom the caller's credential speaks
	Room    mail.RoomName `json:"room,omitempty"`   // the only room that it opens; empty: any
	Rooms   int           `json:"rooms"`            // those that are open
	Bridges int           `json:"bridges,omitzero"` // those that run
	// Busy is how many calls are under way that change a room or copy all of them; told to the user only.
	Busy int `json:"busy,omitzero"`
	// Fingerprint is the SHA-256 of the certificate of its address for other machines, as browsers show it.
	Fingerprint string   `json:"fingerprint,omitempty"`
	Failing     []string `json:"failing,omitempty"` // what is wrong with bridges and rooms; told to the user only
	Cluster     *Cluster `json:"cluster,omitempty"` // the NATS servers, if it has rooms there; told to the user only
	// Relay says that this is no post office, but passes calls on to one.
	Relay  *RelayStatus   `json:"relay,omitempty"`
	Outbox *OutboxFigures `json:"outbox,omitempty"` // if anything is in it; told to the user only
	// Joined are the machines that use this post office from elsewhere and are connected; told to the user only.
	Joined []mail.Machine `json:"joined,omitempty"`
}

// RelayStatus is what a relay says of itself.
type RelayStatus struct {
	URL     string       `json:"url"`     // of the post office
	Machine mail.Machine `json:"machine"` // by which name this machine is known there
	// Trouble says why the post office cannot be reached now; "": it can.
	Trouble string `json:"trouble,omitempty"`
}

// OutboxFigures are what is kept on a machine, in figures.
type OutboxFigures struct {
	Waiting int       `json:"waiting"` // letters that go when the way is back
	Since   mail.Time `json:"since,omitzero"`
	Why     string    `json:"why,omitempty"`    // the oldest of them waits
	Refused int       `json:"refused,omitzero"` // letters that were refused then, and that nobody has dismissed
	Unread  int       `json:"unread,omitzero"`  // lines of the file that cannot be read
}

// String says for a person what is kept.
func (o *OutboxFigures) String() string {
	var parts []string
	if o.Waiting > 0 {
		parts = append(parts, fmt.Sprintf("%d kept on this machine: %s", o.Waiting, o.Why))
	}
	if o.Refused > 0 {
		parts = append(parts, fmt.Sprintf("%d refused when the way was back", o.Refused))
	}
	if o.Unread > 0 {
		parts = append(parts, fmt.Sprintf("%d lines cannot be read", o.Unread))
	}
	return strings.Join(parts, "; ")
}

// Cluster is what a post office says of the NATS servers that it has rooms on.
type Cluster struct {
	Machine mail.Machine `json:"machine"`           // by which name this machine is known there
	Trouble string       `json:"trouble,omitempty"` // why they cannot be used at present
	// how far this machine's clock is ahead of theirs, in milliseconds
	Skew     int64              `json:"skew_ms"`
	Warnings []string           `json:"warnings,omitempty"` // what of their settings endangers mail
	Health   mail.ServersHealth `json:"health"`
}

// MoveRoom asks to move a room.
type MoveRoom struct {
	// "jetstream": to the NATS servers; "shard:N": to that shard there; "file": to a file of the machine that is asked
	To string `json:"to"`
}

// Shard returns the number of the shard to which a room is to be moved.
func (m MoveRoom) Shard() (number int, named bool) {
	text, named := strings.CutPrefix(m.To, "shard:")
	number, err := strconv.Atoi(text)
	return number, named && err == nil && number > 0
}

// AdmitMachine asks that a machine be admitted.
type AdmitMachine struct {
	Machine mail.Machine `json:"machine"`
	Key     string       `json:"key"` // as mail.KeyText has it
}

// MovedRoom answers it.
type MovedRoom struct {
	Room  mail.RoomName `json:"room"`
	To    string        `json:"to"`
	Seq   mail.Seq      `json:"seq"`            // the last place that was moved
	Moved bool          `json:"moved,omitzero"` // false: it was there already
}

// MostShards is how many shards a cluster has at most.
const MostShards = 64

// MakeShards asks to make shards until there are so many.
type MakeShards struct {
	Number int `json:"number"` // 1 to MostShards, and no fewer than there are
}

// Shards are the streams that rooms on the NATS servers share.
type Shards struct {
	Shards []Shard `json:"shards"`        // in the order of their numbers
	Made   int     `json:"made,omitzero"` // how many of them were just made
}

// Shard is one of them.
type Shard struct {
	Number   int    `json:"number"`
	Rooms    int    `json:"rooms"`
	Messages uint64 `json:"messages"` // events, and what is kept of rooms that were moved or removed
	Bytes    uint64 `json:"bytes"`
	// the server that leads it; without it none does, and messages and bytes are not known
	Leader string `json:"leader,omitempty"`
}

// RestoreRoom asks to compare a room on the NATS servers with the copies that the machines have, and to restore it.
type RestoreRoom struct {
	From mail.Machine `json:"from,omitempty"` // from whose copy; without it, nothing is changed
}

// RestoredRoom answers it.
type RestoredRoom struct {
	Room     mail.RoomName `json:"room"`
	Damage   string        `json:"damage,omitempty"` // what is wrong with the stream; "": nothing
	Copies   []RoomCopy    `json:"copies"`           // the fullest first
	Restored bool          `json:"restored,omitzero"`
	// Also are other rooms that were restored, because they were in the same stream.
	Also []mail.RoomName `json:"also,omitempty"`
}

// RoomCopy is a machine's copy of a room.
type RoomCopy struct {
	Machine mail.Machine `json:"machine"`
	Last    mail.Seq     `json:"last,omitzero"` // the last place that it knows of
	Events  int          `json:"events"`
	At      mail.Time    `json:"at,omitzero"`       // of the last event
	Lacks   int          `json:"lacks,omitzero"`    // how many events of the fullest, at least
	Besides int          `json:"besides,omitzero"`  // how many it has that the fullest lacks, at least
	Differs bool         `json:"differs,omitzero"`  // it has others somewhere; an erasure may be pending
	Trouble string       `json:"trouble,omitempty"` // why nothing is known of it
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

// Trial is a test message, which was in no room.
type Trial struct {
	Kind    string `json:"kind"`              // of journal: "file" or "jetstream"
	Wrote   int64  `json:"wrote_us,omitzero"` // in so many microseconds
	Read    int64  `json:"read_us,omitzero"`
	Through string `json:"through,omitempty"` // the NATS server over which it was read
	Failed  string `json:"failed,omitempty"`  // why it could not be written or read
}

// Login asks for a link that opens the pages.
type Login struct {
	Room  mail.RoomName `json:"room,omitempty"` // which to show first
	Plain bool          `json:"plain,omitzero"` // for a browser that does not find the pages' own address
	Phone bool          `json:"phone,omitzero"` // for a browser on another machine
	// Pass is of the machine that asks, if it is not that of the post office; not said, but found out.
	Pass *mail.Pass `json:"-"`
}

// Session is a browser that is logged in to the pages.
type Session struct {
	ID      string    `json:"id"`
	Browser string    `json:"browser"` // which one it said to be
	Opened  mail.Time `json:"opened"`
	Seen    mail.Time `json:"seen"`           // when the person last did something in it
	Plain   bool      `json:"plain,omitzero"` // it was opened at the plain address
	TLS     bool      `json:"tls,omitzero"`   // it was opened over TLS, as from another machine
	// Machine is for which machine that was let in it was opened; "": none.
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

// NotifyChannel is a way in which the person is told of mail, and how it stands with it.
type NotifyChannel struct {
	Name       string    `json:"name"`
	What       string    `json:"what"`                  // kinds of mail that it tells of
	Quiet      string    `json:"quiet,omitempty"`       // hours of the day in which it is silent
	QuietFrom  mail.Time `json:"quiet_from,omitzero"`   // the next of these, or those that are
	QuietUntil mail.Time `json:"quiet_until,omitzero"`  // when they end
	Waiting    int       `json:"waiting,omitzero"`      // messages that are to be told
	Last       mail.Time `json:"last,omitzero"`         // when it last told something
	Answer     string    `json:"answer,omitempty"`      // what the other side said then
	Failed     string    `json:"failed,omitempty"`      // why it does not get through
	Since      mail.Time `json:"failed_since,omitzero"` // since when it does not
	Answers    bool      `json:"answers,omitzero"`      // questions can be answered there
	Pairs      bool      `json:"pairs,omitzero"`        // it is a chat, which is paired
	Paired     string    `json:"paired,omitempty"`      // with whom, as the service of the chat calls them
	// PairedSince is since when.
	PairedSince mail.Time `json:"paired_since,omitzero"`
}

// NotifyChannels is a list of them.
type NotifyChannels struct {
	Channels []NotifyChannel `json:"channels"`
}

// NotifyTest asks for a note.
type NotifyTest struct {
	Channel string `json:"channel,omitempty"` // through which; all if it is empty
}

// NotifyPair names the channel of a chat.
type NotifyPair struct {
	Channel string `json:"channel"`
}

// NotifyPairing is a code that pairs a chat.
type NotifyPairing struct {
	Channel string    `json:"channel"`
	Code    string    `json:"code"`
	Until   mail.Time `json:"until"`          // it counts until then, once
	Bot     string    `json:"bot"`            // whom it is to be sent to
	Link    string    `json:"link,omitempty"` // sends it, in an app of the service
}

// NotifyTested says what became of it.
type NotifyTested struct {
	Name   string `json:"name"`
	Answer string `json:"answer,omitempty"` // what the other side said
	Failed string `json:"failed,omitempty"` // why it did not get through
}

// NotifyTests is a list of outcomes.
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

// BadLines is a list of what a bridge does not understand.
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

// Attach asks to see the session of an agent. What is known of where the person asks decides how that can be.
type Attach struct {
	Agent    mail.Name `json:"-"`                 // in the path
	Terminal bool      `json:"terminal,omitzero"` // in a terminal, where something can be shown
	Tmux     string    `json:"tmux,omitempty"`    // the variable TMUX there
}

// Attached says how the session stands then.
type Attached struct {
	Live  bool   `json:"live"`            // it runs
	Front bool   `json:"front"`           // it is before the person now
	Where string `json:"where,omitempty"` // it is, in words
	Why   string `json:"why,omitempty"`   // it is not brought to the front
	// Command is what a person types to see it, "" if it is in front or none is known: it shows the session if it can
	// be shown in another terminal, and else resumes it.
	Command string `json:"command,omitempty"`
	// Shows are the words of Command if it shows the session that runs.
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

// Problem is an error as RFC 9457 writes it.
type Problem struct {
	Type     string    `json:"type"`               // "urn:pennypost:problem:" and the code
	Title    string    `json:"title"`              // the code in words
	Status   int       `json:"status"`             // as in the status line
	Detail   string    `json:"detail"`             // mail.Error.Msg
	Code     mail.Code `json:"code"`               // what a program decides by
	Instance string    `json:"instance,omitempty"` // under which the log tells more
}
