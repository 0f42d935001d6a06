package web

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/office/web/asset"
)

// view is one request: what every page struct embeds.
type view struct {
	site *core
	w    http.ResponseWriter
	r    *http.Request
	svc  mail.Service

	loggedIn string // the session of the browser; "": it has not logged in
	Plain    bool   // this is not the pages' own address

	Now   time.Time
	Nonce string
	Room  mail.RoomName
	Base  string // "/@ROOM", before every path of this room
	Rooms []mail.RoomStatus
	// everywhere says that the address names no room, so that Room is the one that changed last.
	everywhere bool
	At         mail.Seq // the room's journal when the page was made
	Place      string   // where the page belongs: an entry of the places
	Title      string
}

const sendTimeout = 10 * time.Second // for a browser to take a piece

type roomKey struct{}

// withRoom returns the context of a request whose address names a room.
func withRoom(ctx context.Context, room mail.RoomName) context.Context {
	return context.WithValue(ctx, roomKey{}, room)
}

// newView begins the answer to a request.
func newView(site *core, w http.ResponseWriter, r *http.Request) *view {
	v := &view{site: site, w: w, r: r, Now: time.Now(), Nonce: rand.Text()}
	v.header()
	return v
}

// header sets what every page has. The policy lets nothing run or load but our own files; images of agents' mail that
// come from elsewhere do not load.
func (v *view) header() {
	h := v.w.Header()
	h.Set("Content-Security-Policy", strings.Join([]string{
		"default-src 'none'", "script-src 'nonce-" + v.Nonce + "'", "style-src 'self'", "img-src 'self'",
		"connect-src 'self'", "frame-src 'self'", "manifest-src 'self'",
		"form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'",
	}, "; "))
	h.Set("Cache-Control", "no-store")
	h.Set("Vary", "HX-Request, HX-Target, Cookie")
}

// enter finds the room that the request is about.
func (v *view) enter() error {
	ctx := v.r.Context()
	rooms, err := v.site.Office.Rooms(ctx)
	if err != nil {
		return err
	}
	v.Rooms = rooms
	v.Room, _ = ctx.Value(roomKey{}).(mail.RoomName)
	if v.Room == "" {
		v.Room, v.everywhere = latest(rooms), true
	} else if _, err := mail.ParseRoom(string(v.Room)); err != nil {
		return err
	} else if !has(rooms, v.Room) {
		// A mistyped address must not make a room.
		return mail.Errorf(mail.NotFound,
			"there is no room %s here; a room is made by the first message or agent in it", v.Room)
	}
	if v.Room == "" {
		return nil // a post office without rooms
	}
	v.Base = roomBase(v.Room)
	if v.svc, err = v.site.Office.Room(ctx, v.Room, mail.User); err != nil {
		return err
	}
	st, err := v.svc.Status(ctx)
	if err != nil {
		return err
	}
	v.At = st.Seq
	*v.status() = st
	return nil
}

func has(rooms []mail.RoomStatus, name mail.RoomName) bool {
	return slices.ContainsFunc(rooms, func(r mail.RoomStatus) bool { return r.Name == name })
}

// latest returns the room in which something happened last.
func latest(rooms []mail.RoomStatus) mail.RoomName {
	var name mail.RoomName
	var last mail.Time
	for i := range rooms {
		if name == "" || rooms[i].Last > last {
			name, last = rooms[i].Name, rooms[i].Last
		}
	}
	return name
}

func (v *view) ctx() context.Context { return v.r.Context() }

// status is this room among Rooms; that of a post office without rooms is empty.
func (v *view) status() *mail.RoomStatus {
	for i := range v.Rooms {
		if v.Rooms[i].Name == v.Room {
			return &v.Rooms[i]
		}
	}
	return new(mail.RoomStatus)
}

// HX is the attribute without which htmx ignores an element: mail cannot know it.
func (v *view) HX() template.HTMLAttr { return template.HTMLAttr(`hx-nonce="` + v.Nonce + `"`) }

// partial reports whether htmx asks for the part of a page with that id.
func (v *view) partial(id string) bool {
	_, target, _ := strings.Cut(v.r.Header.Get("HX-Target"), "#")
	return v.scripted() && target == id
}

// scripted reports whether the request comes from our script, and not from the browser itself.
func (v *view) scripted() bool { return v.r.Header.Get("HX-Request") == "true" }

// render answers with a page, of which htmx gets the part that it wants if that is one of parts: names of templates
// that are ids too.
func (v *view) render(name string, data any, parts ...string) error {
	return v.answer(http.StatusOK, name, v.wanted(parts...), data)
}

// wanted returns which of the parts of a page htmx asks for, or the layout of the whole.
func (v *view) wanted(parts ...string) string {
	if i := slices.IndexFunc(parts, v.partial); i >= 0 {
		return parts[i]
	}
	return "layout"
}

// part answers with one template of a page.
func (v *view) part(name, part string, data any) error {
	return v.answer(http.StatusOK, name, part, data)
}

// answer answers with a template of a page. It writes nothing unless the whole of it could be made.
func (v *view) answer(status int, name, part string, data any) error {
	pages, err := v.site.Templates.pages()
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := pages[name].ExecuteTemplate(&b, part, data); err != nil {
		return err
	}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	return asset.Send(v.w, v.r, status, b.Bytes())
}

// redirect sends the browser to a path of this room after a change. Our script is told to go there by itself, if it is
// to go at all.
func (v *view) redirect(path string) error {
	http.Redirect(v.w, v.r, v.Base+path, http.StatusSeeOther)
	return nil
}

// failure is the page that tells of an error.
type failure struct {
	*view
	Status  int
	Message string
}

// statuses are the answers to errors. What is not among them is ours, and told to the log only.
var statuses = map[mail.Code]int{
	mail.Invalid: http.StatusBadRequest, mail.NotFound: http.StatusNotFound, mail.Denied: http.StatusForbidden,
	mail.Conflict: http.StatusConflict,
	mail.TooLarge: http.StatusRequestEntityTooLarge, mail.Unavailable: http.StatusServiceUnavailable,
	mail.Timeout: http.StatusGatewayTimeout,
	mail.Unknown: http.StatusUnauthorized, mail.Limited: http.StatusTooManyRequests,
}

func (v *view) fail(err error) {
	f := failure{view: v, Status: http.StatusInternalServerError,
		Message: "Something went wrong here. The log of the post office says what."}
	var known *mail.Error
	if errors.As(err, &known) && statuses[known.Code] != 0 {
		f.Status, f.Message = statuses[known.Code], known.Msg
	} else if v.ctx().Err() == nil {
		v.site.Log.Error("page", "path", v.r.URL.Path, "err", err)
	}
	v.Title = http.StatusText(f.Status)
	part := "layout"
	if v.scripted() {
		// An error of a part is told beside what is there, which stays.
		v.aim("#toasts", "beforeend")
		part = "toast-failure"
	}
	if v.answer(f.Status, "failure", part, f) != nil {
		http.Error(v.w, f.Message, f.Status)
	}
}

// piece sends text at once.
func (v *view) piece(text string) error {
	rc := http.NewResponseController(v.w)
	_ = rc.SetWriteDeadline(time.Now().Add(sendTimeout))
	defer func() { _ = rc.SetWriteDeadline(time.Time{}) }()
	if _, err := v.w.Write([]byte(text)); err != nil {
		return err
	}
	if err := rc.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}
