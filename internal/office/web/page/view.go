package page

import (
	"bytes"
	"cmp"
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

// View is one request; every page struct embeds it.
type View struct {
	Site *Site
	W    http.ResponseWriter
	R    *http.Request
	Svc  mail.Service

	LoggedIn string // the browser's session; "": not logged in
	Plain    bool   // not at the pages' own address

	Now   time.Time
	Nonce string
	Room  mail.RoomName
	Base  string // "/@ROOM", the prefix of this room's paths
	Rooms []mail.RoomStatus
	// Everywhere says that the address names no room, so Room is the one that changed last.
	Everywhere bool
	At         mail.Seq // the room's sequence number when the page was rendered
	Place      string   // the page's entry in the navigation
	Title      string

	dialogs  *dialogs // see Cards
	standing *standing
}

// SendTimeout is the time for a browser to accept a piece.
const SendTimeout = 10 * time.Second

type roomKey struct{}

// WithRoom returns the context of a request for a room.
func WithRoom(ctx context.Context, room mail.RoomName) context.Context {
	return context.WithValue(ctx, roomKey{}, room)
}

// NewView begins the response to a request.
func NewView(site *Site, w http.ResponseWriter, r *http.Request) *View {
	v := &View{
		Site: site, W: w, R: r, Now: time.Now(), Nonce: rand.Text(), dialogs: new(dialogs), standing: new(standing),
	}
	v.header()
	return v
}

// header sets the headers of every page. The policy lets only our files run or load, so remote images in agents' mail
// do not load.
func (v *View) header() {
	h := v.W.Header()
	h.Set("Content-Security-Policy", strings.Join([]string{
		"default-src 'none'", "script-src 'nonce-" + v.Nonce + "'", "style-src 'self'", "img-src 'self'",
		"connect-src 'self'", "frame-src 'self'", "font-src 'self'", "manifest-src 'self'", "worker-src 'self'",
		"form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'",
	}, "; "))
	h.Set("Cache-Control", "no-store")
	h.Set("Vary", "HX-Request, HX-Target, Cookie")
}

// Enter enters the room of the request.
func (v *View) Enter() error {
	ctx := v.R.Context()
	rooms, err := v.Site.Office.Rooms(ctx)
	if err != nil {
		return err
	}
	v.Rooms = rooms
	v.Room, _ = ctx.Value(roomKey{}).(mail.RoomName)
	if v.Room == "" {
		v.Room, v.Everywhere = latest(rooms), true
	} else if _, err := mail.ParseRoom(string(v.Room)); err != nil {
		return err
	} else if !HasRoom(rooms, v.Room) {
		// A mistyped address must not create a room.
		return mail.Errorf(mail.NotFound,
			"there is no room %s; the first message or agent in a room creates it", v.Room)
	}
	if v.Room == "" {
		return nil // a post office without rooms
	}
	v.Base = RoomBase(v.Room)
	if v.Svc, err = v.Site.Office.Room(ctx, v.Room, mail.User); err != nil {
		return err
	}
	st, err := v.Svc.Status(ctx)
	if err != nil {
		return err
	}
	v.At = st.Seq
	*v.Status() = st
	return nil
}

// HasRoom reports whether a list has a room.
func HasRoom(rooms []mail.RoomStatus, name mail.RoomName) bool {
	return slices.ContainsFunc(rooms, func(r mail.RoomStatus) bool { return r.Name == name })
}

// latest returns the room that changed last.
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

// Ctx ends with the request or its credential.
//
// Mail sent under it is never kept in the outbox: a page says that it was sent, or keeps the text itself.
func (v *View) Ctx() context.Context { return mail.Unkept(v.R.Context()) }

// Status is this room's entry in Rooms, or an empty one without rooms.
func (v *View) Status() *mail.RoomStatus {
	for i := range v.Rooms {
		if v.Rooms[i].Name == v.Room {
			return &v.Rooms[i]
		}
	}
	return new(mail.RoomStatus)
}

// HX is the attribute that htmx requires on its elements. Mail cannot know it.
func (v *View) HX() template.HTMLAttr { return template.HTMLAttr(`hx-nonce="` + v.Nonce + `"`) }

// Partial reports whether htmx requests the part with an id.
func (v *View) Partial(id string) bool {
	_, target, _ := strings.Cut(v.R.Header.Get("HX-Target"), "#")
	return v.Scripted() && target == id
}

// Scripted reports whether our script sent the request.
func (v *View) Scripted() bool { return v.R.Header.Get("HX-Request") == "true" }

// Render answers with a page, or with the requested part if it is among parts: templates named after ids.
func (v *View) Render(name string, data any, parts ...string) error {
	return v.Answer(http.StatusOK, name, v.Wanted(parts...), data)
}

// Wanted returns the part that htmx requests, or the layout of the whole page.
func (v *View) Wanted(parts ...string) string {
	if i := slices.IndexFunc(parts, v.Partial); i >= 0 {
		return parts[i]
	}
	return "layout"
}

// Part answers with one template of a page.
func (v *View) Part(name, part string, data any) error {
	return v.Answer(http.StatusOK, name, part, data)
}

// Answer answers with a template of a page. It writes nothing unless the whole template succeeds.
func (v *View) Answer(status int, name, part string, data any) error {
	pages, err := v.Site.Templates.Pages()
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := pages[name].ExecuteTemplate(&b, part, data); err != nil {
		return err
	}
	v.W.Header().Set("Content-Type", "text/html; charset=utf-8")
	return asset.Send(v.W, v.R, status, b.Bytes())
}

// Redirect sends the browser to a path of this room after a change. The script decides by itself whether to go there.
func (v *View) Redirect(path string) error {
	http.Redirect(v.W, v.R, v.Base+path, http.StatusSeeOther)
	return nil
}

// failure is the error page.
type failure struct {
	*View
	Status  int
	Message string
}

// statuses maps errors to HTTP statuses. Other errors are internal and only logged.
var statuses = map[mail.Code]int{
	mail.Invalid: http.StatusBadRequest, mail.NotFound: http.StatusNotFound, mail.Denied: http.StatusForbidden,
	mail.Conflict: http.StatusConflict,
	mail.TooLarge: http.StatusRequestEntityTooLarge, mail.Unavailable: http.StatusServiceUnavailable,
	mail.Timeout: http.StatusGatewayTimeout,
	mail.Unknown: http.StatusUnauthorized, mail.Limited: http.StatusTooManyRequests,
}

// headings are the error page's headings, in a reader's words.
var headings = map[int]string{
	http.StatusNotFound: "There is nothing at this address", http.StatusForbidden: "Not allowed",
	http.StatusBadRequest: "Invalid request", http.StatusServiceUnavailable: "Not available now",
	http.StatusGatewayTimeout: "Timed out", http.StatusTooManyRequests: "Too many requests",
}

// Above is the text along the top of the error page's postmark.
func (failure) Above() string { return "RETURN" }

// Middle is the text in the middle, line by line.
func (failure) Middle() []string { return []string{"TO", "SENDER"} }

// Told returns an error's status and message for the person; status 0: internal.
func Told(err error) (status int, message string) {
	if known, ok := errors.AsType[*mail.Error](err); ok {
		return statuses[known.Code], known.Msg
	}
	return 0, ""
}

// Fail answers with an error, or with the reason why the request's credential has ended if that is what broke it off.
func (v *View) Fail(err error) {
	if why, ok := errors.AsType[*mail.Error](context.Cause(v.R.Context())); ok && errors.Is(err, context.Canceled) {
		err = why
	}
	f := failure{View: v, Status: http.StatusInternalServerError,
		Message: "Something went wrong. See the log of the post office."}
	if status, message := Told(err); status != 0 {
		f.Status, f.Message = status, message
	} else if v.Ctx().Err() == nil {
		v.Site.Log.Error("page", "path", v.R.URL.Path, "err", err)
	}
	v.Title = cmp.Or(headings[f.Status], "Something went wrong")
	part := "layout"
	if v.Scripted() {
		// Show the error of a part beside the content, which stays.
		v.Aim("#toasts", "beforeend")
		part = "toast-failure"
	}
	if v.Answer(f.Status, "failure", part, f) != nil {
		http.Error(v.W, f.Message, f.Status)
	}
}

// Piece writes text and flushes it.
func (v *View) Piece(text string) error {
	rc := http.NewResponseController(v.W)
	_ = rc.SetWriteDeadline(time.Now().Add(SendTimeout))
	defer func() { _ = rc.SetWriteDeadline(time.Time{}) }()
	if _, err := v.W.Write([]byte(text)); err != nil {
		return err
	}
	if err := rc.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}
