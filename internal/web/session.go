package web

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"pennypost/internal/mail"
)

const (
	sessionCookie = "pennypost_session"
	sessionTime   = 30 * 24 * time.Hour
	loginTime     = 10 * time.Minute // a link is typed or clicked at once, and may stand in a terminal's history for long
	maxLogins     = 100              // links that nobody used; the oldest goes
)

// logins are the one-time links that are still good. Links are kept in memory: a post office that starts again has given none.
type logins struct {
	mu   sync.Mutex
	list []login // in the order in which they end
}

type login struct {
	sum  [sha256.Size]byte
	room mail.RoomName
	ends time.Time
}

// Link returns the path of a page that logs its first visitor in, within ten minutes, and shows that room.
func (s *Site) Link(room mail.RoomName) string {
	key := rand.Text()
	l := &s.logins
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, login{sum: sha256.Sum256([]byte(key)), room: room, ends: time.Now().Add(loginTime)})
	if len(l.list) > maxLogins {
		l.list = l.list[1:]
	}
	return "/login?key=" + url.QueryEscape(key)
}

// take uses up the link with that key.
func (l *logins) take(key string) (login, bool) {
	sum := sha256.Sum256([]byte(key))
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, one := range l.list {
		if hmac.Equal(sum[:], one.sum[:]) {
			l.list = append(l.list[:i:i], l.list[i+1:]...)
			return one, time.Now().Before(one.ends)
		}
	}
	return login{}, false
}

// login makes a session of a one-time link. It answers with a page that goes on by itself, because a browser that came from another site
// would not show the strict cookie to a redirection's target.
func (s *Site) login(w http.ResponseWriter, r *http.Request) {
	v := &view{site: s, w: w, r: r, Now: time.Now(), Nonce: newNonce()}
	v.header()
	var one login
	ok := false
	if r.Method == http.MethodGet { // who looks ahead with HEAD does not use the link up
		one, ok = s.logins.take(r.URL.Query().Get("key"))
	}
	if !ok {
		if s.loggedIn(r) { // the link was opened twice
			http.Redirect(w, r, "/", http.StatusSeeOther)
			return
		}
		v.stranger()
		return
	}
	http.SetCookie(w, &http.Cookie{
		Name: sessionCookie, Value: s.seal(time.Now().Add(sessionTime)), Path: "/", MaxAge: int(sessionTime.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil,
	})
	to := "/"
	if rooms, err := s.opts.Office.Rooms(r.Context()); err == nil && has(rooms, one.room) {
		to = "/@" + url.PathEscape(string(one.room)) + "/"
	}
	w.Header().Set("Refresh", "0; url="+to)
	v.Title = "Welcome"
	v.door(http.StatusOK, "welcome", to)
}

// logout forgets the session in this browser.
func (s *Site) logout(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, &http.Cookie{Name: sessionCookie, Path: "/", MaxAge: -1, HttpOnly: true, SameSite: http.SameSiteStrictMode})
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// stranger answers who has not logged in. Reading the address bar back must tell how to get in.
func (v *view) stranger() {
	v.Title = "Log in"
	if v.scripted() {
		v.w.Header().Set("HX-Refresh", "true") // the session ended under an open page
	}
	v.door(http.StatusUnauthorized, "stranger", "")
}

// door answers with a page for who is not inside.
func (v *view) door(status int, part, to string) {
	err := v.answer(status, "door", part, struct {
		*view
		To string
	}{v, to})
	if err != nil {
		v.site.opts.Log.Error("page", "path", v.r.URL.Path, "err", err)
		http.Error(v.w, "log in with the link that pennypost open prints", status)
	}
}

// seal returns the value of a session's cookie: when it ends, something that makes it unlike others, and our signature.
func (s *Site) seal(ends time.Time) string {
	text := strconv.FormatInt(ends.Unix(), 36) + "." + rand.Text()
	return text + "." + s.sign(text)
}

func (s *Site) sign(text string) string {
	mac := hmac.New(sha256.New, s.opts.Key)
	mac.Write([]byte("pennypost web session\x00" + text))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// loggedIn reports whether r comes from a session that we opened.
func (s *Site) loggedIn(r *http.Request) bool {
	c, err := r.Cookie(sessionCookie)
	if err != nil {
		return false
	}
	i := strings.LastIndexByte(c.Value, '.')
	if i < 0 || !hmac.Equal([]byte(s.sign(c.Value[:i])), []byte(c.Value[i+1:])) {
		return false
	}
	ends, _, _ := strings.Cut(c.Value, ".")
	at, err := strconv.ParseInt(ends, 36, 64)
	return err == nil && time.Now().Before(time.Unix(at, 0))
}
