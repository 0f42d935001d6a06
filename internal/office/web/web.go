package web

import (
	"context"
	"embed"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"pennypost/internal/base/life"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect/openalice"
	"pennypost/internal/office/web/asset"
	"pennypost/internal/office/web/flow"
	"pennypost/internal/office/web/inbox"
	"pennypost/internal/office/web/page"
	"pennypost/internal/office/web/room"
	"pennypost/internal/office/web/session"
	"pennypost/internal/wire"
)

// Options configure a Site.
type Options struct {
	Office mail.Office // rooms, always entered as the user
	// Enter returns the context in which a logged-in browser enters rooms, or an error if it must not. Nil: the
	// request's context.
	Enter func(context.Context) (context.Context, error)
	Key   []byte // signs sessions: another key voids them all
	// the pages' own name; elsewhere only sessions begun with a plain link hold. "": none
	Host string
	File string // stores sessions; "": in memory
	// Attach brings an agent's session to the front. Nil: not available.
	Attach func(context.Context, mail.RoomName, mail.Name) (wire.Attached, error)
	// Away is the switch that sends agents' questions here instead of to their terminals. Nil: none.
	Away page.Away
	// Kept lists the mail in this machine's outbox. Nil: none.
	Kept func(which func(*mail.Kept) bool) mail.Outbox
	// Documents reads the documents named in messages. Nil: files of this machine.
	Documents *openalice.Documents
	// Machine returns the life of another machine's token by the id of its pass; nil if it has ended. Nil: there are
	// no other machines.
	Machine func(name mail.Machine, id string) *life.Life
	Closing context.Context // ends streams; nil: they end with their requests
	Log     *slog.Logger
	Version string
}

// Site is an http.Handler that serves the pages. Close it after its last request.
type Site struct {
	core     page.Site
	opts     Options
	mux      *http.ServeMux
	parts    []page.Part
	links    session.Links
	sessions *session.Store

	streams atomic.Int32 // open streams
}

// New returns a Site.
func New(opts Options) *Site {
	if opts.Closing == nil {
		opts.Closing = context.Background()
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	roomPages, stuck := room.Pages()
	s := &Site{opts: opts, mux: http.NewServeMux(), core: page.Site{Office: opts.Office, Log: opts.Log,
		Version: opts.Version, Attach: opts.Attach, Away: opts.Away, Kept: opts.Kept,
		Documents: opts.Documents, Assets: asset.New(), Stuck: stuck}}
	var err error
	if s.sessions, err = session.Open(opts.File, opts.Key, opts.Machine); err != nil {
		opts.Log.Error("sessions", "err", err)
	}
	for path, a := range s.core.Assets {
		s.mux.Handle("GET "+path, a)
	}
	s.mux.HandleFunc("GET /favicon.svg", asset.Favicon)
	s.mux.HandleFunc("GET /worker.js", asset.Worker)
	s.mux.HandleFunc("GET /manifest.webmanifest", s.manifest)
	s.mux.Handle("GET /login", s.door(s.offer))
	s.mux.Handle("POST /login", s.door(s.enter))
	s.mux.Handle("POST /logout", s.door(s.logout))
	var files []fs.FS
	s.parts = []page.Part{s.pages(), inbox.Pages(), roomPages, flow.Pages()}
	for _, part := range s.parts {
		files = append(files, part.Templates)
		for pattern, h := range part.Routes {
			s.mux.Handle(pattern, s.page(h))
		}
	}
	s.core.Templates = page.NewTemplates(files...)
	s.mux.Handle("/", s.page(page.Nowhere))
	return s
}

//go:embed templates
var templates embed.FS

// pages are the pages without mail.
func (s *Site) pages() page.Part {
	return page.Part{Templates: templates, Routes: map[string]page.Handler{
		"GET /palette":   palette,
		"GET /events":    page.InRoom(s.events),
		"GET /changes":   changes,
		"GET /rail":      page.Rail,
		"GET /sessions":  s.listSessions,
		"POST /sessions": s.endSession,
	}}
}

// Close immediately carries out the actions that could still be undone.
func (s *Site) Close() { s.core.Undo.Finish() }

// ServeHTTP removes the room from the path: /@shop/agents is /agents of the room shop.
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
		// Keep the path escaped: an escaped slash in a name does not end a segment.
		u := *r.URL
		u.RawPath = "/" + path
		name, err := url.PathUnescape(room)
		if err == nil {
			u.Path, err = url.PathUnescape(u.RawPath)
		}
		if err != nil {
			http.Error(w, "malformed address", http.StatusBadRequest)
			return
		}
		r = r.WithContext(page.WithRoom(r.Context(), mail.RoomName(name)))
		r.URL = &u
	}
	ctx, end := life.Begin(r.Context())
	defer end()
	s.mux.ServeHTTP(w, r.WithContext(ctx))
}

// page serves h to logged-in browsers.
func (s *Site) page(h page.Handler) http.Handler {
	return s.door(func(v *page.View) error {
		if v.LoggedIn == "" {
			return askLogin(v, "")
		}
		if s.opts.Enter != nil {
			ctx, err := s.opts.Enter(v.Ctx())
			if err != nil {
				return err
			}
			v.R = v.R.WithContext(ctx)
		}
		if err := v.Enter(); err != nil {
			return err
		}
		if v.R.Method == http.MethodPost {
			if err := v.Form(); err != nil {
				return err
			}
		}
		return h(v)
	})
}

// door serves h without a login.
func (s *Site) door(h page.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := page.NewView(&s.core, w, r)
		v.Plain, v.LoggedIn = s.at(r).Plain, s.loggedIn(r)
		if err := h(v); err != nil {
			v.Fail(err)
		}
	})
}
