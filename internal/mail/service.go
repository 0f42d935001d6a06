package mail

import (
	"context"
	"iter"
	"slices"
	"strings"
)

// Service is one room as one caller sees it: the waist through which every door passes. From the inside out, it is
//
//   - mailroom's view: the room itself, in the process that owns its files. Here calls are checked and carried out.
//   - daemon's callerRoom: around a view, for doors in the post office's process (httpapi, MCP, pages, dialects). It
//     opens the room for each call, and asks which program the caller runs in.
//   - client.Client: in every other process (commands, demonstrations). It makes HTTP requests of calls, which httpapi
//     makes again on a callerRoom.
//   - wire.Stub: no room, but the methods that the last two have in common, from the table of calls.
//
// Package mailtest holds the first and the third to the same behaviour. A new method begins at that table,
// wire/calls.go.
//
// All methods may be called concurrently. Every error that concerns the caller is an *Error. A method that changes
// something has made the change durable and visible when it returns nil, and has changed nothing when it returns an
// error of any code but Timeout, Unavailable and Internal, after which the caller cannot know.
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
	// Send sends d as the caller. All addresses, those of other rooms too, are resolved before anything is stored; if
	// one cannot be, nothing is sent. A room that fails after that is told of with its recipients, as NotSent, unless
	// nobody got anything; sending again with the same key reaches those that are left.
	// What is to be sent later is kept until then, and is checked again when it is due.
	Send(ctx context.Context, d Draft) (Sent, error)
}

// Reader looks. Looking changes nothing.
type Reader interface {
	// Inbox returns what waits in a mailbox, oldest first unless asked otherwise.
	Inbox(ctx context.Context, q InboxQuery) (Page, error)
	// History returns messages of the whole room, newest last, as the query's agent, or else the caller, sees them.
	History(ctx context.Context, q HistoryQuery) (Page, error)
	// Message returns one message, archived ones included, with its deliveries.
	Message(ctx context.Context, id ID) (Item, error)
	// Desk returns what of this room waits for the user. Only the user may ask.
	Desk(ctx context.Context, q DeskQuery) (Desk, error)
}

// Marker marks.
type Marker interface {
	// Mark marks messages as the caller's. It is idempotent; marks that change nothing are not recorded.
	Mark(ctx context.Context, m Marking) (Marked, error)
}

// Watcher waits and watches.
type Watcher interface {
	// Wait blocks until an unread message that fits q is in the caller's mailbox and returns it, unmarked. When ctx
	// ends first, the error is Timeout.
	Wait(ctx context.Context, q WaitQuery) (Item, error)
	// Watch returns a cursor over the journal behind after, replaying and then live. Zero is the beginning; a place
	// that the journal has not reached is Invalid. Secrets are left out of the events.
	Watch(ctx context.Context, after Seq) (Watch, error)
}

// Watch is a cursor over the events of a room. It is used by one goroutine and closed by its owner. The context that
// Watch was given is for that call only.
type Watch interface {
	// Next returns at least one event, waiting for it until ctx ends. A Next that ctx ended has lost nothing and may
	// be called again. After Close it returns Unavailable.
	Next(ctx context.Context) ([]Event, error)
	Close() error
}

// Tracker keeps track of what is asked until it is settled: answered or declined by a message, or withdrawn; and of
// what does not move.
type Tracker interface {
	// Withdraw settles an open question as withdrawn. Whoever asked may, and the user. Withdrawing it again changes
	// nothing; if it is settled otherwise, that is a Conflict.
	Withdraw(ctx context.Context, id ID) error
	// Waiting lists who waits for whom, the longest wait first.
	Waiting(ctx context.Context, q WaitingQuery) (WaitingList, error)
	// Stuck lists the mail that does not move.
	Stuck(ctx context.Context, q StuckQuery) (StuckList, error)
}

// Registrar keeps the roster.
type Registrar interface {
	// Agents lists the roster, or a part of it, in the order of CompareNames. Retired agents are not on it.
	Agents(ctx context.Context, q RosterQuery) (AgentList, error)
	// Register registers or updates an agent and returns what the roster now says, the name it was given included.
	Register(ctx context.Context, p Presence) (Agent, error)
	// Rename gives an agent a new name; its mail goes with it. Only the user and the agent itself may.
	Rename(ctx context.Context, from, to Name) (Agent, error)
	// Merge makes an agent one with another, or with the user: its mail, marks, threads, questions, roles and tags are
	// theirs from now on, and its names lead to them. It has no live session then. Only the user may.
	Merge(ctx context.Context, from, into Name) (Agent, error)
	// Retire takes an agent off the roster: its role mail is given to others, its own unread mail becomes dead.
	Retire(ctx context.Context, name Name) error
	// Token makes the bearer token that opens this room as that agent, and forgets the one before. It is shown
	// only here. Only the user may ask.
	Token(ctx context.Context, name Name) (string, error)
	// GuestToken is Token for somebody else's program: it opens the doors for guests and nothing else, and what comes
	// by it is marked as from outside.
	GuestToken(ctx context.Context, name Name) (string, error)
	// Grants lists what the person has granted to sessions of agents, or refused.
	Grants(ctx context.Context) ([]Grant, error)
	// Grant records the person's word on who a session may be. Only the user may, by an act of their own.
	Grant(ctx context.Context, g Grant) (Grant, error)
}

// Keeper looks after the room's files.
type Keeper interface {
	// Status returns figures about the room.
	Status(ctx context.Context) (RoomStatus, error)
	// Erase removes a message and its text from every file of the room. Only the user may.
	Erase(ctx context.Context, id ID) error
	// Archive runs retention now.
	Archive(ctx context.Context) (Trimmed, error)
	// Verify reads the room's files again from disk, checks every line, and names what is missing.
	Verify(ctx context.Context) (Verification, error)
	// Repair sets aside lines that cannot be read, puts those that were set aside back where their places are free,
	// and verifies. Nothing is dropped. Only the user may.
	Repair(ctx context.Context) (Verification, error)
	// Export yields every message of the room with its deliveries, the archived ones first, in journal order. Breaking
	// off is allowed.
	Export(ctx context.Context) iter.Seq2[Item, error]
	// Import adds messages that another system or an export wrote, with their own ids and times. Those whose id the
	// room knows are skipped. Only the user may.
	Import(ctx context.Context, items []Item) (Imported, error)
}

// Office gives access to the rooms of one post office.
type Office interface {
	// Room returns a room as the caller named as sees it, opening or creating it first.
	Room(ctx context.Context, room RoomName, as Name) (Service, error)
	// Rooms lists the rooms that exist.
	Rooms(ctx context.Context) ([]RoomStatus, error)
	// Desk returns what waits for the user in all rooms. A room that is closed and has nothing for the user stays
	// closed; one that cannot be opened is among Desk.Away. Only the user may ask.
	Desk(ctx context.Context, q DeskQuery) (Desk, error)
	// WatchDesk returns what changes on the user's desk from now on; the first change is there at once. It opens no
	// room. The context is for the call only. Only the user may ask.
	WatchDesk(ctx context.Context) (DeskWatch, error)
	// Fleet returns one part of what rooms have: agents, what is stuck, or who waits for whom. A closed room answers
	// as it stood when it was closed. Only the user may ask.
	Fleet(ctx context.Context, q FleetQuery) (Fleet, error)
	// FleetMail returns mail of several rooms. Closed rooms that are named are opened; if none are named, a few are.
	// Only the user may ask.
	FleetMail(ctx context.Context, q FleetMailQuery) (FleetMail, error)
	// Dialogs returns what the clients of agents ask their person at present. Only the user may ask.
	Dialogs(ctx context.Context, q DialogQuery) (Cards, error)
	// AnswerDialog gives an answer to the client, and returns when the client has it: nil says so. Only the user may,
	// and by an act of their own.
	AnswerDialog(ctx context.Context, a DialogAnswer) error
}

// Sent answers Send.
type Sent struct {
	ID         ID         `json:"id"`
	Seq        Seq        `json:"seq"`
	Room       RoomName   `json:"room"`
	Duplicate  bool       `json:"duplicate,omitzero"` // the key was known: this is the earlier message
	Recipients []Delivery `json:"recipients"`
	// Due is when it is sent, if that is later: until then it is no message.
	Due Time `json:"due,omitzero"`
	// Settled is how the question that this was to answer was settled, if somebody else was faster.
	Settled *Settlement `json:"settled,omitempty"`
	// AskedOf is set if the message is a suggestion: of whom the question was asked, which stays open.
	AskedOf []Address `json:"asked_of,omitempty"`
	// Kept is set if the way to the room is away: the message is kept on this machine, and is no message of the room
	// yet, so it has no ID and no Seq.
	Kept *Kept `json:"kept,omitempty"`
}

// Item is a message as a reader sees it.
type Item struct {
	Message
	Seq     Seq           `json:"seq"`
	Read    bool          `json:"read"`
	State   DeliveryState `json:"state,omitempty"` // with the reader in question
	Expires Time          `json:"expires,omitzero"`
	Snoozed Time          `json:"snoozed,omitzero"` // until when the reader has put it off; afterwards none
	// Given says that the model of the reader's present session was given the text, as far as is known, and has it.
	Given   bool        `json:"given,omitzero"`
	Open    bool        `json:"open,omitzero"`     // it asks something that is not settled
	Settled *Settlement `json:"settled,omitempty"` // how it was
	// Suggestions are, of what is open, the newest MaxSuggestions of the answers of those who were not asked.
	Suggestions []Suggestion `json:"suggestions,omitempty"`
	// Deliveries are, in a list, MaxDeliveries at most, those first to whom something happened; a message that is
	// asked for by its id has all of them.
	Deliveries []Delivery `json:"deliveries,omitempty"`
	Others     int        `json:"other_deliveries,omitzero"` // that are left out
	Hits       int        `json:"hits,omitzero"`             // messages of the thread that match, MaxLimit at most
	ReadBy     int        `json:"read_by,omitzero"`          // if any are left out: how many in all have read it
}

// Page is a part of a list.
type Page struct {
	Messages []Item `json:"messages"`
	// Unread is how many wait in the whole mailbox, without what is snoozed or was withdrawn; 0 for a history.
	Unread int `json:"unread"`
	// Open is how many questions to the reader are not settled, wherever in the mailbox they are; 0 for a history.
	Open int `json:"open,omitzero"`
	Own  int `json:"own_open,omitzero"` // how many of the reader's own questions are not settled; 0 for a history
	// OpenIDs and OwnIDs name them, the oldest MaxOpenIDs of each.
	OpenIDs []ID `json:"open_ids,omitempty"`
	OwnIDs  []ID `json:"own_open_ids,omitempty"`
	More    bool `json:"more"` // the list goes on: ask again with Next
	Next    Seq  `json:"next,omitzero"`
	// Trouble says how old is what is known, while what keeps the room cannot be reached; "" if it is new.
	Trouble string `json:"trouble,omitempty"`
	// Partly is a sentence without its full stop that says how much of the messages a search for words has read, if it
	// was not all because the index of words is still being made. Else "".
	Partly string `json:"partly,omitempty"`
}

// Limits on lists.
const (
	DefaultLimit  = 50
	MaxLimit      = 1000
	MaxOpenIDs    = 10
	MaxDeliveries = 50

	MaxSuggestions = 5 // of one question
)

// InboxQuery says what of a mailbox to return. The tags of a query say how it stands in a URL.
type InboxQuery struct {
	Agent Name  `query:"agent" about:"whose mailbox; default: the caller's"`
	Place Place `query:"place" about:"snoozed or archived instead of the inbox"`
	// All asks for read messages too; archived, snoozed and expired ones never come.
	All bool `query:"all" about:"read messages too"`
	// Open asks for what waits for an answer, wherever in the mailbox it is and though it was read or has expired.
	Open bool `query:"open" about:"only questions that are not settled, read and archived ones too"`
	// Newest asks for the newest first: of more, ask again with Before.
	Newest bool `query:"newest" about:"the newest first"`
	// BySent asks for those first that were sent last, whenever they arrived; see HistoryQuery.
	BySent bool   `query:"by_sent" about:"the newest by time of sending first, whenever they arrived"`
	Since  Time   `query:"since" about:"sent at this time or later"`
	Until  Time   `query:"until" about:"sent before this time"`
	After  Seq    `query:"after" about:"only messages behind this place"`
	Before Seq    `query:"before" about:"only messages before this place"`
	From   string `query:"from" about:"an address or a bare name that sent them"`
	Types  []Type `query:"type" about:"only these types"`
	Limit  int    `query:"limit" about:"at most so many messages; 0 means 50, the most is 1000"`
	Bytes  int    `query:"bytes" about:"stop before the bodies exceed so many bytes, but answer one message at least"`
}

// Place is a part of a mailbox.
type Place string

// The places. What is not archived and not snoozed is in the inbox.
const (
	InInbox    Place = ""
	InSnoozed  Place = "snoozed"  // put off, and not due yet
	InArchived Place = "archived" // by the reader; what retention took to the archive is found by History
)

// ParsePlace checks the name of a place.
func ParsePlace(s string) (Place, error) {
	switch p := Place(s); p {
	case InInbox, InSnoozed, InArchived:
		return p, nil
	}
	return "", Errorf(Invalid,
		"%q is not a place of a mailbox; use snoozed or archived, or leave it out for the inbox", s)
}

// HistoryQuery says which messages of a room to return. Conditions are joined by "and"; empty ones hold for all.
type HistoryQuery struct {
	Types  []Type `query:"type" about:"only these types"`
	From   string `query:"from" about:"an address or a bare name that sent them"`
	To     string `query:"to" about:"an address or a bare name as it stands in to"`
	Agent  Name   `query:"agent" about:"sent by or delivered to this agent"`
	Thread ID     `query:"thread" about:"any message of the thread"`
	Issue  string `query:"issue" about:"with this issue_id"`
	ID     string `query:"id" about:"whose id begins so; msg_ may be left out"`
	Since  Time   `query:"since" about:"sent at this time or later"`
	Until  Time   `query:"until" about:"sent before this time"`
	// Search is words in any order, all of which stand somewhere in subject or body, also in the middle of another
	// word, and phrases in double quotes. Case and the kind of white space do not matter; see package find.
	Search string `query:"search" about:"words, or phrases in double quotes, that all stand in subject or body"`
	// Of archived messages only those States are known of which receipts tell.
	States     []DeliveryState `query:"state" about:"that stand so with a recipient; their deliveries come too"`
	Deliveries bool            `query:"deliveries" about:"with their deliveries"`
	Open       bool            `query:"open" about:"only questions that are not settled"`
	Archive    bool            `query:"archive" about:"the archive too"`
	After      Seq             `query:"after" about:"only messages behind this place"`
	Before     Seq             `query:"before" about:"only messages before this place"`
	// BySent puts hot messages in order of the time of sending instead of arrival: bridges and imports bring in what
	// was sent long before. Then After and Before are places among what was sent at exactly Since and Until, so that a
	// page goes on before its oldest message with that one's Sent as Until and its Seq as Before. It goes neither with
	// Search nor with Archive.
	BySent bool `query:"by_sent" about:"in order of the time of sending, not of arrival"`
	// Conversations asks for one message a thread: of those that match, the one whose subject has all words of Search,
	// or else in which they stand near each other, or else the newest; with Item.Hits. They are in the order of the
	// newest match of each, and go on before Next; After is a place behind which that match is. It does not go with
	// BySent.
	Conversations bool `query:"conversations" about:"of each thread the message that fits the search best, with hits"`
	// Of more than Limit, the newest are returned, unless After is set and neither BySent nor Conversations is.
	Limit int `query:"limit" about:"at most so many messages; 0 means 50, the most is 1000"`
}

// WaitQuery says what to wait for.
type WaitQuery struct {
	Types   []Type `query:"type" about:"only these types"`
	ReplyTo ID     `query:"reply_to" about:"only an answer to this message"`
	After   Seq    `query:"after" about:"only messages behind this place"`
	// News leaves out what the agent's present session was handed already, unless ReplyTo asks for it.
	News bool `query:"news" about:"nothing that this session was handed already"`
}

// Marking asks for a mark on messages.
type Marking struct {
	IDs  []ID   `json:"ids,omitempty"`
	All  bool   `json:"all,omitzero"` // every message in the caller's mailbox that the mark would change
	Mark Mark   `json:"mark"`
	Door string `json:"door,omitempty"` // for presented: through what the text was handed over
	// Until is for snoozed: when the message is to wait again, within a year.
	Until Time `json:"until,omitzero"`
	// InArchive is for unread: also messages that retention has moved to the archive. They show as unread there, and
	// do not return to a mailbox.
	InArchive bool `json:"in_archive,omitzero"`
}

// Marked answers Mark. The call succeeds if any id was found or none was asked for.
type Marked struct {
	Marked   []ID `json:"marked"`
	Already  []ID `json:"already,omitempty"`
	NotFound []ID `json:"not_found,omitempty"`
	NotYours []ID `json:"not_yours,omitempty"`
	// Open are those of the messages found that were marked read or archived and still wait for an answer: no mark
	// settles a question.
	Open []ID `json:"open,omitempty"`
}

// RoomStatus is what a room says of itself.
type RoomStatus struct {
	Name     RoomName `json:"name"`
	Seq      Seq      `json:"seq"`
	Messages int      `json:"messages"` // hot ones; the archive is not counted
	Agents   int      `json:"agents"`
	Asking   int      `json:"asking,omitzero"`        // of Agents: those that are at a dialog of their client
	Unread   int      `json:"unread"`                 // in the user's mailbox, without what is snoozed
	Needs    int      `json:"needs,omitzero"`         // conversations that need the user: see NeedsYou
	Inbox    int      `json:"inbox,omitzero"`         // messages of the user that are not archived, snoozed ones too
	Archived int      `json:"archived,omitzero"`      // messages that the user has archived
	Due      Time     `json:"due,omitzero"`           // when the first of what the user has snoozed comes back
	Bytes    int64    `json:"bytes"`                  // of the journal file
	MaxBody  int      `json:"max_body,omitzero"`      // bytes of the body of a message that is sent
	Rejected int      `json:"rejected_lines"`         // lines, and whole files, that were set aside
	Missing  int      `json:"missing_lines,omitzero"` // lines that are known to have been there and are not
	Trouble  string   `json:"trouble,omitempty"`      // why the room takes nothing at present, and how old this is
	Open     bool     `json:"open"`
	Last     Time     `json:"last,omitzero"` // when something last happened; upkeep of the files does not count
	// Of a room that several machines share: those that follow it, the one that looks after it, and what each has
	// still to erase.
	Machines []Machine `json:"machines,omitempty"`
	Keeper   Machine   `json:"keeper,omitempty"`
	Erasing  []Erasing `json:"erasing,omitempty"`
}

// Erasing is a message that is erased, and hidden, but not yet gone from every disk.
type Erasing struct {
	Message  ID        `json:"message"`
	Machines []Machine `json:"machines"` // those on whose disks it may be
}

// Why says, for the person, where the message still is, and what becomes of it.
func (e *Erasing) Why() string {
	names := make([]string, len(e.Machines))
	for i, m := range e.Machines {
		names[i] = string(m)
	}
	return "its text is still on the disk of " + strings.Join(names, " and ") + ". It goes from there when that " +
		"post office has the room open again. Of a machine that will not come back, say so with: pennypost machines " +
		"remove NAME"
}

// MachineStatus is what a machine last said of itself to the others.
type MachineStatus struct {
	Name    Machine `json:"name"`
	Here    bool    `json:"here,omitzero"` // it is the one that was asked
	Away    bool    `json:"away,omitzero"` // it has not been heard for 10 s
	Heard   Time    `json:"heard,omitzero"`
	Version string  `json:"version,omitempty"` // of its post office
	Rooms   int     `json:"rooms"`             // that are open there
	Kept    int     `json:"kept,omitzero"`     // letters in its outbox, which nobody else has
	Skew    int64   `json:"skew_ms"`           // how far its clock is ahead of the servers', in milliseconds
	// Key is the public key with which it says that it signs, as KeyText has it. Nobody vouches for that here.
	Key string `json:"key,omitempty"`
}

// Trimmed answers Archive.
type Trimmed struct {
	Age    int `json:"age"`    // messages over the age limit
	Read   int `json:"read"`   // read ones, over the count limit
	Unread int `json:"unread"` // of both, how many nobody had read
	Oldest int `json:"oldest"` // the oldest others, over the count limit
	Kept   int `json:"kept"`
}

// Verification answers Verify.
type Verification struct {
	Files    int       `json:"files"`
	Lines    int       `json:"lines"`
	Bytes    int64     `json:"bytes"`
	Repaired int       `json:"repaired,omitzero"` // lines that Repair put back
	Problems []Problem `json:"problems"`
}

// Problem is one bad line, or a range of lines that are missing before it.
type Problem struct {
	File  string `json:"file"`
	Line  int    `json:"line"`
	Text  string `json:"text"`           // what is wrong
	First Seq    `json:"first,omitzero"` // the places that are missing
	Last  Seq    `json:"last,omitzero"`
}

// Imported answers Import.
type Imported struct {
	Added   int `json:"added"`
	Skipped int `json:"skipped"`
}

// Caller is who stands at the far end of a connection, as the connection proved it, and where it may go.
type Caller struct {
	Name Name     // an agent, or User
	Room RoomName // the only room it may enter; empty: any
	Pass *Pass    // of the machine that vouches for Name; nil: this one does, or a token that is Name's own
	// Means is how the user is known, or ByGuest; empty for an agent.
	Means Means
}

// Pass is what another machine was let in for. It is made once and never changed.
type Pass struct {
	Machine Machine
	Rooms   []RoomName // that it may enter, others are not there for it; empty: all
	Agent   Name       // as whom alone its programs may speak; empty: as any agent and the user
	ID      string     // of the token, which it does not tell: a machine that joins again has another
}

// Enters reports whether the machine may enter a room. Without a pass, everybody may.
func (p *Pass) Enters(room RoomName) bool {
	return p == nil || len(p.Rooms) == 0 || slices.Contains(p.Rooms, room)
}
