package web

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"pennypost/internal/mail"
)

// Options say what a Site shows.
type Options struct {
	Office  mail.Office     // rooms; they are always entered as the user
	Key     []byte          // the secret that sessions are signed with
	Closing context.Context // ends streams; nil: they end with their requests
	Log     *slog.Logger
	Version string
}

// Site serves the pages. It is an http.Handler; Close it when it serves no more.
type Site struct {
	opts   Options
	mux    *http.ServeMux
	assets map[string]*asset
	logins logins
	undo   undo
	stuck  tallies
}

// New returns a Site.
func New(opts Options) *Site {
	if opts.Closing == nil {
		opts.Closing = context.Background()
	}
	s := &Site{opts: opts, mux: http.NewServeMux(), assets: newAssets()}
	for path, a := range s.assets {
		s.mux.Handle("GET "+path, a)
	}
	s.mux.HandleFunc("GET /favicon.svg", favicon)
	s.mux.HandleFunc("GET /login", s.login)
	s.mux.HandleFunc("POST /logout", s.logout)
	for pattern, h := range s.routes() {
		s.mux.Handle(pattern, s.page(h))
	}
	s.mux.Handle("/", s.page(nowhere))
	return s
}

// routes are the places, and what can be done there. A room's name has been taken off the path.
func (s *Site) routes() map[string]handler {
	return map[string]handler{
		"GET /{$}":            inbox,
		"GET /history":        history,
		"GET /history/export": exportHistory,
		"GET /t/{id...}":      thread,
		"POST /t/{id...}":     threadRead,
		"GET /flow":           flow,
		"POST /send":          sendMail,
		"GET /events":         s.events,
		"GET /changes":        changes,

		"GET /letter":   showLetter,
		"GET /doc":      serveDocument,
		"POST /mark":    mark,
		"POST /delete":  s.remove,
		"POST /restore": s.restore,

		"GET /agents":             agents,
		"GET /agents/{name}":      agentMail,
		"GET /channels":           channels,
		"GET /channels/{address}": channels,
		"GET /compose":            compose,
		"POST /compose":           sendComposed,
		"POST /preview":           preview,

		"GET /stuck":          stuck,
		"POST /stuck/again":   sendOn,
		"POST /stuck/tell":    tellSenders,
		"POST /stuck/role":    giveRole,
		"POST /stuck/thaw":    thaw,
		"POST /stuck/dismiss": dismiss,
		"POST /stuck/sync":    syncBridge,
		"POST /stuck/verify":  verifyRoom,
		"GET /palette":        palette,
	}
}

// Close carries out at once what could still have been undone.
func (s *Site) Close() { s.undo.finish() }

// handler answers one request of the user about one room. An error becomes a page that tells of it.
type handler func(v *view) error

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
	s.mux.ServeHTTP(w, r)
}

// page serves h to whoever has logged in.
func (s *Site) page(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := &view{site: s, w: w, r: r, Now: time.Now(), Nonce: newNonce()}
		v.header()
		if !s.loggedIn(r) {
			v.stranger()
			return
		}
		err := v.enter()
		if err == nil {
			err = h(v)
		}
		if err != nil {
			v.fail(err)
		}
	})
}

func nowhere(v *view) error {
	return mail.Errorf(mail.NotFound, "there is no page %s here", v.r.URL.Path)
}
