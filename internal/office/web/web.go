package web

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"pennypost/internal/base/life"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect/openalice"
	"pennypost/internal/office/web/asset"
	"pennypost/internal/office/web/session"
	"pennypost/internal/office/web/undo"
	"pennypost/internal/wire"
)

// Options say what a Site shows.
type Options struct {
	Office mail.Office // rooms; they are always entered as the user
	// Enter returns the context in which a browser that is logged in enters rooms, unless it may not. Nil: the one of
	// its request.
	Enter func(context.Context) (context.Context, error)
	Key   []byte // what sessions hang on: with another key, all that were begun are void
	// the pages' own name; elsewhere only sessions hold that a plain link began. "": there is none
	Host string
	File string // where sessions are kept; "": in memory
	// Attach brings the session of an agent before the person. Nil: nobody can from here.
	Attach func(context.Context, mail.RoomName, mail.Name) (wire.Attached, error)
	// Documents reads what messages name. Nil: the files of this machine.
	Documents *openalice.Documents
	// Machine returns the life of a token of another machine, by the id of its pass; nil if it has ended. Nil: there
	// is no other machine.
	Machine func(name mail.Machine, id string) *life.Life
	Closing context.Context // ends streams; nil: they end with their requests
	Log     *slog.Logger
	Version string
}

// Site serves the pages. It is an http.Handler; Close it when it serves no more.
type Site struct {
	opts     Options
	mux      *http.ServeMux
	assets   asset.Set
	links    session.Links
	sessions *session.Store
	undo     undo.List
	stuck    tallies

	workspaces workspaces

	streams atomic.Int32 // that are open
}

// New returns a Site.
func New(opts Options) *Site {
	if opts.Closing == nil {
		opts.Closing = context.Background()
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	s := &Site{opts: opts, mux: http.NewServeMux(), assets: asset.New()}
	var err error
	if s.sessions, err = session.Open(opts.File, opts.Key, opts.Machine); err != nil {
		opts.Log.Error("sessions", "err", err)
	}
	for path, a := range s.assets {
		s.mux.Handle("GET "+path, a)
	}
	s.mux.HandleFunc("GET /favicon.svg", asset.Favicon)
	s.mux.HandleFunc("GET /manifest.webmanifest", s.manifest)
	s.mux.Handle("GET /login", s.door(s.offer))
	s.mux.Handle("POST /login", s.door(s.enter))
	s.mux.Handle("POST /logout", s.door(s.logout))
	for pattern, h := range s.routes() {
		s.mux.Handle(pattern, s.page(h))
	}
	s.mux.Handle("/", s.page(nowhere))
	return s
}

// routes are the places, and what can be done there. A room's name has been taken off the path.
func (s *Site) routes() map[string]handler {
	return map[string]handler{
		"GET /{$}":                inbox,
		"GET /agents":             agents,
		"GET /agents/{name}":      inRoom(agentMail),
		"GET /channels":           channels,
		"GET /channels/{address}": inRoom(channels),
		"GET /history":            history,
		"GET /history/export":     inRoom(exportHistory),
		"GET /t/{id...}":          inRoom(thread),
		"POST /t/{id...}":         inRoom(threadRead),
		"GET /flow":               flow,
		"GET /stuck":              stuck,
		"GET /palette":            palette,

		"GET /events":  inRoom(s.events),
		"GET /changes": changes,

		"GET /sessions":  listSessions,
		"POST /sessions": endSession,

		"GET /letter":  inRoom(showLetter),
		"GET /doc":     inRoom(serveDocument),
		"POST /opened": inRoom(opened),
		"POST /mark":   inRoom(s.mark),
		"POST /delete": inRoom(s.remove),
		"POST /undo":   inRoom(s.takeBack),
		"POST /answer": inRoom(s.answer),
		"POST /attach": inRoom(attach),

		"POST /send":    inRoom(sendMail),
		"GET /compose":  inRoom(compose),
		"POST /compose": inRoom(sendComposed),
		"POST /preview": inRoom(preview),

		"POST /stuck/again":   inRoom(sendOn),
		"POST /stuck/tell":    inRoom(tellSenders),
		"POST /stuck/role":    inRoom(giveRole),
		"POST /stuck/thaw":    inRoom(thaw),
		"POST /stuck/dismiss": inRoom(dismiss),
		"POST /stuck/sync":    inRoom(syncBridge),
		"POST /stuck/verify":  inRoom(verifyRoom),

		"POST /stuck/remind":   inRoom(remind),
		"POST /stuck/withdraw": inRoom(withdraw),
	}
}

// Close carries out at once what could still have been undone.
func (s *Site) Close() { s.undo.Finish() }

// handler answers one request, as a rule of the user and about one room. An error becomes a page that tells of it.
type handler func(v *view) error

// inRoom is a handler for which there must be a room.
func inRoom(h handler) handler {
	return func(v *view) error {
		if v.svc == nil {
			return mail.Errorf(mail.NotFound,
				"there is no room yet; any agent or command makes the first: pennypost send --to user --body Hello")
		}
		return h(v)
	}
}

type roomKey struct{}

// ServeHTTP takes the room off the path: /@shop/agents is /agents of the room shop.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Referrer-Policy", "same-origin")
	w.Header().Set("Cross-Origin-Opener-Policy", "same-origin")
	w.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
	if rest, ok := strings.CutPrefix(r.URL.EscapedPath(), "/@"); ok {
		room, path, slash := strings.Cut(rest, "/")
		if !slash {
			http.Redirect(w, r, "/@"+room+"/", http.StatusMovedPermanently)
			return
		}
		// The path stays escaped: a name may have a slash, which ends no segment.
		u := *r.URL
		u.RawPath = "/" + path
		name, err := url.PathUnescape(room)
		if err == nil {
			u.Path, err = url.PathUnescape(u.RawPath)
		}
		if err != nil {
			http.Error(w, "the address is not well-formed", http.StatusBadRequest)
			return
		}
		r = r.WithContext(context.WithValue(r.Context(), roomKey{}, mail.RoomName(name)))
		r.URL = &u
	}
	ctx, end := life.Begin(r.Context())
	defer end()
	s.mux.ServeHTTP(w, r.WithContext(ctx))
}

// page serves h to whoever has logged in.
func (s *Site) page(h handler) http.Handler {
	return s.door(func(v *view) error {
		if v.session == "" {
			return v.stranger("")
		}
		if s.opts.Enter != nil {
			ctx, err := s.opts.Enter(v.ctx())
			if err != nil {
				return err
			}
			v.r = v.r.WithContext(ctx)
		}
		if err := v.enter(); err != nil {
			return err
		}
		if v.r.Method == http.MethodPost {
			if err := v.form(); err != nil {
				return err
			}
		}
		return h(v)
	})
}

// door serves h to anybody.
func (s *Site) door(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := &view{site: s, w: w, r: r, Now: time.Now(), Nonce: newNonce(), Plain: s.at(r).Plain,
			session: s.loggedIn(r)}
		v.header()
		if err := h(v); err != nil {
			v.fail(err)
		}
	})
}

func nowhere(v *view) error {
	return mail.Errorf(mail.NotFound, "there is no page %s here", v.r.URL.Path)
}
