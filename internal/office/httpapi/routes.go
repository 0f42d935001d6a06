package httpapi

import (
	"cmp"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// route is one line of the table behind routing, the check of parameters and the OpenAPI document.
type route struct {
	wire.Route
	variable string // the last variable of the path
	query    []wire.Param
	headers  []string // header fields that it reads, beyond those of every request
	in       any      // a value of the body's type; nil: no body
	inType   string   // of the body; "": JSON
	out      any      // a value of the answer's type; nil: no content
	also     []int    // other statuses of success
	stream   string   // content type of an answer that is written piece by piece
	handle   func(*call) (any, error)
}

// routes returns the table.
func routes(o *Options) []route {
	return slices.Concat(officeRoutes(o), pageRoutes(o), inviteRoutes(o), credentialRoutes(o), hookRoutes(o),
		roomRoutes(o))
}

// roomRoutes returns the routes of a room.
func roomRoutes(o *Options) []route {
	return []route{
		sendRoute(), of(&wire.HistoryCall), of(&wire.MessageCall), of(&wire.EraseCall), of(&wire.InboxCall),
		of(&wire.DeskCall),
		of(&wire.MarkCall, checkMark), of(&wire.TurnCall, hideAccess), of(&wire.DialogCall), waitRoute(), ringRoute(),
		eventsRoute(),
		of(&wire.WithdrawCall), of(&wire.WaitingCall), of(&wire.StuckCall),
		of(&wire.AgentsCall), of(&wire.RegisterCall, hidePresenceAccess), on(&updateCall, update),
		of(&wire.RetireCall),
		of(&wire.RenameCall, renamed), of(&wire.MergeCall, merged), of(&wire.TokenCall),
		of(&wire.GuestTokenCall), of(&wire.GrantsCall),
		of(&wire.GrantCall), attachRoute(o), of(&wire.ClaimsCall), of(&wire.ClaimCall),
		of(&wire.ScheduledCall), of(&wire.RescheduleCall, rescheduled), of(&wire.UnscheduleCall),
		of(&wire.BridgesCall), of(&wire.AddBridgeCall), of(&wire.RemoveBridgeCall), of(&wire.SyncBridgeCall),
		of(&wire.RejectedLinesCall),
		of(&wire.WorkspacesCall), of(&wire.AddWorkspaceCall), of(&wire.RemoveWorkspaceCall),
		of(&wire.StatusCall), of(&wire.ArchiveCall), of(&wire.VerifyCall), of(&wire.RepairCall),
		handled(&wire.ExportRoute, wire.Lines, mail.Item{}, export), importRoute(), githubRoute(o),
	}
}

// of returns the route of a call of a room. The functions then check or change the argument before the call.
func of[In, Out any](made *wire.Call[In, Out], then ...func(*call, *In) error) route {
	return on(made, func(c *call, in In) (out Out, err error) {
		for _, f := range then {
			if err := f(c, &in); err != nil {
				return out, err
			}
		}
		return made.On(c.room, c.r.Context(), in)
	})
}

// on returns the route of a call that do answers.
func on[In, Out any](made *wire.Call[In, Out], do func(*call, In) (Out, error)) route {
	rt := at(&made.Route)
	switch in := any(*new(In)); {
	case in == wire.None{}, reflect.TypeOf(in).Kind() == reflect.String:
	case rt.Method == http.MethodGet:
		rt.query = wire.Params(reflect.TypeOf(in))
	default:
		rt.in = in
	}
	if out := any(*new(Out)); out != any(wire.None{}) {
		rt.out, rt.Success = out, cmp.Or(made.Success, http.StatusOK)
	}
	rt.handle = func(c *call) (any, error) {
		in, err := input[In](c)
		if err != nil {
			return nil, err
		}
		out, err := do(c, in)
		if rt.out == nil {
			return nil, err
		}
		return out, err
	}
	return rt
}

// at returns a route without an answer.
func at(r *wire.Route) route {
	rt := route{Route: *r, variable: r.Path[strings.LastIndexByte(r.Path, '{')+1:]}
	rt.variable, _, _ = strings.Cut(rt.variable, "}")
	rt.Success = cmp.Or(r.Success, http.StatusNoContent)
	return rt
}

// handled returns a route that handle answers by itself: with a value of out's type or, if there is a content type,
// with a stream of such values.
func handled(r *wire.Route, kind string, out any, handle func(*call) (any, error)) route {
	rt := at(r)
	rt.out, rt.stream, rt.Success, rt.handle = out, kind, http.StatusOK, handle
	return rt
}

// without makes routes refuse with why if the post office lacks their subject.
func without(lacking bool, why error, routes ...route) []route {
	for i := range routes {
		if lacking {
			routes[i].handle = func(*call) (any, error) { return nil, why }
		}
	}
	return routes
}

// optional marks, in the table, an answer that may be null.
type optional[T any] struct{ Value T }
