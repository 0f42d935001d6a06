package daemon

import (
	"cmp"
	"context"
	"net/http"
	"sync"

	"pennypost/internal/mail"
	"pennypost/internal/office/mcpserver"
)

// roomHeader names the room for a caller whose credential opens all of them. A client that cannot set headers puts
// ?room= into the URL.
const roomHeader = "Pennypost-Room"

// mountMCP serves MCP at /mcp: the mail tools as whoever calls.
func (d *daemon) mountMCP(mux *http.ServeMux) (closeMCP func(), err error) {
	m := &mcpDoor{entrance: entrance{d}, servers: make(map[mail.Caller]*mcpserver.Native)}
	h, err := mcpserver.NewHTTPHandler(m.server, mcpserver.HTTPOptions{Identity: identity, Logger: d.log})
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
	return func() { closeDialects(); h.Close(); m.close() }, nil
}

func noEndpoint(w http.ResponseWriter, r *http.Request) {
	refuseMCP(w, http.StatusNotFound, "there is no MCP server at "+r.URL.Path+
		": Pennypost's own tools are at /mcp, the inbox of a workspace is at /mcp/ID")
}

// entrance finds out who comes over HTTP and into which room.
type entrance struct{ daemon *daemon }

// mcpDoor owns one MCP server for each caller and room.
type mcpDoor struct {
	entrance

	mu      sync.Mutex
	servers map[mail.Caller]*mcpserver.Native
}

// callerKey is under what the context of a request holds the mail.Caller who sent it, its room filled in.
type callerKey struct{}

func callerOf(r *http.Request) mail.Caller {
	c, _ := r.Context().Value(callerKey{}).(mail.Caller)
	return c
}

// identity binds an MCP session to who opened it.
func identity(r *http.Request) string {
	c := callerOf(r)
	return string(c.Room) + "/" + string(c.Name)
}

// known lets through who has proven who it is, and refuses others.
func (m entrance) known(refuse func(w http.ResponseWriter, status int, why string), next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, err := m.caller(r)
		switch code := mail.CodeOf(err); {
		case err == nil:
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, caller)))
		case code == mail.Unknown:
			w.Header().Set("WWW-Authenticate", `Bearer realm="pennypost"`)
			refuse(w, http.StatusUnauthorized, err.Error())
		default:
			refuse(w, statusOf(err), err.Error())
		}
	})
}

// askedRoom returns the room that r names, "" if it names none.
func askedRoom(r *http.Request) string {
	return cmp.Or(r.Header.Get(roomHeader), r.URL.Query().Get("room"))
}

// caller returns who sent r and the room that is meant.
func (m entrance) caller(r *http.Request) (mail.Caller, error) {
	c, err := m.daemon.gate.Authenticate(r)
	if err != nil {
		return c, err
	}
	asked := askedRoom(r)
	if asked == "" {
		asked = string(mail.DefaultRoom)
		if c.Room != "" {
			asked = string(c.Room)
		}
	}
	room, err := mail.ParseRoom(asked)
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

// server returns the MCP server of a request's caller. A server outlives its sessions; there are as many as agents
// that came this way since the post office started.
func (m *mcpDoor) server(r *http.Request) (*mcpserver.Server, error) {
	c := callerOf(r)
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := m.servers[c]; n != nil {
		return n.Server, nil
	}
	n := mcpserver.NewNative(mcpserver.Mailbox{
		Service: m.callerRoom(c),
		Room:    c.Room, Agent: c.Name, Version: m.daemon.opts.Version, Log: m.daemon.log,
	})
	m.servers[c] = n
	return n.Server, nil
}

func (m *mcpDoor) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range m.servers {
		n.Close()
	}
}
