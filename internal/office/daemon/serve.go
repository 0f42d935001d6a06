package daemon

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"pennypost/internal/base/life"
	"pennypost/internal/mail"
	"pennypost/internal/office/caller"
	"pennypost/internal/office/gate"
	"pennypost/internal/office/httpapi"
	"pennypost/internal/office/listen"
	"pennypost/internal/office/web"
	"pennypost/internal/wire"
)

// Bounds of one connection.
const (
	headerTimeout = 10 * time.Second // for the header of a request: a slow client only holds a connection
	idleTimeout   = 3 * time.Minute  // for a connection between requests; agents send one every 30 s
	maxHeader     = 64 << 10         // bytes
)

// server returns the HTTP server of all listeners. It has no write timeout: waits and streams continue for hours,
// and their handlers set their own deadlines.
func (d *daemon) server(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(d.log.Handler(), slog.LevelDebug), // strangers' failures are not news
		ConnState:         d.connections.Note,
		ConnContext:       d.gate.ConnContext,
	}
}

// handler joins the edges. closeHandler ends the work that they still do.
func (d *daemon) handler() (h http.Handler, closeHandler func(), err error) {
	mux := http.NewServeMux()
	site := web.New(web.Options{
		Office: d.office, Enter: d.gate.Browser, Key: d.gate.Key(), Host: d.pages.host,
		File: d.opts.Config.Home.Sessions(), Machine: d.guests.Life, Closing: d.closing, Log: d.log,
		Version: d.opts.Version, Documents: d.office.Documents(), Away: d.office,
		Kept: d.office.Kept.List,
		Attach: func(ctx context.Context, room mail.RoomName, agent mail.Name) (wire.Attached, error) {
			return d.office.Attach(ctx, room, agent, wire.Attach{})
		},
	})
	d.pages.site = site
	mux.Handle("/", site)
	api := httpapi.Options{
		Office: d.office, Authenticate: d.gate.AuthenticateAll, Local: local, Listen: d.office.Listen,
		Hooks: &caller.Hooks{Rooms: d.office}, Away: d.office, Place: d.office.Place, Attach: d.office.Attach,
		Notify: d.office.Set.Notify, Status: d.status, Stop: d.stop, Remove: d.office.RemoveRoom, Backup: d.backup,
		Closing: d.closing, Log: d.log, Pages: &d.pages, Invites: d.guests,
	}
	api.Confirmations, api.Outbox = d.office.Confirm, d.office.Kept
	if d.office.Far == nil {
		api.Credentials, api.Try, api.GitHub = d.scripts, d.office.Set.Try, d.github
	}
	if c := d.office.Set.Cluster; c != nil {
		api.Machines, api.Move, api.Restore, api.Shards = c, d.office.Set.Move, d.office.Set.Restore, d.office.Set
	}
	routes := httpapi.New(api)
	mux.Handle("GET "+wire.CallsPath+"{room}", d.versioned(http.HandlerFunc(d.calls.serve)))
	mux.HandleFunc("GET "+wire.RelayPath, d.calls.relay)
	mux.HandleFunc("GET /healthz", d.healthy)
	mux.HandleFunc("GET /readyz", d.ready)
	mux.Handle("GET /metrics", d.gate.UserOnly(d.metrics))
	if d.a2a != nil {
		d.a2a.Mount(mux)
	}
	closeMCP, err := d.mountMCP(mux)
	if err != nil {
		return nil, nil, err
	}
	closeHandler = func() { closeMCP(); d.calls.close() }
	apart := d.pages.apart(d.counted(d.versioned(routes)), mux)
	guarded, err := httpapi.Guard(d.gate.Admit(apart), httpapi.GuardOptions{Hosts: d.hosts()})
	return httpapi.Pace(life.Handler(guarded)), closeHandler, err
}

// hosts returns the names under which the post office may be reached, other than localhost.
func (d *daemon) hosts() []string {
	names := []string{d.pages.host}
	if d.place.HTTPS != "" {
		names = append(names, listen.HostNames(&d.opts.Config)...)
	}
	return names
}

// versioned puts the post office's version into the answers of a handler.
func (d *daemon) versioned(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(wire.VersionHeader, d.opts.Version)
		next.ServeHTTP(w, r)
	})
}

// counted counts the calls that an update must not interrupt: those that change a room, and backups.
func (d *daemon) counted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		writes := r.Method != http.MethodGet && strings.HasPrefix(r.URL.Path, wire.Base+"/rooms/")
		if writes || r.URL.Path == wire.Base+wire.BackupRoute.Path {
			d.busy.Add(1)
			defer d.busy.Add(-1)
		}
		next.ServeHTTP(w, r)
	})
}

// local reports whether a request came over the Unix socket.
func local(r *http.Request) bool {
	return gate.PeerOf(r.Context()) != nil
}

// healthy answers that the process is alive.
func (d *daemon) healthy(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "ok") }

// ready answers whether the post office takes work.
func (d *daemon) ready(w http.ResponseWriter, _ *http.Request) {
	if d.closing.Err() != nil {
		say(w, http.StatusServiceUnavailable, "stopping")
		return
	}
	say(w, http.StatusOK, "ready")
}

func say(w http.ResponseWriter, status int, word string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, word+"\n")
}
