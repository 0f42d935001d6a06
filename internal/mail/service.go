package mail

import (
	"context"
	"iter"
	"slices"
	"strings"
)

// Service is one room as one caller sees it: the contract through which every door passes. Its implementations,
// from the inside out:
//
//   - mailroom's view: the room itself, in the process that owns its files. It checks and carries out the calls.
//   - daemon's callerRoom: wraps a view for the doors in the post office's process (httpapi, MCP, pages, dialects). It
//     opens the room for each call and looks up which program the caller runs in.
//   - client.Client: in every other process (commands, demonstrations). It turns calls into HTTP requests, which
//     httpapi turns back into calls on a callerRoom.
//   - wire.Stub: no room, but the methods that the last two share, from the table of calls.
//
// Package mailtest holds the first and the third to the same behaviour. To add a method, begin with that table,
// wire/calls.go.
//
// All methods may be called concurrently. Every error that concerns the caller is an *Error. When a method that
// changes something returns nil, the change is durable and visible. When it returns an error, nothing has changed,
// unless the code is Timeout, Unavailable or Internal: then the caller cannot know.
type Service interface {
	Sender
	Reader
	Marker
	Watcher
	Tracker
	Turner
	Registrar
	Claimer
	Scheduler
	Keeper
	Connector
}

// Sender sends messages.
type Sender interface {
	// Send sends d as the caller. It resolves all addresses, including those in other rooms, before it stores
	// anything; if one fails, nothing is sent. If a room fails after that, its recipients are returned as NotSent;
	// if no recipient got the message, Send returns an error. A retry with the same key reaches only the missing
	// recipients. A message to be sent later is kept until it is due and then checked again.
	Send(ctx context.Context, d Draft) (Sent, error)
}

// Reader looks up mail. Looking changes nothing.
type Reader interface {
	// Inbox returns the messages that wait in a mailbox, oldest first unless the query says otherwise.
	Inbox(ctx context.Context, q InboxQuery) (Page, error)
	// History returns messages of the whole room, newest last, as the query's agent, or by default the caller, sees
	// them.
	History(ctx context.Context, q HistoryQuery) (Page, error)
	// Message returns one message, archived ones included, with its deliveries.
	Message(ctx context.Context, id ID) (Item, error)
	// Desk returns the mail of this room that waits for the user. Only the user may call it.
	Desk(ctx context.Context, q DeskQuery) (Desk, error)
}

// Marker marks messages.
type Marker interface {
	// Mark sets a mark on messages for the caller. It is idempotent; marks that change nothing are not recorded.
	Mark(ctx context.Context, m Marking) (Marked, error)
}

// Watcher waits and watches.
type Watcher interface {
	// Wait blocks until the caller's mailbox has an unread message that matches q, and returns it without marking
	// it. If ctx ends first, the error is Timeout.
	Wait(ctx context.Context, q WaitQuery) (Item, error)
	// Watch returns a cursor over the events that follow the sequence number after: it replays old ones, then returns
	// live ones. Zero is the beginning; a number that the journal has not reached is Invalid. The events contain no
	// secrets.
	Watch(ctx context.Context, after Seq) (Watch, error)
}

// Watch is a cursor over the events of a room. One goroutine uses it, and its owner closes it. The context passed
// to Watcher.Watch covers that call only.
type Watch interface {
	// Next returns at least one event, and waits for one until ctx ends. If ctx ends, no event is lost and Next may
	// be called again. After Close it returns Unavailable.
	Next(ctx context.Context) ([]Event, error)
	Close() error
}

// Tracker follows open questions until they are settled (answered or declined by a message, or withdrawn), and mail
// that is stuck.
type Tracker interface {
	// Withdraw settles an open question as withdrawn. Only its asker and the user may. Withdrawing it again changes
	// nothing; if it was settled in another way, the error is Conflict.
	Withdraw(ctx context.Context, id ID) error
	// Waiting lists who waits for whom, longest wait first.
	Waiting(ctx context.Context, q WaitingQuery) (WaitingList, error)
	// Stuck lists the mail that is stuck.
	Stuck(ctx context.Context, q StuckQuery) (StuckList, error)
}

// Registrar keeps the roster.
type Registrar interface {
	// Agents lists all or part of the roster in the order of CompareNames. It leaves out retired agents.
	Agents(ctx context.Context, q RosterQuery) (AgentList, error)
	// Register registers or updates an agent and returns its roster entry, including the name it was given.
	Register(ctx context.Context, p Presence) (Agent, error)
	// Rename gives an agent a new name; its mail moves with it. The agent itself, its parent, the orchestrator and the
	// user may.
	Rename(ctx context.Context, from, to Name) (Agent, error)
	// Merge merges an agent into another agent, or into the user, who takes over its mail, marks, threads, questions,
	// roles, tags and names. If from has a live session, the error is Conflict. Only the user may.
	Merge(ctx context.Context, from, into Name) (Agent, error)
	// Retire removes an agent from the roster: its role mail goes to others, its own unread mail becomes dead. The
	// same callers may as for Rename.
	Retire(ctx context.Context, name Name) error
	// Token creates a bearer token that opens this room as that agent, and revokes the previous one. The token
	// cannot be read again later. Only the user may.
	Token(ctx context.Context, name Name) (string, error)
	// GuestToken is Token for someone else's program: it opens only the doors for guests, and mail sent with it is
	// marked as from outside.
	GuestToken(ctx context.Context, name Name) (string, error)
	// Grants lists the grants that the person has given to agents' sessions, and the refusals.
	Grants(ctx context.Context) ([]Grant, error)
	// Grant records the person's decision on who a session may be. Only the user may, by an act of their own.
	Grant(ctx context.Context, g Grant) (Grant, error)
}

// Keeper looks after the room's files.
type Keeper interface {
	// Status returns figures about the room.
	Status(ctx context.Context) (RoomStatus, error)
	// Erase removes a message and its text from every file of the room. Only the user may.
	Erase(ctx context.Context, id ID) error
	// Archive runs retention now. Only the user may.
	Archive(ctx context.Context) (Trimmed, error)
	// Verify rereads the room's files from disk, checks every line, and reports missing lines.
	Verify(ctx context.Context) (Verification, error)
	// Repair sets unreadable lines aside, restores lines set aside earlier whose sequence numbers are free, and
	// verifies. It drops nothing. Only the user may.
	Repair(ctx context.Context) (Verification, error)
	// Export yields every message of the room with its deliveries, archived ones first, in journal order. The
	// caller may stop early.
	Export(ctx context.Context) iter.Seq2[Item, error]
	// Import adds messages from another system or from an export, with their own ids and times. It skips ids that
	// the room already has. Only the user may.
	Import(ctx context.Context, items []Item) (Imported, error)
}

// Office gives access to the rooms of one post office.
type Office interface {
	// Room returns the view of a room by the caller named as, and opens or creates the room if necessary.
	Room(ctx context.Context, room RoomName, as Name) (Service, error)
	// Rooms lists the rooms that exist.
	Rooms(ctx context.Context) ([]RoomStatus, error)
	// Desk returns the mail of all rooms that waits for the user. A closed room with nothing for the user stays
	// closed; a room that cannot be opened is listed in Desk.Away. Only the user may call it.
	Desk(ctx context.Context, q DeskQuery) (Desk, error)
	// WatchDesk reports changes on the user's desk from now on; the first change comes immediately. It opens no
	// room. The context covers this call only. Only the user may call it.
	WatchDesk(ctx context.Context) (DeskWatch, error)
	// Fleet returns one part, or all, of several rooms' state: agents, stuck mail, who waits for whom, claims. For a
	// closed room it returns the state at closing. Only the user may call it.
	Fleet(ctx context.Context, q FleetQuery) (Fleet, error)
	// FleetMail returns mail of several rooms. It opens closed rooms that the query names, or a few if the query
	// names none. Only the user may call it.
	FleetMail(ctx context.Context, q FleetMailQuery) (FleetMail, error)
	// Dialogs returns the dialogs that agents' clients currently show their person. Only the user may call it.
	Dialogs(ctx context.Context, q DialogQuery) (Cards, error)
	// AnswerDialog passes an answer to the client. It returns nil once the client has the answer. Only the user
	// may, by an act of their own.
	AnswerDialog(ctx context.Context, a DialogAnswer) error
}

// Sent answers Send.
type Sent struct {
	ID         ID         `json:"id"`
	Seq        Seq        `json:"seq"`
	Room       RoomName   `json:"room"`
	Duplicate  bool       `json:"duplicate,omitzero"` // the key was known: this is the earlier message
	Recipients []Delivery `json:"recipients"`
	// Due is when a deferred message will be sent. Until then it is no message of the room.
	Due Time `json:"due,omitzero"`
	// Settled says how the question that this message answers was settled, if another answer came first.
	Settled *Settlement `json:"settled,omitempty"`
	// AskedOf is set if the message is a suggestion. It names those who were asked; the question stays open.
	AskedOf []Address `json:"asked_of,omitempty"`
	// Kept is set if the room cannot be reached: the message is kept on this machine and is not in the room yet, so
	// it has no ID and no Seq.
	Kept *Kept `json:"kept,omitempty"`
}

// Item is a message as a reader sees it.
type Item struct {
	Message
	Seq     Seq           `json:"seq"`
	Read    bool          `json:"read"`
	State   DeliveryState `json:"state,omitempty"` // for the reader in question
	Expires Time          `json:"expires,omitzero"`
	Snoozed Time          `json:"snoozed,omitzero"` // until when the reader has snoozed it; 0: not, or not any more
	// Given says that the model of the reader's current session was given the text and still has it, as far as is
	// known.
	Given   bool        `json:"given,omitzero"`
	Open    bool        `json:"open,omitzero"`     // it asks something that is not settled
	Settled *Settlement `json:"settled,omitempty"` // how it was settled
	// Suggestions are, for an open question, the newest MaxSuggestions answers by senders who were not asked.
	Suggestions []Suggestion `json:"suggestions,omitempty"`
	// Deliveries in a list are at most MaxDeliveries, those with activity first; a message requested by its id has
	// all of them.
	Deliveries []Delivery `json:"deliveries,omitempty"`
	Others     int        `json:"other_deliveries,omitzero"` // number left out of Deliveries
	Hits       int        `json:"hits,omitzero"`             // matching messages in the thread, at most MaxLimit
	ReadBy     int        `json:"read_by,omitzero"`          // if Others > 0: how many have read it
}

// Page is one page of a list.
type Page struct {
	Messages []Item `json:"messages"`
	// Unread counts the unread messages in the whole mailbox, without snoozed and withdrawn ones; 0 for a history.
	Unread int `json:"unread"`
	// Open counts the unsettled questions to the reader, anywhere in the mailbox; 0 for a history.
	Open int `json:"open,omitzero"`
	Own  int `json:"own_open,omitzero"` // the reader's own unsettled questions; 0 for a history
	// OpenIDs and OwnIDs are their ids, the oldest MaxOpenIDs of each.
	OpenIDs []ID `json:"open_ids,omitempty"`
	OwnIDs  []ID `json:"own_open_ids,omitempty"`
	More    bool `json:"more"` // there are more: ask again with Next
	Next    Seq  `json:"next,omitzero"`
	// Trouble says how old the data is while the room's storage cannot be reached; "" if it is current.
	Trouble string `json:"trouble,omitempty"`
	// Partly is set while the word index is being built and a word search could not read every message. It is a
	// sentence, without its full stop, that says how many it read.
	Partly string `json:"partly,omitempty"`
}

// Limits on lists.
const (
	DefaultLimit  = 50
	MaxLimit      = 1000
	MaxOpenIDs    = 10
	MaxDeliveries = 50

	MaxSuggestions = 5 // per question
)

// InboxQuery selects messages of a mailbox. The struct tags of a query name its URL parameters.
type InboxQuery struct {
	Agent Name  `query:"agent" about:"whose mailbox; default: the caller's"`
	Place Place `query:"place" about:"snoozed or archived instead of the inbox"`
	// All includes read messages; archived, snoozed and expired ones are always left out.
	All bool `query:"all" about:"also read messages"`
	// Open selects questions that wait for an answer, anywhere in the mailbox, even if read or expired.
	Open bool `query:"open" about:"only unsettled questions, even if read or archived"`
	// Newest returns the newest first; for the next page, use Before.
	Newest bool `query:"newest" about:"newest first"`
	// BySent orders by time of sending, newest first, regardless of arrival; see HistoryQuery.
	BySent bool   `query:"by_sent" about:"newest by time of sending first, regardless of arrival"`
	Since  Time   `query:"since" about:"sent at this time or later"`
	Until  Time   `query:"until" about:"sent before this time"`
	After  Seq    `query:"after" about:"only messages after this sequence number"`
	Before Seq    `query:"before" about:"only messages before this sequence number"`
	From   string `query:"from" about:"only messages from this address or bare name"`
	Types  []Type `query:"type" about:"only these types"`
	Limit  int    `query:"limit" about:"at most this many messages; 0 means 50, the maximum is 1000"`
	Bytes  int    `query:"bytes" about:"stop before the bodies exceed this many bytes, after at least one message"`
}

// Place is a part of a mailbox.
type Place string

// The places. Messages that are neither archived nor snoozed are in the inbox.
const (
	InInbox    Place = ""
	InSnoozed  Place = "snoozed"  // not due yet
	InArchived Place = "archived" // by the reader; use History to find messages that retention archived
)

// ParsePlace checks the name of a place.
func ParsePlace(s string) (Place, error) {
	switch p := Place(s); p {
	case InInbox, InSnoozed, InArchived:
		return p, nil
	}
	return "", Errorf(Invalid,
		"%q is not a place of a mailbox; use snoozed or archived, or omit it for the inbox", s)
}

// HistoryQuery selects messages of a room. Conditions are joined by "and"; empty ones match everything.
type HistoryQuery struct {
	Types  []Type `query:"type" about:"only these types"`
	From   string `query:"from" about:"only messages from this address or bare name"`
	To     string `query:"to" about:"only messages to this address or bare name, as written in to"`
	Agent  Name   `query:"agent" about:"sent by or delivered to this agent"`
	Thread ID     `query:"thread" about:"any message of the thread"`
	Issue  string `query:"issue" about:"with this issue_id"`
	ID     string `query:"id" about:"whose id begins with this; msg_ may be omitted"`
	Since  Time   `query:"since" about:"sent at this time or later"`
	Until  Time   `query:"until" about:"sent before this time"`
	// Search is words in any order, all of which occur in subject or body, even inside other words, and phrases in
	// double quotes. Case and kind of white space do not matter; see package find.
	Search string `query:"search" about:"words, or phrases in double quotes, that all occur in subject or body"`
	// For archived messages, only the States that receipts record are known.
	States     []DeliveryState `query:"state" about:"in one of these states for a recipient; adds their deliveries"`
	Deliveries bool            `query:"deliveries" about:"with their deliveries"`
	Open       bool            `query:"open" about:"only unsettled questions"`
	Archive    bool            `query:"archive" about:"also the archive"`
	After      Seq             `query:"after" about:"only messages after this sequence number"`
	Before     Seq             `query:"before" about:"only messages before this sequence number"`
	// BySent orders hot messages by time of sending instead of arrival, because bridges and imports add messages
	// sent long before. After and Before are then sequence numbers among the messages sent at exactly Since and
	// Until. To get the next page, pass the oldest message's Sent as Until and its Seq as Before. BySent cannot be
	// combined with Search or Archive.
	BySent bool `query:"by_sent" about:"ordered by time of sending, not arrival"`
	// Conversations returns one matching message per thread, with Item.Hits: the one whose subject has all words of
	// Search, else the one in which the words are near each other, else the newest. They are ordered by the newest
	// match of each thread. Page with Before set to Next; After excludes threads whose newest match is not after
	// it. Conversations cannot be combined with BySent.
	Conversations bool `query:"conversations" about:"the best match of each thread, with the number of hits"`
	// If more than Limit match, the newest are returned, unless After is set without BySent and Conversations.
	Limit int `query:"limit" about:"at most this many messages; 0 means 50, the maximum is 1000"`
}

// WaitQuery selects the messages to wait for.
type WaitQuery struct {
	Types   []Type `query:"type" about:"only these types"`
	ReplyTo ID     `query:"reply_to" about:"only an answer to this message"`
	After   Seq    `query:"after" about:"only messages after this sequence number"`
	// News skips messages that the agent's current session was already given, unless ReplyTo asks for them.
	News bool `query:"news" about:"nothing that this session was already given"`
}

// Marking is a request to set a mark on messages.
type Marking struct {
	IDs  []ID   `json:"ids,omitempty"`
	All  bool   `json:"all,omitzero"` // every message in the caller's mailbox that the mark would change
	Mark Mark   `json:"mark"`
	Door string `json:"door,omitempty"` // for presented: the door that handed the text over
	// Until is for snoozed: when the message returns, within a year.
	Until Time `json:"until,omitzero"`
	// InArchive is for unread: it includes messages that retention has archived. They show as unread there, and do
	// not return to a mailbox.
	InArchive bool `json:"in_archive,omitzero"`
}

// Marked answers Mark. The call succeeds if any id was found or none was asked for.
type Marked struct {
	Marked   []ID `json:"marked"`
	Already  []ID `json:"already,omitempty"`
	NotFound []ID `json:"not_found,omitempty"`
	NotYours []ID `json:"not_yours,omitempty"`
	// Open are the messages marked read or archived that still wait for an answer: no mark settles a question.
	Open []ID `json:"open,omitempty"`
}

// RoomStatus holds figures about a room.
type RoomStatus struct {
	Name     RoomName `json:"name"`
	Seq      Seq      `json:"seq"`
	Messages int      `json:"messages"` // hot ones, without the archive
	Agents   int      `json:"agents"`
	Asking   int      `json:"asking,omitzero"`        // agents whose client is showing a dialog
	Unread   int      `json:"unread"`                 // in the user's mailbox, without snoozed messages
	Needs    int      `json:"needs,omitzero"`         // conversations that need the user: see NeedsYou
	Inbox    int      `json:"inbox,omitzero"`         // unarchived messages of the user, including snoozed ones
	Archived int      `json:"archived,omitzero"`      // messages that the user has archived
	Due      Time     `json:"due,omitzero"`           // when the user's next snoozed message returns
	Bytes    int64    `json:"bytes"`                  // of the journal file
	MaxBody  int      `json:"max_body,omitzero"`      // limit on the body of a new message, in bytes
	Rejected int      `json:"rejected_lines"`         // lines, and whole files, that were set aside
	Missing  int      `json:"missing_lines,omitzero"` // lines known to have existed and now missing
	Trouble  string   `json:"trouble,omitempty"`      // why the room cannot accept changes, and how old this data is
	Open     bool     `json:"open"`
	Last     Time     `json:"last,omitzero"` // time of the last event; upkeep of the files does not count
	// For a room shared by several machines: the machines that follow it, the one that does its upkeep, and pending
	// erasures.
	Machines []Machine `json:"machines,omitempty"`
	Keeper   Machine   `json:"keeper,omitempty"`
	Erasing  []Erasing `json:"erasing,omitempty"`
}

// Erasing is a message that is erased and hidden, but may still be on some machine's disk.
type Erasing struct {
	Message  ID        `json:"message"`
	Machines []Machine `json:"machines"` // those whose disks may have it
}

// Why tells the person where the message still is and how it will be removed.
func (e *Erasing) Why() string {
	names := make([]string, len(e.Machines))
	for i, m := range e.Machines {
		names[i] = string(m)
	}
	return "its text is still on the disk of " + strings.Join(names, " and ") + ", and goes when that post office " +
		"opens the room again. If a machine will not return: pennypost machines remove NAME"
}

// MachineStatus is what a machine last reported of itself.
type MachineStatus struct {
	Name    Machine `json:"name"`
	Here    bool    `json:"here,omitzero"` // this is the machine that was asked
	Away    bool    `json:"away,omitzero"` // not heard from for 10 s
	Heard   Time    `json:"heard,omitzero"`
	Version string  `json:"version,omitempty"` // of its post office
	Rooms   int     `json:"rooms"`             // open rooms
	Kept    int     `json:"kept,omitzero"`     // messages that only its outbox has
	Skew    int64   `json:"skew_ms"`           // how far its clock is ahead of the servers', in milliseconds
	// Key is the public key that the machine claims to sign with, in the form of KeyText. It is not verified here.
	Key string `json:"key,omitempty"`
}

// Trimmed answers Archive.
type Trimmed struct {
	Age    int `json:"age"`    // messages over the age limit
	Read   int `json:"read"`   // over the count limit: read, expired or dead ones
	Unread int `json:"unread"` // of all these, those that some reader had not read
	Oldest int `json:"oldest"` // the oldest others, over the count limit
	Kept   int `json:"kept"`
}

// Verification answers Verify.
type Verification struct {
	Files    int       `json:"files"`
	Lines    int       `json:"lines"`
	Bytes    int64     `json:"bytes"`
	Repaired int       `json:"repaired,omitzero"` // lines that Repair restored
	Problems []Problem `json:"problems"`
}

// Problem is one bad line, or a range of missing lines before it.
type Problem struct {
	File  string `json:"file"`
	Line  int    `json:"line"`
	Text  string `json:"text"`           // description of the problem
	First Seq    `json:"first,omitzero"` // range of missing sequence numbers
	Last  Seq    `json:"last,omitzero"`
}

// Imported answers Import.
type Imported struct {
	Added   int `json:"added"`
	Skipped int `json:"skipped"`
}

// Caller is the identity at the other end of a connection, as the connection proved it, and the rooms it may enter.
type Caller struct {
	Name Name     // an agent, or User
	Room RoomName // the only room it may enter; empty: any
	Pass *Pass    // of the machine that vouches for Name; nil: this machine does, or Name's own token
	// Means is how the user was identified, or ByGuest; empty for an agent.
	Means Means
}

// Pass describes another machine's admission. It is never changed once made.
type Pass struct {
	Machine Machine
	Rooms   []RoomName // rooms it may enter; others do not exist for it; empty: all
	Agent   Name       // the only agent its programs may speak as; empty: any agent, and the user
	ID      string     // id of the token (not the secret): a machine that joins again gets a new one
}

// Enters reports whether the machine may enter a room. A nil Pass allows every room.
func (p *Pass) Enters(room RoomName) bool {
	return p == nil || len(p.Rooms) == 0 || slices.Contains(p.Rooms, room)
}
