package httpapi

import (
	"net/http"
	"strings"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// route is one line of the table from which routing, the check of parameters and the OpenAPI document are made.
type route struct {
	method   string
	path     string // below wire.Base
	id       string // operationId, and the name in logs
	about    string
	userOnly bool // refused to agents before anything is read
	query    []param
	headers  []string // header fields it heeds besides those of every request
	in       any      // a value of the body's type; nil: no body
	inType   string   // of the body; "": JSON
	out      any      // a value of the answer's type; nil: no content
	status   int      // of success
	also     int      // another status of success; 0: none
	stream   string   // content type of an answer that is written piece by piece
	handle   func(*call) (any, error)
}

// Bounds of a wait.
const (
	defaultWait = 60 * time.Second // below what most HTTP clients allow for one request
	maxWait     = time.Hour
)

// routes returns the table.
func routes() []route {
	table := []route{
		{method: http.MethodGet, path: "/status", id: "status", about: "Figures about the post office.",
			out: wire.Status{}, status: http.StatusOK, handle: status},
		{method: http.MethodPost, path: "/stop", id: "stop",
			about:    "Begin to stop the post office. Only the user may.",
			userOnly: true, status: http.StatusAccepted, handle: stop},
		{method: http.MethodPost, path: "/login", id: "login", about: "Make a link that logs the first browser that " +
			"opens it in as the user, within ten minutes. Only the user may.",
			userOnly: true, in: wire.Login{}, out: wire.Link{}, status: http.StatusCreated, handle: login},
		{method: http.MethodGet, path: "/sessions", id: "sessions",
			about:    "The browsers that are logged in to the pages. Only the user may.",
			userOnly: true, out: wire.Sessions{}, status: http.StatusOK, handle: sessions},
		{method: http.MethodDelete, path: "/sessions", id: "endSessions",
			about:    "Log all browsers out. Only the user may.",
			userOnly: true, status: http.StatusNoContent, handle: endSessions},
		{method: http.MethodDelete, path: "/sessions/{session}", id: "endSession",
			about:    "Log one browser out. Only the user may.",
			userOnly: true, status: http.StatusNoContent, handle: endSession},
		{method: http.MethodGet, path: "/openapi.json", id: "openapi", about: "This document.",
			out: map[string]any{}, status: http.StatusOK, handle: openAPI},
		{method: http.MethodGet, path: "/rooms", id: "rooms", about: "The rooms that the caller may enter.",
			out: wire.Rooms{}, status: http.StatusOK, handle: rooms},
		{method: http.MethodGet, path: "/rooms/{room}", id: "room", about: "Figures about one room.",
			out: mail.RoomStatus{}, status: http.StatusOK, handle: roomStatus},
		{method: http.MethodDelete, path: "/rooms/{room}", id: "removeRoom",
			about: "Remove a room: watches and waits there end, its tokens are void, its files are moved out of " +
				"the way. Only the user may.",
			userOnly: true, out: wire.RemovedRoom{}, status: http.StatusOK, handle: removeRoom},
	}
	table = append(table, mailRoutes()...)
	table = append(table, agentRoutes()...)
	table = append(table, connectRoutes()...)
	table = append(table, hookRoutes()...)
	return append(table, fileRoutes()...)
}

func mailRoutes() []route {
	const base = "/rooms/{room}"
	return []route{
		{method: http.MethodPost, path: base + "/messages", id: "send",
			about: "Send a message as the caller. 200 instead of 201: the idempotency key was known, and this is " +
				"the earlier message.",
			headers: []string{wire.KeyHeader}, in: mail.Draft{}, out: mail.Sent{}, status: http.StatusCreated,
			also: http.StatusOK, handle: send},
		{method: http.MethodGet, path: base + "/messages", id: "history",
			about: "Messages of the whole room, newest last.",
			query: historyParams(), out: mail.Page{}, status: http.StatusOK, handle: history},
		{method: http.MethodGet, path: base + "/messages/{id}", id: "message",
			about: "One message, archived ones included, with its deliveries.",
			out:   mail.Item{}, status: http.StatusOK, handle: message},
		{method: http.MethodDelete, path: base + "/messages/{id}", id: "erase",
			about:  "Erase a message and its text from every file. Only the user may.",
			status: http.StatusNoContent, handle: erase},
		{method: http.MethodGet, path: base + "/inbox", id: "inbox",
			about: "What waits in a mailbox, oldest first unless newest is asked for. Looking marks nothing.",
			query: inboxParams(), out: mail.Page{}, status: http.StatusOK, handle: inbox},
		{method: http.MethodPost, path: base + "/marks", id: "mark", about: "Mark messages as the caller's: read, " +
			"unread, archived or unarchived; with until snoozed; with door notified or presented.",
			in: mail.Marking{}, out: mail.Marked{}, status: http.StatusOK, handle: mark},
		{method: http.MethodPost, path: base + "/turns", id: "turn",
			about: "Note a moment in the life of the caller's session, and answer what is to be told then. What " +
				"hooks of agents' clients call.",
			in: mail.Turn{}, out: mail.Briefing{}, status: http.StatusOK, handle: turn},
		{method: http.MethodGet, path: base + "/wait", id: "wait",
			about: "Wait for an unread message and answer it, unmarked; null when the time is over. White space may " +
				"come first.",
			query: waitParams(), out: optional[mail.Item]{}, stream: wire.JSON, status: http.StatusOK, handle: wait},
		{method: http.MethodPost, path: base + "/ring", id: "ring",
			about: "Wait beside the caller until a door of it is rung, and answer that it was; null when the time " +
				"is over. White space may come first.",
			query: ringParams(), out: optional[mail.Rung]{}, stream: wire.JSON, status: http.StatusOK, handle: ring},
		{method: http.MethodGet, path: base + "/events", id: "events",
			about: "The room's journal from a place on, then live, as server-sent events: id is the seq, event " +
				"the kind, data the event.",
			query: []param{{"after", seqKind(),
				"only events behind this place; the header Last-Event-ID goes before it"}},
			headers: []string{lastEventID}, out: mail.Event{}, stream: wire.Events, status: http.StatusOK,
			handle: events},
	}
}

// optional stands, in the table, for an answer that may be null.
type optional[T any] struct{ Value T }

func historyParams() []param {
	return []param{
		{"type", typesKind(), "only these types"},
		{"from", textKind(), "an address or a bare name that sent them"},
		{"to", textKind(), "an address or a bare name as it stands in to"},
		{"agent", nameKind(), "sent by or delivered to this agent"},
		{"thread", idKind(), "any message of the thread"},
		{"issue", textKind(), "with this issue_id"},
		{"since", timeKind(), "sent at this time or later"},
		{"until", timeKind(), "sent before this time"},
		{"search", textKind(), "text in subject or body, case ignored"},
		{"state", statesKind(), "that stand so with at least one recipient now; they come with their deliveries"},
		{"deliveries", flagKind(), "with their deliveries"},
		{"archive", flagKind(), "the archive too"},
		{"after", seqKind(), "only messages behind this place"},
		{"before", seqKind(), "only messages before this place"},
		limitParam(),
	}
}

func inboxParams() []param {
	return []param{
		{"agent", nameKind(), "whose mailbox; default: the caller's"},
		{"place", placeKind(), "snoozed or archived instead of the inbox"},
		{"all", flagKind(), "read messages too"},
		{"newest", flagKind(), "the newest first"},
		{"after", seqKind(), "only messages behind this place"},
		{"before", seqKind(), "only messages before this place"},
		{"from", textKind(), "an address or a bare name that sent them"},
		{"type", typesKind(), "only these types"},
		limitParam(),
		{"bytes", countKind(), "stop before the bodies exceed so many bytes, but answer one message at least"},
	}
}

func limitParam() param {
	return param{"limit", countKind(), "at most so many messages; 0 means 50, the most is 1000"}
}

func waitParams() []param {
	return []param{
		{"type", typesKind(), "only these types"},
		{"reply_to", idKind(), "only an answer to this message"},
		{"after", seqKind(), "only messages behind this place"},
		{"timeout", durationKind(maxWait), "how long to wait; default 60s"},
	}
}

func ringParams() []param {
	return []param{
		{"door", textKind(), "which door: " + strings.Join(mail.ListenerDoors(), ", ") + "; default monitor"},
		{"session", textKind(),
			"only as long as the client's session of this id lasts, in place of whoever waits for it now"},
		{"timeout", durationKind(maxWait), "how long to wait; default 60s"},
	}
}

func agentRoutes() []route {
	const base = "/rooms/{room}/agents"
	return []route{
		{method: http.MethodGet, path: base, id: "agents", about: "The roster by name.",
			out: wire.Agents{}, status: http.StatusOK, handle: agents},
		{method: http.MethodPost, path: base, id: "register",
			about: "Register or update an agent; without name, the caller.",
			in:    mail.Presence{}, out: mail.Agent{}, status: http.StatusOK, handle: register},
		{method: http.MethodPatch, path: base + "/{name}", id: "update",
			about: "Update an agent that is on the roster.",
			in:    mail.Presence{}, out: mail.Agent{}, status: http.StatusOK, handle: update},
		{method: http.MethodDelete, path: base + "/{name}", id: "retire", about: "Take an agent off the roster.",
			status: http.StatusNoContent, handle: retire},
		{method: http.MethodPost, path: base + "/{name}/rename", id: "rename",
			about: "Give an agent a new name; its mail goes with it.",
			in:    wire.Rename{}, out: mail.Agent{}, status: http.StatusOK, handle: rename},
		{method: http.MethodPost, path: base + "/{name}/token", id: "token",
			about: "Make an agent's bearer token, shown once; the one before is void. Only the user may.",
			out:   wire.Token{}, status: http.StatusOK, handle: token},
	}
}

func connectRoutes() []route {
	const base = "/rooms/{room}"
	return []route{
		{method: http.MethodGet, path: base + "/bridges", id: "bridges",
			about: "The room's bridges to foreign mailboxes, and how they fare.",
			out:   wire.Bridges{}, status: http.StatusOK, handle: bridges},
		{method: http.MethodPost, path: base + "/bridges", id: "addBridge",
			about:    "Add a bridge, or change the mode of one, and bring room and files in step. Only the user may.",
			userOnly: true, in: mail.Bridge{}, out: mail.BridgeStatus{}, status: http.StatusOK, handle: addBridge},
		{method: http.MethodDelete, path: base + "/bridges/{bridge}", id: "removeBridge",
			about:    "Remove a bridge; its files stay. Only the user may.",
			userOnly: true, status: http.StatusNoContent, handle: removeBridge},
		{method: http.MethodPost, path: base + "/bridges/{bridge}/sync", id: "syncBridge",
			about:    "Bring room and files in step now. Only the user may.",
			userOnly: true, out: mail.BridgeStatus{}, status: http.StatusOK, handle: syncBridge},
		{method: http.MethodGet, path: base + "/workspaces", id: "workspaces",
			about: "The directories whose documents the room may show.",
			out:   wire.Workspaces{}, status: http.StatusOK, handle: workspaces},
		{method: http.MethodPost, path: base + "/workspaces", id: "addWorkspace",
			about:    "Add a workspace, or change one, and register its agent. Only the user may.",
			userOnly: true, in: mail.Workspace{}, out: mail.Workspace{}, status: http.StatusOK, handle: addWorkspace},
		{method: http.MethodDelete, path: base + "/workspaces/{name}", id: "removeWorkspace",
			about:    "Forget a workspace and retire its agent. Only the user may.",
			userOnly: true, status: http.StatusNoContent, handle: removeWorkspace},
	}
}

func fileRoutes() []route {
	const base = "/rooms/{room}"
	return []route{
		{method: http.MethodPost, path: base + "/archive", id: "archive", about: "Run retention now.",
			out: mail.Trimmed{}, status: http.StatusOK, handle: archive},
		{method: http.MethodPost, path: base + "/verify", id: "verify",
			about: "Read the room's files again, check every line and name what is missing.",
			out:   mail.Verification{}, status: http.StatusOK, handle: verify},
		{method: http.MethodPost, path: base + "/repair", id: "repair", about: "Set bad lines aside, put set-aside " +
			"lines back where their places are free, and verify. Only the user may.",
			userOnly: true, out: mail.Verification{}, status: http.StatusOK, handle: repair},
		{method: http.MethodGet, path: base + "/export", id: "export",
			about: "Every message with its deliveries, one JSON object a line.",
			out:   mail.Item{}, stream: wire.Lines, status: http.StatusOK, handle: export},
		{method: http.MethodPost, path: base + "/import", id: "import", about: "Add messages with their own ids and " +
			"times, one JSON object a line: all or none. Known ids are skipped. Only the user may.",
			userOnly: true, in: mail.Item{}, inType: wire.Lines, out: mail.Imported{}, status: http.StatusOK,
			handle: importItems},
	}
}
