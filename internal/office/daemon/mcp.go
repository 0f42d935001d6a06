package daemon

import (
	"cmp"
	"context"
	"net/http"
	"sync"

	"pennypost/internal/mail"
	"pennypost/internal/office/httpapi"
	"pennypost/internal/office/mcpserver"
)

// roomHeader names the room for a caller whose credential opens all rooms. A client that cannot set headers puts
// ?room= into the URL.
const roomHeader = "Pennypost-Room"

// mountMCP serves MCP at /mcp: the mail tools in the caller's name.
func (d *daemon) mountMCP(mux *http.ServeMux) (closeMCP func(), err error) {
	var natives []*mcpserver.Native // guarded by m.mu
	m, h, err := d.door(func(box mcpserver.Mailbox) *mcpserver.Server {
		n := mcpserver.NewNative(box)
		natives = append(natives, n)
		return n.Server
	})
	if err != nil {
		return nil, err
	}
	closeDialects, err := d.mountDialects(mux)
	if err != nil {
		h.Close()
		return nil, err
	}
	mux.Handle("/mcp", m.known(refuseMCP, h))
	mux.Handle("/mcp/{$}", m.known(refuseMCP, h))
	mux.Handle("/mcp/", m.known(refuseMCP, http.HandlerFunc(noEndpoint)))
	return func() {
		closeDialects()
		h.Close()
		m.mu.Lock()
		defer m.mu.Unlock()
		for _, n := range natives {
			n.Close()
		}
	}, nil
}

func noEndpoint(w http.ResponseWriter, r *http.Request) {
	refuseMCP(w, http.StatusNotFound, "no MCP server at "+r.URL.Path+
		": Pennypost's own tools are at /mcp, the inbox of a workspace is at /mcp/ID")
}

// entrance finds out who sent an HTTP request, and for which room.
type entrance struct{ daemon *daemon }

// door owns one MCP server for each caller and room. A server outlives its sessions; there is one for each agent
// that used this door since the post office started.
type door struct {
	entrance
	open func(mcpserver.Mailbox) *mcpserver.Server // called with mu held

	mu      sync.Mutex
	servers map[mail.Caller]*mcpserver.Server
}

// door returns a door with such servers, and the handler that serves MCP through them.
func (d *daemon) door(open func(mcpserver.Mailbox) *mcpserver.Server) (*door, *mcpserver.HTTPHandler, error) {
	m := &door{entrance: entrance{d}, open: open, servers: make(map[mail.Caller]*mcpserver.Server)}
	h, err := mcpserver.NewHTTPHandler(m.server, mcpserver.HTTPOptions{Identity: identity, Logger: d.log})
	return m, h, err
}

// server returns the MCP server of a request's caller.
func (m *door) server(r *http.Request) (*mcpserver.Server, error) {
	c := callerOf(r)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.servers[c] == nil {
		m.servers[c] = m.open(mcpserver.Mailbox{Service: m.callerRoom(c), Room: c.Room, Agent: c.Name,
			Version: m.daemon.opts.Version, Log: m.daemon.log, Callbacks: m.daemon.callbacks()})
	}
	return m.servers[c], nil
}

// callerKey is the key under which the context of a request has the mail.Caller who sent it, with the room filled
// in.
type callerKey struct{}

func callerOf(r *http.Request) mail.Caller {
	c, _ := r.Context().Value(callerKey{}).(mail.Caller)
	return c
}

// identity binds an MCP session to the caller that opened it.
func identity(r *http.Request) string {
	c := callerOf(r)
	return string(c.Room) + "/" + string(c.Name)
}

// known lets identified callers through, and refuses others.
func (m entrance) known(refuse func(w http.ResponseWriter, status int, why string), next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, err := m.caller(r)
		if err == nil {
			ctx := withToken(context.WithValue(r.Context(), callerKey{}, caller), r)
			next.ServeHTTP(w, r.WithContext(ctx))
			return
		}
		if mail.CodeOf(err) == mail.Unknown {
			w.Header().Set("WWW-Authenticate", `Bearer realm="pennypost"`)
		}
		refuse(w, httpapi.Status(err), err.Error())
	})
}

// askedRoom returns the room that r names, or "".
func askedRoom(r *http.Request) string {
	return cmp.Or(r.Header.Get(roomHeader), r.URL.Query().Get("room"))
}

// caller returns who sent r, and the room that it addresses.
func (m entrance) caller(r *http.Request) (mail.Caller, error) {
	c, err := m.daemon.gate.Authenticate(r)
	if err != nil {
		return c, err
	}
	room, err := mail.ParseRoom(cmp.Or(askedRoom(r), string(c.Room), string(mail.DefaultRoom)))
	if err == nil && c.Room != "" && c.Room != room {
		err = mail.Errorf(mail.Denied, "your credential opens room %s only, not %s", c.Room, room)
	}
	c.Room = room
	if err == nil && r.Header.Get("Authorization") == "" {
		c.Name, err = m.daemon.office.Admit(r.Context(), room, c.Name)
	}
	if err == nil && c.Name != mail.User {
		err = m.daemon.office.StandAs(r.Context(), room, c.Name)
	}
	return c, err
}
