package a2a

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"sync"

	proto "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	a2alog "github.com/a2aproject/a2a-go/v2/log"

	"pennypost/internal/config"
	"pennypost/internal/mail"
)

// Limits for one guest at a time, and for one request.
const (
	maxWaiting = 32      // streams, and sends that wait for their task
	maxRequest = 1 << 20 // bytes
)

// Guest is an admitted guest.
type Guest struct {
	Name    mail.Name
	Room    mail.RoomName
	Token   string       // its hash
	Service mail.Service // the room as the guest sees it
}

// Options are the post office's parts that the door needs. All must be set.
type Options struct {
	// Enter returns the sender of a request. The request's context ends with the guest's right.
	Enter func(*http.Request) (Guest, error)
	// Stand returns the guest whose token for a room has this hash, and makes ctx end with the guest's right.
	Stand   func(ctx context.Context, room mail.RoomName, token string) (Guest, error)
	Config  func(mail.RoomName) config.A2A
	File    string          // push configurations
	Version string          // of the post office
	Closing context.Context // done when the post office stops
	Log     *slog.Logger
}

// Door serves A2A. It is safe for concurrent use.
type Door struct {
	Options
	pushes pushes

	mu      sync.Mutex
	waiting map[string]int // by the hash of the token
}

// New returns a door. Its Run pushes news.
func New(o Options) (*Door, error) {
	d := &Door{Options: o, waiting: make(map[string]int)}
	return d, d.pushes.load(o.File)
}

// Mount adds the door's addresses to mux.
func (d *Door) Mount(mux *http.ServeMux) {
	for _, at := range []string{"/a2a/{room}", "/a2a/{room}/agents/{agent}"} {
		mux.Handle("GET "+at+a2asrv.WellKnownAgentCardPath, d.open((*session).serveCard))
		mux.Handle("POST "+at, d.open((*session).serve))
	}
	mux.HandleFunc("/a2a/", func(w http.ResponseWriter, _ *http.Request) { refuse(w, errNowhere) })
}

// session is one request of a guest, or a push to it.
type session struct {
	Guest
	door   *Door
	config config.A2A
	to     mail.Name   // the agent in its address; "": the room
	names  []mail.Name // of the guest, which may have been renamed
	shown  []mail.ID   // mail for the guest in the answer
}

var errNowhere = mail.Errorf(mail.NotFound, "no A2A agent at this address")

// open admits a guest to an existing address.
func (d *Door) open(serve func(*session, http.ResponseWriter, *http.Request)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		room := mail.RoomName(r.PathValue("room"))
		s := &session{door: d, config: d.Config(room), to: mail.Name(r.PathValue("agent"))}
		if !s.config.Enabled || s.to != "" && !slices.Contains(s.config.Publish, s.to) {
			refuse(w, errNowhere)
			return
		}
		var err error
		if s.Guest, err = d.Enter(r); err == nil && s.Room != room {
			err = mail.Errorf(mail.Denied, "this token opens room %s only", s.Room)
		}
		if err == nil {
			err = s.begin(r.Context())
		}
		if err != nil {
			refuse(w, err)
			return
		}
		ctx, cancel := context.WithCancel(a2alog.AttachLogger(r.Context(), d.Log))
		defer cancel()
		defer context.AfterFunc(d.Closing, cancel)()
		serve(s, w, r.WithContext(ctx))
		s.handedOver(ctx)
	})
}

// begin looks up the guest's names.
func (s *session) begin(ctx context.Context) error {
	me, _, err := mail.OneAgent(ctx, s.Service, s.Name)
	s.names = append(me.Aliases, s.Name)
	return err
}

// serve answers a call of the protocol.
func (s *session) serve(w http.ResponseWriter, r *http.Request) {
	if v := r.Header.Get(proto.SvcParamVersion); v != "" && v != string(proto.Version) {
		answer(w, http.StatusOK, proto.ErrVersionNotSupported, "A2A "+v+" is not supported; use "+
			string(proto.Version))
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxRequest)
	a2asrv.NewJSONRPCHandler(s, a2asrv.WithTransportKeepAlive(keepAlive),
		a2asrv.WithTransportPanicHandler(s.panicked)).ServeHTTP(w, r)
}

func (s *session) panicked(v any) error {
	s.door.Log.Error("A2A call panicked", "room", s.Room, "guest", s.Name, "panic", v)
	return proto.ErrInternalError
}

// wait counts another waiter for the guest. The waiter calls leave when done.
func (s *session) wait() (leave func(), err error) {
	d := s.door
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.waiting[s.Token] >= maxWaiting {
		return nil, proto.NewError(proto.ErrServerError, "too many open streams and waits for this guest")
	}
	d.waiting[s.Token]++
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.waiting[s.Token]--; d.waiting[s.Token] == 0 {
			delete(d.waiting, s.Token)
		}
	}, nil
}

// handedOver marks as read the mail in answers to the guest.
func (s *session) handedOver(ctx context.Context) {
	if len(s.shown) == 0 {
		return
	}
	read := mail.Marking{IDs: s.shown, Mark: mail.MarkRead}
	if _, err := s.Service.Mark(context.WithoutCancel(ctx), read); err != nil {
		s.door.Log.Warn("A2A: not marked as read", "room", s.Room, "guest", s.Name, "err", err)
	}
	s.shown = nil
}

// statuses are the HTTP statuses for requests that do not reach the protocol.
var statuses = map[error]int{proto.ErrUnauthenticated: http.StatusUnauthorized,
	proto.ErrUnauthorized: http.StatusForbidden, proto.ErrTaskNotFound: http.StatusNotFound}

// refuse answers a request that was not admitted.
func refuse(w http.ResponseWriter, err error) {
	if mail.CodeOf(err) == mail.Unknown {
		w.Header().Set("WWW-Authenticate", `Bearer realm="pennypost"`)
	}
	e := inProtocol(err)
	status := statuses[e.Err]
	if status == 0 {
		status = http.StatusInternalServerError
	}
	if err == errNowhere {
		e.Err = proto.ErrInvalidRequest
	}
	answer(w, status, e.Err, e.Message)
}

// codes are the JSON-RPC codes for errors that the library does not answer.
var codes = map[error]int{proto.ErrUnauthenticated: -31401, proto.ErrUnauthorized: -31403,
	proto.ErrVersionNotSupported: -32009, proto.ErrInvalidRequest: -32600}

// answer writes an error that belongs to no particular request.
func answer(w http.ResponseWriter, status int, kind error, why string) {
	code, known := codes[kind]
	if !known {
		code = -32603
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": nil,
		"error": map[string]any{"code": code, "message": why}})
}

// kinds map our errors to the protocol's. All others are internal, without detail.
var kinds = map[mail.Code]error{mail.Invalid: proto.ErrInvalidParams, mail.TooLarge: proto.ErrInvalidParams,
	mail.Conflict: proto.ErrInvalidParams, mail.NotFound: proto.ErrTaskNotFound, mail.Denied: proto.ErrUnauthorized,
	mail.Unknown: proto.ErrUnauthenticated, mail.Limited: proto.ErrServerError}

// inProtocol returns an error in the protocol's form.
func inProtocol(err error) *proto.Error {
	if kind, ok := kinds[mail.CodeOf(err)]; ok {
		return proto.NewError(kind, err.Error())
	}
	return proto.NewError(proto.ErrInternalError, "the post office is unavailable; try again later")
}
