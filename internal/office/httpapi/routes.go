package httpapi

import (
	"net/http"
	"reflect"
	"slices"

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
	here     bool // refused to other machines, even to the user there: it is about this one, or about all rooms
	open     bool // for everybody: what is handed over says who may
	query    []wire.Param
	headers  []string // header fields it heeds besides those of every request
	in       any      // a value of the body's type; nil: no body
	inType   string   // of the body; "": JSON
	out      any      // a value of the answer's type; nil: no content
	status   int      // of success
	also     int      // another status of success; 0: none
	stream   string   // content type of an answer that is written piece by piece
	handle   func(*call) (any, error)
}

// routes returns the table.
func routes() []route {
	table := []route{
		{method: http.MethodGet, path: "/status", id: "status", about: "Figures about the post office.",
			out: wire.Status{}, status: http.StatusOK, handle: status},
		{method: http.MethodPost, path: "/stop", id: "stop",
			about:    "Begin to stop the post office. Only the user may.",
			userOnly: true, here: true, status: http.StatusAccepted, handle: stop},
		{method: http.MethodGet, path: "/backup", id: "backup", about: "Every room, token and setting as one file, " +
			"a tar archive in gzip. Only the user may, over the Unix socket.",
			userOnly: true, here: true, out: "", stream: wire.Gzip, status: http.StatusOK, handle: backup},
		{method: http.MethodGet, path: "/notify", id: "notify",
			about: "The channels through which the user is told of " +
				"mail, and how it stands with each. Only the user may.",
			userOnly: true, here: true, out: wire.NotifyChannels{}, status: http.StatusOK, handle: notifyChannels},
		{method: http.MethodPost, path: "/notify/test", id: "notifyTest", about: "Send a test through a channel, or " +
			"through all, and answer what the other side said. Only the user may.",
			userOnly: true, here: true, in: wire.NotifyTest{}, out: wire.NotifyTests{}, status: http.StatusOK,
			handle: notifyTest},
		{method: http.MethodGet, path: "/machines", id: "machines",
			about: "The machines whose post offices have rooms on the same NATS servers, by name. Only the user may " +
				"ask.",
			userOnly: true, here: true, out: wire.Machines{}, status: http.StatusOK, handle: machines},
		{method: http.MethodDelete, path: "/machines/{machine}", id: "removeMachine",
			about: "Forget a machine that will not come back: nobody waits for it any more where all machines have " +
				"to do something, as when text is erased. Only the user may.",
			userOnly: true, here: true, status: http.StatusNoContent, handle: removeMachine},
		{method: http.MethodPost, path: "/login", id: "login", about: "Make a link that logs the first browser that " +
			"opens it in as the user, within ten minutes. Only the user may.",
			userOnly: true, in: wire.Login{}, out: wire.Link{}, status: http.StatusCreated, handle: login},
		{method: http.MethodGet, path: "/sessions", id: "sessions",
			about:    "The browsers that are logged in to the pages. Only the user may.",
			userOnly: true, here: true, out: wire.Sessions{}, status: http.StatusOK, handle: sessions},
		{method: http.MethodDelete, path: "/sessions", id: "endSessions",
			about:    "Log all browsers out. Only the user may.",
			userOnly: true, here: true, status: http.StatusNoContent, handle: endSessions},
		{method: http.MethodDelete, path: "/sessions/{session}", id: "endSession",
			about:    "Log one browser out. Only the user may.",
			userOnly: true, here: true, status: http.StatusNoContent, handle: endSession},
		{method: http.MethodGet, path: "/openapi.json", id: "openapi", about: "This document.",
			out: map[string]any{}, status: http.StatusOK, handle: openAPI},
		{method: http.MethodGet, path: "/rooms", id: "rooms", about: "The rooms that the caller may enter.",
			out: wire.Rooms{}, status: http.StatusOK, handle: rooms},
		{method: http.MethodGet, path: "/desk", id: "desks",
			about: "What waits for the user in all rooms, by conversation: what needs an answer, and updates. Only " +
				"the user may ask.",
			userOnly: true, query: wire.Params(reflect.TypeFor[mail.DeskQuery]()), out: mail.Desk{},
			status: http.StatusOK, handle: desk},
		{method: http.MethodGet, path: "/desk/events", id: "deskEvents",
			about: "What changes on the user's desk, as server-sent events: event is desk, data says in which room. " +
				"The first, without a room, comes at once. Only the user may ask.",
			userOnly: true, out: mail.DeskChange{}, stream: wire.Events, status: http.StatusOK, handle: deskEvents},
		{method: http.MethodPost, path: wire.Room + "/move", id: "moveRoom",
			about: "Move a room to the NATS servers, or to a file on this machine, while mail goes on. Cut off, it " +
				"is to be asked again. Only the user may.",
			userOnly: true, here: true, in: wire.MoveRoom{}, out: wire.MovedRoom{}, status: http.StatusOK,
			handle: moveRoom},
		{method: http.MethodDelete, path: wire.Room, id: "removeRoom",
			about: "Remove a room: watches and waits there end, its tokens are void, its files are moved out of " +
				"the way. Only the user may.",
			userOnly: true, here: true, out: wire.RemovedRoom{}, status: http.StatusOK, handle: removeRoom},
	}
	return slices.Concat(table, inviteRoutes(), credentialRoutes(), hookRoutes(), roomRoutes())
}

// roomRoutes returns the routes of what can be asked of a room.
func roomRoutes() []route {
	return []route{
		sendRoute(), of(&wire.HistoryCall), of(&wire.MessageCall), of(&wire.EraseCall), of(&wire.InboxCall),
		of(&wire.DeskCall),
		of(&wire.MarkCall, checkMark), of(&wire.TurnCall, hideAccess), waitRoute(), ringRoute(), eventsRoute(),
		of(&wire.WithdrawCall), of(&wire.WaitingCall), of(&wire.StuckCall),
		of(&wire.AgentsCall), of(&wire.RegisterCall, hidePresenceAccess), updateRoute(), of(&wire.RetireCall),
		of(&wire.RenameCall, renamed), of(&wire.TokenCall), of(&wire.GrantsCall), of(&wire.GrantCall),
		attachRoute(),
		of(&wire.BridgesCall), of(&wire.AddBridgeCall), of(&wire.RemoveBridgeCall), of(&wire.SyncBridgeCall),
		of(&wire.RejectedLinesCall),
		of(&wire.WorkspacesCall), of(&wire.AddWorkspaceCall), of(&wire.RemoveWorkspaceCall),
		of(&wire.StatusCall), of(&wire.ArchiveCall), of(&wire.VerifyCall), of(&wire.RepairCall),
		exportRoute(), importRoute(),
	}
}

// of returns the route of a call. What is to be looked at or changed in the argument is done by then, before the call.
func of[In, Out any](made *wire.Call[In, Out], then ...func(*call, *In) error) route {
	rt := at(&made.Route)
	switch in := any(*new(In)).(type) {
	case wire.None, mail.ID, mail.Name, string:
	default:
		if rt.method == http.MethodGet {
			rt.query = wire.Params(reflect.TypeOf(in))
		} else {
			rt.in = in
		}
	}
	if out := any(*new(Out)); out != any(wire.None{}) {
		rt.out, rt.status = out, http.StatusOK
	}
	rt.handle = func(c *call) (any, error) {
		in, err := input[In](c)
		for _, f := range then {
			if err == nil {
				err = f(c, &in)
			}
		}
		if err != nil {
			return nil, err
		}
		out, err := made.On(c.room, c.r.Context(), in)
		if rt.out == nil {
			return nil, err
		}
		return out, err
	}
	return rt
}

// at returns a route of the room that answers nothing.
func at(r *wire.Route) route {
	return route{method: r.Method, path: wire.Room + r.Path, id: r.ID, about: r.About, userOnly: r.UserOnly,
		here:   r.Here,
		status: http.StatusNoContent}
}

// optional stands, in the table, for an answer that may be null.
type optional[T any] struct{ Value T }
