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
	// Away is the switch by which the person has agents ask here and not in their terminals. Nil: there is none.
	Away page.Away
	// Kept lists the mail that this machine keeps until its rooms can be reached. Nil: there is none.
	Kept func(which func(*mail.Kept) bool) mail.Outbox
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
	core     page.Site
	opts     Options
	mux      *http.ServeMux
	parts    []page.Part
	links    session.Links
	sessions *session.Store

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

// pages are those that are about no mail.
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

// Close carries out at once what could still have been undone.
func (s *Site) Close() { s.core.Undo.Finish() }

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
		r = r.WithContext(page.WithRoom(r.Context(), mail.RoomName(name)))
		r.URL = &u
	}
	ctx, end := life.Begin(r.Context())
	defer end()
	s.mux.ServeHTTP(w, r.WithContext(ctx))
}

// page serves h to whoever has logged in.
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

// door serves h to anybody.
func (s *Site) door(h page.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := page.NewView(&s.core, w, r)
		v.Plain, v.LoggedIn = s.at(r).Plain, s.loggedIn(r)
		if err := h(v); err != nil {
			v.Fail(err)
		}
	})
}
