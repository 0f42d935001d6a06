package wire

import (
	"context"
	"net/http"
	"time"

	"pennypost/internal/mail"
)

// Room begins the path of each call of a room.
const Room = "/rooms/{room}"

// Route is the address and the rules of a call.
type Route struct {
	ID       string // operationId in the OpenAPI document, and the name in logs
	Method   string
	Path     string // below Base
	About    string
	UserOnly bool // refused to agents before the request is read; a room checks it as well
	Here     bool // refused to other machines: it concerns this one, or its files, or creates credentials
	Changes  bool // it changes the room's journal
	Open     bool // for everyone: the request itself authorises the caller
	Success  int  // status of success; 0: 200 with an answer, 204 without
	Repeat   bool // safe to repeat, in addition to GET: a client may retry when the connection broke
}

// Call is a method of mail.Service as a request and its answer or, without On, a request to the post office as a
// whole. A string is the last variable of the path; a struct is the query of a GET, otherwise the JSON body.
type Call[In, Out any] struct {
	Route
	On func(mail.Service, context.Context, In) (Out, error)
}

// done adapts a method without an answer.
func done[In any](method func(mail.Service, context.Context, In) error) func(mail.Service, context.Context, In) (None,
	error) {
	return func(s mail.Service, ctx context.Context, in In) (None, error) { return None{}, method(s, ctx, in) }
}

// plain adapts a method without arguments.
func plain[Out any](method func(mail.Service, context.Context) (Out, error)) func(mail.Service, context.Context,
	None) (Out, error) {
	return func(s mail.Service, ctx context.Context, _ None) (Out, error) { return method(s, ctx) }
}

// None is an absent argument or answer.
type None = struct{}

// The calls of a room. A new method of mail.Service needs a row here, a method of Stub, and its implementation in the
// room. httpapi makes its routes and its OpenAPI document from the rows; clients and the daemon call through them.
// TestEveryMethodIsACall finds a method without a row. A stream has only a Route.
var (
	SendCall = Call[mail.Draft, mail.Sent]{Route{ID: "send", Method: http.MethodPost, Path: Room + "/messages",
		About: "Send a message as the caller, now or, with at, in or every, later. 200 instead of 201: the " +
			"idempotency key was known, and this is the earlier message. 202: the room is unreachable, and the " +
			"message is kept on this machine.",
		Repeat: true, Changes: true, Success: http.StatusCreated}, mail.Service.Send}
	HistoryCall = Call[mail.HistoryQuery, mail.Page]{Route{ID: "history", Method: http.MethodGet,
		Path:  Room + "/messages",
		About: "Messages of the whole room, newest last."}, mail.Service.History}
	MessageCall = Call[mail.ID, mail.Item]{Route{ID: "message", Method: http.MethodGet, Path: Room + "/messages/{id}",
		About: "One message, archived ones included, with its deliveries."}, mail.Service.Message}
	EraseCall = Call[mail.ID, None]{Route{ID: "erase", Method: http.MethodDelete, Path: Room + "/messages/{id}",
		About: "Erase a message and its text from every file. Only the user may.", Changes: true},
		done(mail.Service.Erase)}
	InboxCall = Call[mail.InboxQuery, mail.Page]{Route{ID: "inbox", Method: http.MethodGet, Path: Room + "/inbox",
		About: "Mail waiting in a mailbox, oldest first unless newest is given. Looking marks nothing."},
		mail.Service.Inbox}
	DeskCall = Call[mail.DeskQuery, mail.Desk]{Route{ID: "desk", Method: http.MethodGet, Path: Room + "/desk",
		About:    "What waits for the user in this room, by conversation. Only the user may ask.",
		UserOnly: true}, mail.Service.Desk}
	MarkCall = Call[mail.Marking, mail.Marked]{Route{ID: "mark", Method: http.MethodPost, Path: Room + "/marks",
		About: "Mark messages as the caller's: read, unread, archived or unarchived; with until snoozed; with door " +
			"notified or presented.", Repeat: true, Changes: true}, mail.Service.Mark}
	TurnCall = Call[mail.Turn, mail.Briefing]{Route{ID: "turn", Method: http.MethodPost, Path: Room + "/turns",
		About: "Record an event of the caller's session, and answer with the mail to show then. Hooks of agents' " +
			"clients call this."}, mail.Service.Turn}
	DialogCall = Call[mail.DialogChange, None]{Route{ID: "dialog", Method: http.MethodPost, Path: Room + "/dialogs",
		About: "Record that the client of the caller's session asks its person, or how that ended. Hooks of " +
			"agents' clients call this.", Changes: true}, done(mail.Service.Dialog)}
	WaitCall = Call[WaitQuery, mail.Item]{Route{ID: "wait", Method: http.MethodGet, Path: Room + "/wait",
		About: "Wait for an unread message and answer with it, unmarked; null after the timeout. White space may " +
			"precede it."},
		func(s mail.Service, ctx context.Context, q WaitQuery) (mail.Item, error) {
			return s.Wait(ctx, q.WaitQuery)
		}}
	WithdrawCall = Call[mail.ID, None]{Route{ID: "withdraw", Method: http.MethodPost,
		Path:  Room + "/messages/{id}/withdrawal",
		About: "Withdraw an open question. Only its sender and the user may.", Repeat: true, Changes: true},
		done(mail.Service.Withdraw)}
	WaitingCall = Call[mail.WaitingQuery, mail.WaitingList]{Route{ID: "waiting", Method: http.MethodGet,
		Path:  Room + "/waiting",
		About: "Who waits for whom, by open question, the longest wait first; with chains and circles."},
		mail.Service.Waiting}
	StuckCall = Call[mail.StuckQuery, mail.StuckList]{Route{ID: "stuck", Method: http.MethodGet, Path: Room + "/stuck",
		About: "The mail that does not move, by kind and reader, the longest wait first."}, mail.Service.Stuck}
	EventsRoute = Route{ID: "events", Method: http.MethodGet, Path: Room + "/events",
		About: "The room's journal after a sequence number, then live, as server-sent events: id is the seq, " +
			"event the kind, data the event."}
	RingRoute = Route{ID: "ring", Method: http.MethodPost, Path: Room + "/ring",
		About: "Wait beside the caller until one of its doors is rung, and answer that it was; null after the " +
			"timeout. White space may precede it."}
)

// The calls of the roster.
var (
	AgentsCall = Call[mail.RosterQuery, mail.AgentList]{Route{ID: "agents", Method: http.MethodGet,
		Path:  Room + "/agents",
		About: "The roster by name."}, mail.Service.Agents}
	RegisterCall = Call[mail.Presence, mail.Agent]{Route{ID: "register", Method: http.MethodPost,
		Path:  Room + "/agents",
		About: "Register or update an agent; without name, the caller.", Changes: true}, mail.Service.Register}
	RetireCall = Call[mail.Name, None]{Route{ID: "retire", Method: http.MethodDelete, Path: Room + "/agents/{name}",
		About: "Take an agent off the roster.", Changes: true},
		done(mail.Service.Retire)}
	RenameCall = Call[Rename, mail.Agent]{Route{ID: "rename", Method: http.MethodPost,
		Path:  Room + "/agents/{name}/rename",
		About: "Rename an agent; its mail moves with it.", Changes: true},
		func(s mail.Service, ctx context.Context, r Rename) (mail.Agent, error) {
			return s.Rename(ctx, r.From, r.To)
		}}
	MergeCall = Call[Merge, mail.Agent]{Route{ID: "merge", Method: http.MethodPost,
		Path:  Room + "/agents/{name}/merge",
		About: "Merge an agent into another, or into the user, who takes over all that it had.", Changes: true},
		func(s mail.Service, ctx context.Context, m Merge) (mail.Agent, error) {
			return s.Merge(ctx, m.From, m.Into)
		}}
	TokenCall = Call[mail.Name, Token]{Route{ID: "token", Method: http.MethodPost, Path: Room + "/agents/{name}/token",
		About: "Make an agent's bearer token, shown once; the previous one becomes void. Only the user may.",
		Here:  true, Changes: true},
		func(s mail.Service, ctx context.Context, n mail.Name) (Token, error) {
			t, err := s.Token(ctx, n)
			return Token{t}, err
		}}
	GuestTokenCall = Call[mail.Name, Token]{Route{ID: "guestToken", Method: http.MethodPost,
		Path: Room + "/agents/{name}/guest-token",
		About: "Make the bearer token for another person's program, valid at the guests' doors, shown once; the " +
			"agent's previous token becomes void. Only the user may.",
		Here: true, Changes: true},
		func(s mail.Service, ctx context.Context, n mail.Name) (Token, error) {
			t, err := s.GuestToken(ctx, n)
			return Token{t}, err
		}}
	GrantsCall = Call[None, Grants]{Route{ID: "grants", Method: http.MethodGet, Path: Room + "/grants",
		About: "What the user has granted to, or refused, sessions of agents: names, and where."},
		func(s mail.Service, ctx context.Context, _ None) (Grants, error) {
			list, err := s.Grants(ctx)
			return Grants{list}, err
		}}
	GrantCall = Call[mail.Grant, mail.Grant]{Route{ID: "grant", Method: http.MethodPost, Path: Room + "/grants",
		About: "Let the sessions of a client, of a directory or all, be an agent, with or without the role " +
			"orchestrator; with refused, take that back. Only the user may.",
		UserOnly: true, Repeat: true, Changes: true}, mail.Service.Grant}
)

// The calls of claims.
var (
	ClaimsCall = Call[mail.ClaimQuery, mail.ClaimList]{Route{ID: "claims", Method: http.MethodGet,
		Path:  Room + "/claims",
		About: "Who holds which path or name, since when and why."}, mail.Service.Claims}
	ClaimCall = Call[mail.ClaimRequest, mail.Claimed]{Route{ID: "claim", Method: http.MethodPost,
		Path: Room + "/claims",
		About: "Claim paths and names for the caller, all or none, or release them. The user may release those " +
			"of others. The answer names the holders in the way.", Repeat: true, Changes: true},
		mail.Service.Claim}
)

// The calls of scheduled mail.
var (
	ScheduledCall = Call[None, mail.ScheduledList]{Route{ID: "scheduled", Method: http.MethodGet,
		Path:  Room + "/scheduled",
		About: "Scheduled mail, the next due first: the caller's own, or all of it for the user."},
		plain(mail.Service.Scheduled)}
	RescheduleCall = Call[mail.Rescheduling, mail.Scheduled]{Route{ID: "reschedule", Method: http.MethodPatch,
		Path:  Room + "/scheduled/{id}",
		About: "Reschedule scheduled mail.", Changes: true}, mail.Service.Reschedule}
	UnscheduleCall = Call[mail.ID, None]{Route{ID: "unschedule", Method: http.MethodDelete,
		Path:  Room + "/scheduled/{id}",
		About: "Cancel scheduled mail.", Changes: true}, done(mail.Service.Unschedule)}
)

// The calls that tie the room to directories.
var (
	BridgesCall = Call[None, Bridges]{Route{ID: "bridges", Method: http.MethodGet, Path: Room + "/bridges",
		About: "The room's bridges to foreign mailboxes, and their state."},
		func(s mail.Service, ctx context.Context, _ None) (Bridges, error) {
			list, err := s.Bridges(ctx)
			return Bridges{list}, err
		}}
	AddBridgeCall = Call[mail.Bridge, mail.BridgeStatus]{Route{ID: "addBridge", Method: http.MethodPost,
		Path:     Room + "/bridges",
		About:    "Add a bridge, or change the mode of one, and bring room and files in step. Only the user may.",
		UserOnly: true, Here: true, Repeat: true, Changes: true}, mail.Service.AddBridge}
	RemoveBridgeCall = Call[string, None]{Route{ID: "removeBridge", Method: http.MethodDelete,
		Path:     Room + "/bridges/{bridge}",
		About:    "Remove a bridge; its files stay. Only the user may.",
		UserOnly: true, Here: true, Changes: true},
		done(mail.Service.RemoveBridge)}
	SyncBridgeCall = Call[string, mail.BridgeStatus]{Route{ID: "syncBridge", Method: http.MethodPost,
		Path:     Room + "/bridges/{bridge}/sync",
		About:    "Bring room and files in step now. Only the user may.",
		UserOnly: true, Here: true, Repeat: true, Changes: true}, mail.Service.SyncBridge}
	RejectedLinesCall = Call[string, BadLines]{Route{ID: "rejectedLines", Method: http.MethodGet,
		Path:  Room + "/bridges/{bridge}/rejected",
		About: "Entries in the files of a bridge that are not understood: file, line, reason and excerpt."},
		func(s mail.Service, ctx context.Context, id string) (BadLines, error) {
			list, err := s.RejectedLines(ctx, id)
			return BadLines{list}, err
		}}
	WorkspacesCall = Call[None, Workspaces]{Route{ID: "workspaces", Method: http.MethodGet, Path: Room + "/workspaces",
		About: "The directories whose documents the room may show."},
		func(s mail.Service, ctx context.Context, _ None) (Workspaces, error) {
			list, err := s.Workspaces(ctx)
			return Workspaces{list}, err
		}}
	AddWorkspaceCall = Call[mail.Workspace, mail.Workspace]{Route{ID: "addWorkspace", Method: http.MethodPost,
		Path:     Room + "/workspaces",
		About:    "Add a workspace, or change one, and register its agent. Only the user may.",
		UserOnly: true, Here: true, Repeat: true, Changes: true}, mail.Service.AddWorkspace}
	RemoveWorkspaceCall = Call[mail.Name, None]{Route{ID: "removeWorkspace", Method: http.MethodDelete,
		Path:     Room + "/workspaces/{name}",
		About:    "Forget a workspace and retire its agent. Only the user may.",
		UserOnly: true, Here: true, Changes: true},
		done(mail.Service.RemoveWorkspace)}
)

// The calls that maintain the room's files.
var (
	StatusCall = Call[None, mail.RoomStatus]{Route{ID: "room", Method: http.MethodGet, Path: Room,
		About: "Figures about one room."},
		plain(mail.Service.Status)}
	ArchiveCall = Call[None, mail.Trimmed]{Route{ID: "archive", Method: http.MethodPost, Path: Room + "/archive",
		About: "Run retention now."},
		plain(mail.Service.Archive)}
	VerifyCall = Call[None, mail.Verification]{Route{ID: "verify", Method: http.MethodPost, Path: Room + "/verify",
		About:  "Read the room's files again, check every line, and name missing ones.",
		Repeat: true},
		plain(mail.Service.Verify)}
	RepairCall = Call[None, mail.Verification]{Route{ID: "repair", Method: http.MethodPost, Path: Room + "/repair",
		About: "Set bad lines aside, restore set-aside lines where their sequence numbers are free, and verify. " +
			"Only the user may.",
		UserOnly: true, Changes: true},
		plain(mail.Service.Repair)}
	ExportRoute = Route{ID: "export", Method: http.MethodGet, Path: Room + "/export",
		About: "Every message with its deliveries, one JSON object per line."}
	ImportCall = Call[[]mail.Item, mail.Imported]{Route{ID: "import", Method: http.MethodPost, Path: Room + "/import",
		About: "Add messages with their ids and times, one JSON object per line: all or none. Known ids are " +
			"skipped. Only the user may.",
		UserOnly: true, Changes: true}, mail.Service.Import}
)

// WaitQuery asks for a future message.
type WaitQuery struct {
	mail.WaitQuery
	Timeout *time.Duration `query:"timeout" about:"how long to wait; default 60s"`
}

// RingQuery asks for the next ring at a door.
type RingQuery struct {
	Door    string         `query:"door" about:"which door: poster, rewake, monitor, channel; default monitor"`
	Session string         `query:"session" about:"only while this session lasts; default: any session of the caller"`
	Timeout *time.Duration `query:"timeout" about:"how long to wait; default 60s"`
}

// EventsQuery asks for the journal.
type EventsQuery struct {
	After mail.Seq `query:"after" about:"only events after this sequence number; Last-Event-ID overrides it"`
}
