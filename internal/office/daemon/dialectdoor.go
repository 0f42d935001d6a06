package daemon

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
	"pennypost/internal/office/gate"
	"pennypost/internal/office/httpapi"
	"pennypost/internal/office/mcpserver"
)

// mountDialects serves the MCP endpoints and the routes of the dialects.
func (d *daemon) mountDialects(mux *http.ServeMux) (closeAll func(), err error) {
	var open []*mcpserver.HTTPHandler
	closeAll = func() {
		for _, h := range open {
			h.Close()
		}
	}
	for _, dia := range Dialects() {
		for _, e := range dia.Endpoints {
			m, h, err := d.door(func(box mcpserver.Mailbox) *mcpserver.Server {
				return mcpserver.NewDialect(box, dia.Name, e)
			})
			if err != nil {
				closeAll()
				return nil, err
			}
			open = append(open, h)
			guarded := m.known(refuseMCP, m.entitled(&e, h))
			mux.Handle(e.Path, guarded)
			mux.Handle(e.Path+"/{$}", guarded)
		}
		for _, r := range dia.Routes {
			if r.DevOnly && !d.opts.Dev {
				mux.Handle(r.Pattern, http.NotFoundHandler()) // or another route whose path matches would answer
				continue
			}
			mux.Handle(r.Pattern, d.dialectRoute(r))
		}
	}
	return closeAll, nil
}

// entitled lets through the caller for whom the endpoint is: the agent that its path names, if it is known there.
// Every caller with a credential may learn that the name is unknown.
func (m entrance) entitled(e *dialect.Endpoint, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := callerOf(r)
		meant := c.Name
		if strings.Contains(e.Path, "{agent}") {
			meant = mail.Name(norm.NFC.String(r.PathValue("agent"))) // normalised as in credentials
		}
		if e.Known != nil {
			if err := e.Known(r.Context(), m.callerRoom(c), meant); err != nil {
				refuseMCP(w, httpapi.Status(err), err.Error())
				return
			}
		}
		if meant != c.Name {
			refuseMCP(w, http.StatusForbidden, fmt.Sprintf("this address belongs to %s, but your credential "+
				"belongs to %s. A program that runs several agents needs one connection for each agent, with the "+
				"agent's own token in the header Authorization: Bearer TOKEN. To print it: pennypost agents token "+
				"%s", meant, c.Name,
				wording.Shell(string(meant))))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// refuseMCP answers a request that reaches no server, as MCP prescribes: with the status, and a JSON-RPC error that
// answers no particular request (MCP 2025-11-25, Streamable HTTP).
func refuseMCP(w http.ResponseWriter, status int, why string) {
	text, err := jsonx.Marshal(map[string]any{"jsonrpc": "2.0", "error": map[string]any{"code": refusedCode,
		"message": why}})
	if err != nil {
		http.Error(w, why, status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // a failure means that the client has gone
}

// refusedCode is the JSON-RPC code for an invalid request.
const refusedCode = -32600

// callerRoom returns the room of an admitted caller; each of its requests identifies its caller again.
func (m entrance) callerRoom(c mail.Caller) mail.Service {
	return m.daemon.office.RoomOf(c.Room, gate.Admitted(c))
}

// dialectRoute serves a route of a dialect to the user.
func (d *daemon) dialectRoute(route dialect.Route) http.Handler {
	door := entrance{d}
	refuse := func(w http.ResponseWriter, status int, why string) { http.Error(w, why, status) }
	return door.known(refuse, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := callerOf(r)
		if c.Name != mail.User {
			http.Error(w, "only the user may do this; you are "+string(c.Name), http.StatusForbidden)
			return
		}
		// a delete that has begun is finished even if the browser leaves
		r = r.WithContext(context.WithoutCancel(r.Context()))
		call := &dialect.Call{Service: door.callerRoom(c), Caller: c.Name, Room: c.Room, Now: time.Now(), Log: d.log,
			Machine: d.opts.Config.MachineName(), Ask: d.office.Set.Ask}
		if askedRoom(r) == "" {
			call.Office = d.office
		}
		route.Handle(w, r, call)
	}))
}
