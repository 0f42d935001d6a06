package httpapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"path"
	"runtime/debug"
	"strings"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// Defaults of Options.
const (
	defaultMaxRequest = 1 << 20
	// A draft may be six times as long in JSON as in memory, and the largest allowed one still fits into
	// defaultMaxRequest. An import is read whole before any of it is stored, so this also bounds its memory.
	defaultMaxImport = 64 << 20
	// Proxies commonly cut a response after 60 s of silence: this leaves four signs of life.
	defaultKeepAlive = 15 * time.Second
	// Long enough for a slow link to take one chunk.
	defaultWriteTimeout = 30 * time.Second
)

// Options configure the handler. Office and Authenticate must be set; other zero values mean the defaults.
type Options struct {
	Office mail.Office

	// Authenticate identifies the sender of a request by its connection and its credential. The handler trusts the
	// answer. An error of code Unknown is answered with 401.
	Authenticate func(*http.Request) (mail.Caller, error)

	// Local reports whether a request comes from a process of this user on this machine. Nil: none does.
	Local func(*http.Request) bool

	// Listen makes the caller wait at a door until it is rung. It passes the answer to hand, once, and nil after
	// every silence. Nil: callers cannot wait here.
	Listen func(ctx context.Context, room mail.RoomName, caller mail.Name, at mail.Listener, silence time.Duration,
		hand func(*mail.Rung) error) error

	// Attach shows the session of an agent to the person. Nil: not possible from here.
	Attach func(ctx context.Context, room mail.RoomName, agent mail.Name, from wire.Attach) (wire.Attached, error)

	// Hooks answer agents' clients. Nil: no hooks are answered.
	Hooks Hooks

	// Place says in which room a client's session is, and as which agent. Nil: the client's own claim holds.
	Place func(context.Context, *wire.Place) (wire.Placed, error)

	// Outbox is the mail that is kept on this machine. Nil: none is.
	Outbox Outbox

	// Status returns the status of the post office. Nil: the zero Status.
	Status func(context.Context) (wire.Status, error)

	// Stop begins to stop the post office and returns. Nil: it cannot be stopped from here.
	Stop func()

	// Remove takes a room out of the post office and keeps its files elsewhere. Nil: rooms cannot be removed from
	// here.
	Remove func(context.Context, mail.RoomName) (wire.RemovedRoom, error)

	// Machines are the machines that have rooms on the same NATS servers. Nil: there are no servers.
	Machines Machines

	// Move moves a room to the NATS servers or to a file, and returns when it is there. Nil: rooms cannot be moved
	// from here.
	Move func(context.Context, mail.RoomName, wire.MoveRoom) (wire.MovedRoom, error)

	// Try writes a test message to each kind of journal that is in use, and reads it back. Nil: there is no journal
	// here.
	Try func(context.Context) (wire.Trials, error)
	// Shards are the streams that rooms on NATS servers share. Nil: there are no servers.
	Shards Shards
	// Restore makes the stream of a room on NATS servers again from a machine's copy. Nil: not possible from here.
	Restore func(context.Context, mail.RoomName, wire.RestoreRoom) (wire.RestoredRoom, error)

	// Backup writes the whole post office as one file, which is valid only if the error is nil, and returns the
	// rooms that could not be opened, whose files are in it as they were. Nil: no backup can be made from here.
	Backup func(context.Context, io.Writer) ([]mail.RoomName, error)

	// Invites lets other machines in. Nil: none gets in.
	Invites Invites

	// Credentials are those for scripts. Nil: there are none.
	Credentials Credentials

	// Confirmations confirm acts of weight. Nil: they need no confirmation.
	Confirmations Confirmations

	// Away knows the terminals that the person is away from. Nil: no dialogs are held.
	Away Away

	// GitHub turns GitHub's events into mail. Nil: there are none.
	GitHub GitHub
	// Notify tells the person of mail. Nil: the person is not told.
	Notify Notify

	// Pages are the pages that links open. Nil: there are none.
	Pages Pages

	// Closing is done when the post office begins to stop: waits and event streams then end, and other requests are
	// finished. Nil: never.
	Closing context.Context

	Log          *slog.Logger  // default: discard
	MaxRequest   int64         // bytes of a request's body; default 1 MiB
	MaxImport    int64         // bytes of an import's body; default 64 MiB
	KeepAlive    time.Duration // silence after which a waiting response gets a sign of life; default 15 s
	WriteTimeout time.Duration // a client that reads nothing for that long is cut off; default 30 s
}

// Away knows the terminals that the person is away from, so that their dialogs wait for an answer from elsewhere.
type Away interface {
	Away(context.Context) (wire.Aways, error)
	SetAway(context.Context, wire.Away) (wire.Aways, error)
}

// Machines are the machines whose post offices have rooms on the same NATS servers.
type Machines interface {
	// List returns them by name, this one among them.
	List() []mail.MachineStatus
	// Health describes the state of the servers.
	Health() mail.ServersHealth
	// AdmitMachine admits a machine to the rooms, by its key.
	AdmitMachine(ctx context.Context, name mail.Machine, key string) error
	// RemoveMachine forgets a machine that will not come back.
	RemoveMachine(ctx context.Context, name mail.Machine) error
}

// Shards are the streams that rooms on NATS servers share.
type Shards interface {
	// Shards lists them.
	Shards(context.Context) (wire.Shards, error)
	// MakeShards makes shards until there are the number asked for, and lists them. If there are more, the error has
	// code Conflict.
	MakeShards(context.Context, wire.MakeShards) (wire.Shards, error)
}

// Pages are the pages of the post office, and the browsers that are logged in to them.
type Pages interface {
	// Link makes an address that logs one browser in as the user, within ten minutes.
	Link(wire.Login) (string, error)
	// Sessions lists the browsers that are logged in, the last used first.
	Sessions() []wire.Session
	// EndSession logs one out, or all if id is "". An unknown id is an error of code NotFound.
	EndSession(id string) error
}

func (o Options) withDefaults() Options {
	if o.Listen == nil {
		o.Listen = func(context.Context, mail.RoomName, mail.Name, mail.Listener, time.Duration,
			func(*mail.Rung) error) error {
			return mail.Errorf(mail.Unavailable, "this post office cannot ring agents; wait for mail instead")
		}
	}
	if o.Status == nil {
		o.Status = func(context.Context) (wire.Status, error) { return wire.Status{}, nil }
	}
	if o.Closing == nil {
		o.Closing = context.Background()
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.MaxRequest = cmp.Or(o.MaxRequest, defaultMaxRequest)
	o.MaxImport = cmp.Or(o.MaxImport, defaultMaxImport)
	o.KeepAlive = cmp.Or(o.KeepAlive, defaultKeepAlive)
	o.WriteTimeout = cmp.Or(o.WriteTimeout, defaultWriteTimeout)
	return o
}

// api serves the routes.
type api struct {
	opts   Options
	mux    *http.ServeMux
	routes []route
	header http.Header // of every answer
}

// New returns the handler of every path under /api/v1. It owns no goroutine and needs no closing.
func New(opts Options) http.Handler {
	opts = opts.withDefaults()
	a := &api{opts: opts, mux: http.NewServeMux(), routes: routes(&opts),
		header: http.Header{"X-Content-Type-Options": {"nosniff"}, "Cache-Control": {"no-store"}}}
	for i := range a.routes {
		rt := &a.routes[i]
		a.mux.HandleFunc(rt.Method+" "+wire.Base+rt.Path, func(w http.ResponseWriter, r *http.Request) {
			a.serve(w.(*recorder), r, rt)
		})
	}
	return a
}

// ServeHTTP implements http.Handler.
func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rec := &recorder{ResponseWriter: w}
	maps.Copy(rec.Header(), a.header)
	defer a.rescue(rec, r)
	if err := checkPath(r); err != nil {
		a.fail(rec, r, err)
		return
	}
	rec.unrouted = true
	a.mux.ServeHTTP(rec, r)
	if rec.unrouted {
		rec.unrouted = false
		a.fail(rec, r, unrouted(rec, r))
	}
}

// checkPath refuses a path that a mux would redirect: a client that follows the redirect would send its letter to
// another room.
func checkPath(r *http.Request) error {
	p := r.URL.EscapedPath()
	if path.Clean(p) == strings.TrimSuffix(p, "/") {
		return nil
	}
	return mail.Errorf(mail.Invalid,
		"the path %s has an empty segment, '.' or '..'; in a name, write %%2E for '.' and %%2F for '/'", p)
}

// unrouted says why no route fits r, given the header that the mux would have answered with.
func unrouted(w http.ResponseWriter, r *http.Request) error {
	if allow := w.Header().Get("Allow"); allow != "" {
		return &statusError{http.StatusMethodNotAllowed, mail.Errorf(mail.Invalid, "%s is not allowed here; use %s",
			r.Method, allow)}
	}
	return mail.Errorf(mail.NotFound, "no route %s; GET %s/openapi.json lists the routes", r.URL.Path, wire.Base)
}

// serve runs one route.
func (a *api) serve(w *recorder, r *http.Request, rt *route) {
	began := time.Now()
	w.unrouted = false
	c := &call{api: a, route: rt, w: w, r: r}
	answer, err := c.run()
	if err == nil && w.status == 0 {
		err = c.write(answer)
	}
	if why, ok := errors.AsType[*mail.Error](context.Cause(r.Context())); ok && err != nil {
		err = why // the credential is void, whatever error the call made of that
	}
	switch {
	case err != nil && w.status != 0:
		a.note(r, err, "")
		panic(http.ErrAbortHandler) // the answer has begun: only a broken connection shows that it is incomplete
	case err != nil:
		a.fail(w, r, err)
	}
	if a.opts.Log.Enabled(r.Context(), slog.LevelDebug) {
		a.opts.Log.Debug("http", "op", rt.ID, "caller", c.caller.Name, "room", c.roomName, "status", w.status, "took",
			time.Since(began))
	}
}

// rescue answers after a handler panicked.
func (a *api) rescue(w *recorder, r *http.Request) {
	v := recover()
	if v == nil {
		return
	}
	if v == http.ErrAbortHandler {
		panic(v)
	}
	err := &mail.Error{
		Code: mail.Internal,
		Msg: "internal error; the post office continues. The request may have been carried out: check before you " +
			"repeat it",
		Err: fmt.Errorf("panic: %v\n%s", v, debug.Stack()),
	}
	if w.status != 0 {
		a.note(r, err, "")
		panic(http.ErrAbortHandler)
	}
	a.fail(w, r, err)
}

// streaming returns the context of a response that may take long: it ends with the request, and when the post office
// begins to stop.
func (a *api) streaming(r *http.Request) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(r.Context())
	stop := context.AfterFunc(a.opts.Closing, func() { cancel(errClosing) })
	return ctx, func() { stop(); cancel(nil) }
}

var errClosing = errors.New("the post office is stopping")

// recorder knows whether an answer has begun.
type recorder struct {
	http.ResponseWriter
	status   int  // 0: not begun
	unrouted bool // no route has matched yet: the mux's own answer is not sent
}

func (w *recorder) WriteHeader(status int) {
	if w.unrouted {
		return
	}
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *recorder) Write(p []byte) (int, error) {
	if w.unrouted {
		return len(p), nil
	}
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap serves http.ResponseController.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }
