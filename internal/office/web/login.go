package web

import (
	"net"
	"net/http"
	"strings"

	"pennypost/internal/mail"
	"pennypost/internal/office/web/page"
	"pennypost/internal/office/web/session"
)

const sessionCookie = "pennypost_session"

// at returns the kind of address at which r arrived.
func (s *Site) at(r *http.Request) session.Doorway {
	return session.Doorway{Plain: r.TLS == nil && !s.Named(r), TLS: r.TLS != nil}
}

// Link returns the path of a page that logs in one browser within ten minutes, and then shows a room. It works at the
// pages' own name, to which the plain address redirects, or, if plain, at the plain address.
func (s *Site) Link(room mail.RoomName, plain bool) string {
	return s.link(session.Link{Room: room, At: session.Doorway{Plain: plain}})
}

// TLSLink is like Link for any address over TLS, and only there. The link and its session end with the pass of the
// machine that asked for it; nil: this machine.
func (s *Site) TLSLink(room mail.RoomName, pass *mail.Pass) string {
	return s.link(session.Link{Room: room, At: session.Doorway{TLS: true}, Pass: pass})
}

// LetterLink is like Link, not plain, for a page that shows a letter or a dialog, or the inbox if id is "".
func (s *Site) LetterLink(room mail.RoomName, id mail.ID) string {
	return s.link(session.Link{Room: room, To: id})
}

func (s *Site) link(one session.Link) string {
	return page.Query("/login", "key", s.links.Add(one))
}

// Sessions returns the logged-in browsers, last used first.
func (s *Site) Sessions() []session.Session { return s.sessions.All() }

// EndSession logs out a browser, or all if id is "". An unknown id is an error of code NotFound; code Unavailable
// means that the session ended, but that this is not on disk.
func (s *Site) EndSession(id string) error { return s.sessions.End(id) }

// Named reports whether r came to the pages' own name. At any other address, another local program may listen on
// another port and receive the same cookies, so only a session begun with a plain link holds there.
func (s *Site) Named(r *http.Request) bool {
	return s.opts.Host != "" && strings.EqualFold(page.HostOf(r), s.opts.Host)
}

// loggedIn returns the session of r, or "".
func (s *Site) loggedIn(r *http.Request) string {
	c, err := r.Cookie(cookieName(r))
	if err != nil {
		return ""
	}
	id, err := s.sessions.Find(r.Context(), c.Value, s.at(r), !byItself(r))
	if err != nil {
		s.core.Log.Error("sessions", "err", err)
	}
	return id
}

// byItself reports whether an open page sent the request by itself, which does not extend a session. Pages say so in
// a header.
func byItself(r *http.Request) bool {
	return r.URL.Path == "/events" || r.URL.Path == "/changes" || r.Header.Get("Pennypost-Live") != ""
}

// offer answers a link with a button that logs in. It changes nothing, since browsers and other programs prefetch
// links. Our script presses the button, except at the plain address, where the page shows a warning first.
func (s *Site) offer(v *page.View) error {
	key := v.R.URL.Query().Get("key")
	if _, ok := s.links.Find(key, s.at(v.R), false); ok {
		v.Title = "Log in"
		return closedDoor(v, http.StatusOK, "offer", key, !v.Plain)
	}
	// redirect from the plain address, which a list of processes may show
	if _, ok := s.links.Find(key, session.Doorway{}, false); ok && v.R.TLS == nil {
		to := page.Query("http://"+s.ownHost(v.R)+"/login", "key", key)
		http.Redirect(v.W, v.R, to, http.StatusSeeOther)
		return nil
	}
	if v.LoggedIn != "" { // the link was opened twice
		return v.Redirect("/")
	}
	return askLogin(v, key)
}

// ownHost is the pages' own name, with the port of r.
func (s *Site) ownHost(r *http.Request) string {
	if _, port, err := net.SplitHostPort(r.Host); err == nil {
		return net.JoinHostPort(s.opts.Host, port)
	}
	return s.opts.Host
}

// enter begins a session with a one-time link. A browser that is logged in keeps its session.
func (s *Site) enter(v *page.View) error {
	if err := v.Form(); err != nil {
		return err
	}
	key := v.R.PostForm.Get("key")
	one, ok := s.links.Find(key, s.at(v.R), true)
	ok = ok && s.sessions.Good(one.Pass)
	if !ok && v.LoggedIn == "" {
		return askLogin(v, key)
	}
	if v.LoggedIn == "" {
		cookie, err := s.sessions.Begin(session.Browser(v.R.UserAgent()), s.at(v.R), one.Pass)
		if err != nil {
			s.core.Log.Error("session not saved; a restart ends it", "err", err)
		}
		setCookie(v, cookie, int(session.Longest.Seconds()))
		keepScope(v)
	}
	to := "/"
	if rooms, err := s.core.Office.Rooms(v.Ctx()); err == nil && page.HasRoom(rooms, one.Room) {
		if to = page.RoomBase(one.Room) + "/?focus=1"; one.To != "" {
			to = page.RoomBase(one.Room) + shownAt(one.To)
		}
	}
	// a person who was logged out under an open page, or came without a login, returns there
	if next := v.R.PostForm.Get("next"); one.To == "" && page.OurPath(next) {
		to = next
	}
	return v.Redirect(to)
}

// keepScope makes a browser without a choice show all rooms.
func keepScope(v *page.View) {
	if _, err := v.R.Cookie(page.ScopeCookie); err != nil {
		http.SetCookie(v.W, &http.Cookie{Name: page.ScopeCookie, Value: page.ScopeAll, Path: "/",
			MaxAge: int(session.Longest.Seconds()), SameSite: http.SameSiteStrictMode, Secure: v.R.TLS != nil})
	}
}

// shownAt is the path that shows a letter or a dialog in full.
func shownAt(id mail.ID) string {
	if strings.HasPrefix(string(id), "d-") {
		return page.Query("/", "d", string(id))
	}
	return page.LetterPath(id)
}

// cookieName returns the name of the session cookie. Over TLS its prefix makes browsers accept it only from this host
// over TLS, so that a program on another port without TLS cannot replace it (RFC 6265bis, 4.1.3).
func cookieName(r *http.Request) string {
	if r.TLS != nil {
		return "__Host-" + sessionCookie
	}
	return sessionCookie
}

// setCookie makes the browser keep a session for some seconds; negative: forget it.
func setCookie(v *page.View, value string, seconds int) {
	http.SetCookie(v.W, &http.Cookie{
		Name: cookieName(v.R), Value: value, Path: "/", MaxAge: seconds,
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: v.R.TLS != nil,
	})
}

// logout ends the session and removes its cookie.
func (s *Site) logout(v *page.View) error {
	setCookie(v, "", -1)
	if v.LoggedIn != "" {
		if err := s.sessions.End(v.LoggedIn); err != nil && mail.CodeOf(err) != mail.NotFound {
			return err
		}
	}
	return v.Redirect("/")
}

// askLogin answers a request without a login, perhaps with the key of an invalid link. Its page explains how to log
// in.
func askLogin(v *page.View, key string) error {
	v.Title = "Log in"
	if v.Scripted() {
		v.W.Header().Set("HX-Refresh", "true") // the session ended under an open page
	}
	return closedDoor(v, http.StatusUnauthorized, "stranger", key, false)
}

// doorPage is a page shown without a login.
type doorPage struct {
	*page.View
	Key   string // of the link
	Press bool   // the script presses the button; otherwise the person does
}

func closedDoor(v *page.View, status int, part, key string, press bool) error {
	return v.Answer(status, "door", part, doorPage{v, key, press})
}

// sessionsPage lists the logged-in browsers.
type sessionsPage struct {
	*page.View
	Sessions []session.Session
}

// Idle is how many hours a session lasts without an act of the person.
func (p *sessionsPage) Idle() int { return int(session.Idle.Hours()) }

// This reports whether a session is this browser's.
func (p *sessionsPage) This(one session.Session) bool { return one.ID == p.LoggedIn }

func (s *Site) listSessions(v *page.View) error {
	v.Title = "Sessions"
	return v.Render("sessions", &sessionsPage{View: v, Sessions: s.Sessions()})
}

// endSession ends the session named in the form, or all.
func (s *Site) endSession(v *page.View) error {
	id := v.R.PostForm.Get("id")
	if id == "" && v.R.PostForm.Get("all") == "" {
		return mail.Errorf(mail.Invalid, "no session is named; nothing was ended")
	}
	if id == "" || id == v.LoggedIn {
		setCookie(v, "", -1)
	}
	if err := s.sessions.End(id); err != nil && mail.CodeOf(err) != mail.NotFound {
		return err
	}
	return v.Redirect("/sessions")
}
