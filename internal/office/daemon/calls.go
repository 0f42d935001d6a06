package daemon

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"pennypost/internal/base/life"
	"pennypost/internal/mail"
	"pennypost/internal/office/caller"
	"pennypost/internal/office/httpapi"
	"pennypost/internal/office/mcpserver"
	"pennypost/internal/office/rooms"
	"pennypost/internal/wire"
)

// calls are the connections over which the fronts of agents make tool calls, as wire.CallsProtocol describes.
type calls struct {
	daemon *daemon

	mu     sync.Mutex
	closed bool
	open   sync.WaitGroup // Add only with mu held and closed false
}

// close waits until every connection has ended, which d.closing has told them to.
func (c *calls) close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.open.Wait()
}

func (c *calls) enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.open.Add(1)
	}
	return !c.closed
}

// serve turns the connection of a request into one for calls.
func (c *calls) serve(w http.ResponseWriter, r *http.Request) {
	box, err := c.mailbox(r)
	switch {
	case err != nil:
		http.Error(w, err.Error(), httpapi.Status(err))
		return
	case !local(r) || r.Header.Get("Upgrade") != wire.CallsProtocol:
		http.Error(w, "use the Unix socket and an upgrade to "+wire.CallsProtocol+"",
			http.StatusUpgradeRequired)
		return
	}
	c.upgrade(w, r, wire.CallsProtocol, func(ctx context.Context, conn line) {
		mcpserver.ServeCalls(ctx, box, conn.in, conn)
	})
}

// line is a connection that no longer speaks HTTP.
type line struct {
	patient
	in *bufio.Reader
}

// Read implements io.Reader.
func (l line) Read(p []byte) (int, error) { return l.in.Read(p) }

// upgrade lets serve speak another protocol over the connection of a request, and closes it afterwards.
func (c *calls) upgrade(w http.ResponseWriter, r *http.Request, protocol string, serve func(context.Context, line)) {
	if !c.enter() {
		http.Error(w, rooms.ErrStopping().Error(), http.StatusServiceUnavailable)
		return
	}
	defer c.open.Done()
	conn, in, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer conn.Close()
	c.daemon.connections.Note(conn, http.StateNew) // the server no longer counts it
	defer c.daemon.connections.Note(conn, http.StateClosed)
	if _, err := io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+
		protocol+"\r\n\r\n"); err != nil {
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer life.OnEnd(r.Context(), func(error) { _ = conn.SetReadDeadline(time.Now()) })()
	defer context.AfterFunc(c.daemon.closing, func() {
		_ = conn.SetReadDeadline(time.Now())
		time.AfterFunc(stopPatience, cancel)
	})()
	serve(ctx, line{patient{conn}, bufio.NewReaderSize(in.Reader, 64<<10)})
}

// relay turns the connection of a request into the line of a machine that has no post office of its own.
func (c *calls) relay(w http.ResponseWriter, r *http.Request) {
	caller, err := c.daemon.gate.AuthenticateAll(r)
	if err == nil && caller.Pass == nil {
		err = mail.Errorf(mail.Denied, "only an invited machine can be rung: pennypost invite")
	}
	switch {
	case err != nil:
		httpapi.Fail(w, err)
		return
	case r.Header.Get("Upgrade") != wire.RelayProtocol:
		http.Error(w, "use an upgrade to "+wire.RelayProtocol+"", http.StatusUpgradeRequired)
		return
	}
	c.upgrade(w, r, wire.RelayProtocol, func(ctx context.Context, conn line) {
		log := c.daemon.log.With("machine", caller.Pass.Machine)
		log.Info("machine connected")
		err := c.daemon.office.Set.Reach.Machines.Serve(ctx, caller.Pass, conn)
		log.Info("machine disconnected", "err", err)
	})
}

// mailbox returns the mailbox of the agent that r is from.
func (c *calls) mailbox(r *http.Request) (mcpserver.Mailbox, error) {
	d := c.daemon
	who, err := d.gate.Authenticate(r)
	if err != nil {
		return mcpserver.Mailbox{}, err
	}
	room := mail.RoomName(r.PathValue("room"))
	if who.Room != "" && who.Room != room {
		return mcpserver.Mailbox{}, mail.Errorf(mail.Denied, "your credential opens room %s only, not %s", who.Room,
			room)
	}
	svc, err := d.office.Room(r.Context(), room, who.Name)
	v, ok := svc.(*caller.Room)
	if err != nil || !ok {
		return mcpserver.Mailbox{}, err
	}
	if err := d.office.StandAs(r.Context(), room, who.Name); err != nil {
		return mcpserver.Mailbox{}, err
	}
	box := mcpserver.Mailbox{Service: svc, Room: room, Agent: who.Name, Version: d.opts.Version, Log: d.log}
	if r.URL.Query().Get("client") == "claude" {
		box.Of = mcpserver.ByToolUse(mcpserver.Caller{Service: svc, Room: room, Agent: who.Name},
			func(_ context.Context, use string) (mail.Service, error) {
				return d.office.RoomOf(room, v.ID.ForToolUse(use)), nil
			})
	}
	return box, nil
}

// patient is a connection that waits for its reader, up to a limit.
type patient struct{ net.Conn }

// Write implements io.Writer. A partial write ends the connection: the next line would be taken for the rest of it.
func (p patient) Write(b []byte) (int, error) {
	_ = p.SetWriteDeadline(time.Now().Add(stopPatience))
	n, err := p.Conn.Write(b)
	if err != nil {
		p.Conn.Close()
	}
	return n, err
}
