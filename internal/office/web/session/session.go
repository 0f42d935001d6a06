package session

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"pennypost/internal/base/kept"
	"pennypost/internal/base/life"
	"pennypost/internal/base/pause"
	"pennypost/internal/mail"
)

// Limits of sessions.
const (
	Idle      = 12 * time.Hour      // without an act of the person: a working day has breaks, but a night ends it
	Longest   = 30 * 24 * time.Hour // in any case
	Most      = 20                  // browsers of a person; the one idle longest is logged out
	SeenEvery = 5 * time.Minute     // how much the time of last use in the file may lag
)

// Session is a logged-in browser.
type Session struct {
	ID      string    `json:"id"`      // identifies it, but grants nothing
	Browser string    `json:"browser"` // the browser's name, in our words
	Opened  mail.Time `json:"opened"`
	Seen    mail.Time `json:"seen"`           // when the person last acted
	Plain   bool      `json:"plain,omitzero"` // began at the plain address, and holds only there
	TLS     bool      `json:"tls,omitzero"`   // began over TLS, and holds only there
	// Machine is the other machine for which it began, whose token ends it; "": none.
	Machine mail.Machine `json:"machine,omitempty"`
}

// at returns where the session holds.
func (s *Session) at() Doorway { return Doorway{s.Plain, s.TLS} }

// over reports whether the session has expired.
func (s *Session) over(now time.Time) bool {
	return now.Sub(s.Seen.Std()) >= Idle || now.Sub(s.Opened.Std()) >= Longest
}

// entry is a session in the file.
type entry struct {
	Session
	Sum  string `json:"sum"`            // SHA-256 of the cookie's value, in hex
	Pass string `json:"pass,omitempty"` // the id of the machine's pass; "": any, as older versions wrote it

	life *life.Life // nil: not needed yet
}

// sessionFile is the whole file.
type sessionFile struct {
	Key      string  `json:"key"` // identifies the key that sessions depend on
	Sessions []entry `json:"sessions"`
}

// Store keeps the logged-in browsers. A file keeps them across restarts.
type Store struct {
	path string // "": in memory only
	key  string // sessions of another key are void
	// machine returns the life of a machine's token, nil if it has ended
	machine func(machine mail.Machine, id string) *life.Life

	mu    sync.Mutex
	list  []entry
	saved time.Time // the last time the file was written

	writing sync.Mutex // held while the file is written, so that the latest state is written last
}

// Open reads the file at path. If the file is invalid or has another key, no browser is logged in. The Store is
// usable even if there is an error.
func Open(path string, key []byte, machine func(mail.Machine, string) *life.Life) (*Store, error) {
	sum := sha256.Sum256(append([]byte("pennypost web sessions\x00"), key...))
	s := &Store{path: path, key: hex.EncodeToString(sum[:]), machine: machine}
	if machine == nil {
		s.machine = func(mail.Machine, string) *life.Life { return nil }
	}
	if path == "" {
		return s, nil
	}
	var file sessionFile
	if err := kept.Load(path, &file); err != nil {
		return s, fmt.Errorf("read the sessions of browsers; no browser is logged in: %w", err)
	}
	if file.Key == s.key {
		s.list = file.Sessions
	}
	return s, nil
}

// Begin begins a session and returns its cookie's value. The session holds in memory even if writing fails.
func (s *Store) Begin(browser string, at Doorway, pass *mail.Pass) (cookie string, err error) {
	now := time.Now()
	cookie = rand.Text()
	one := entry{Sum: sumOf(cookie), Session: Session{
		ID: strings.ToLower(rand.Text()[:8]), Browser: browser, Plain: at.Plain, TLS: at.TLS,
		Opened: mail.TimeOf(now),
		Seen:   mail.TimeOf(now),
	}}
	if pass != nil {
		one.Machine, one.Pass = pass.Machine, pass.ID
	}
	s.mu.Lock()
	s.tidy(now)
	if len(s.list) == Most {
		quiet := 0
		for i := range s.list {
			if s.list[i].Seen < s.list[quiet].Seen {
				quiet = i
			}
		}
		s.endLocked(func(k *entry) bool { return k == &s.list[quiet] })
	}
	s.list = append(s.list, one)
	s.mu.Unlock()
	return cookie, s.save()
}

// Good reports whether a session may begin under a machine's pass; nil: it needs none.
func (s *Store) Good(pass *mail.Pass) bool {
	return pass == nil || s.machine(pass.Machine, pass.ID) != nil
}

// Find returns the session of a cookie at an address, and ends ctx with the session. An act of the person extends the
// session; the error says that this could not be written.
func (s *Store) Find(ctx context.Context, cookie string, at Doorway, act bool) (id string, err error) {
	now := time.Now()
	sum := sumOf(cookie)
	s.mu.Lock()
	s.tidy(now)
	i := slices.IndexFunc(s.list, func(k entry) bool { return k.Sum == sum && k.at() == at })
	if i < 0 {
		s.mu.Unlock()
		return "", nil
	}
	id = s.list[i].ID
	s.stand(ctx, &s.list[i])
	if act {
		s.list[i].Seen = mail.TimeOf(now)
	}
	late := act && now.Sub(s.saved) >= SeenEvery
	s.mu.Unlock()
	if late {
		err = s.save()
	}
	return id, err
}

// stand ends ctx when a session ends. The caller holds mu.
func (s *Store) stand(ctx context.Context, k *entry) {
	if k.life == nil {
		k.life = life.New()
	}
	_ = life.Stand(ctx, k.life) // found in the list, so it has not ended
	if k.Machine != "" {
		if of := s.machine(k.Machine, k.Pass); of != nil {
			_ = life.Stand(ctx, of) // if it has ended meanwhile, so has ctx
		}
	}
}

// Watch ends a session when it expires, until stop is called: no other request may come to check.
func (s *Store) Watch(id string) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for left := s.left(id); left > 0 && pause.For(ctx, left); {
			left = s.left(id)
		}
	}()
	return func() { cancel(); <-ended }
}

// left returns how long a session has before it expires, 0 if it has ended.
func (s *Store) left(id string) time.Duration {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tidy(now)
	i := slices.IndexFunc(s.list, func(k entry) bool { return k.ID == id })
	if i < 0 {
		return 0
	}
	k := &s.list[i]
	return min(k.Seen.Std().Add(Idle).Sub(now), k.Opened.Std().Add(Longest).Sub(now))
}

// All returns the sessions, last used first.
func (s *Store) All() []Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tidy(time.Now())
	out := make([]Session, len(s.list))
	for i := range s.list {
		out[i] = s.list[i].Session
	}
	slices.SortStableFunc(out, func(a, b Session) int { return int(b.Seen - a.Seen) })
	return out
}

// End ends a session, or all if id is "".
func (s *Store) End(id string) error {
	ended, err := s.endAll(func(k *entry) bool { return id == "" || k.ID == id })
	if ended == 0 && id != "" {
		return mail.Errorf(mail.NotFound, "there is no session %s; it may have ended", id)
	}
	return err
}

// endAll ends the sessions that which selects, and returns their number.
func (s *Store) endAll(which func(*entry) bool) (ended int, err error) {
	s.mu.Lock()
	ended = s.endLocked(which)
	s.mu.Unlock()
	if ended == 0 {
		return 0, nil
	}
	if err := s.save(); err != nil {
		return ended, &mail.Error{Code: mail.Unavailable, Err: err,
			Msg: "the session has ended, but the file of sessions could not be written, so a restart would reopen " +
				"it. Free space on the disk, then end all with: pennypost open --revoke all"}
	}
	return ended, nil
}

// tidy removes expired sessions. The caller holds mu.
func (s *Store) tidy(now time.Time) {
	s.endLocked(func(k *entry) bool {
		return k.over(now) || k.Machine != "" && s.machine(k.Machine, k.Pass) == nil
	})
}

// endLocked ends the sessions that which selects and their streams, and returns their number.
func (s *Store) endLocked(which func(*entry) bool) (ended int) {
	rest := make([]entry, 0, len(s.list))
	for i := range s.list {
		k := &s.list[i]
		if !which(k) {
			rest = append(rest, *k)
			continue
		}
		ended++
		if k.life != nil {
			k.life.End(mail.Errorf(mail.Unknown, "this browser is no longer logged in"))
		}
	}
	s.list = rest
	return ended
}

// save writes the file.
func (s *Store) save() error {
	if s.path == "" {
		return nil
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.Lock()
	file := sessionFile{s.key, slices.Clone(s.list)}
	s.saved = time.Now()
	s.mu.Unlock()
	if err := kept.Save(s.path, file); err != nil {
		return fmt.Errorf("write the sessions of browsers: %w", err)
	}
	return nil
}

// sumOf is the stored hash of a cookie. A cookie is long and random, so the hash reveals nothing.
func sumOf(cookie string) string {
	sum := sha256.Sum256([]byte(cookie))
	return hex.EncodeToString(sum[:])
}

// Browser names the browser in a User-Agent header in our words. The header itself is untrusted, and never shown.
func Browser(agent string) string {
	first := func(words [][2]string, other string) string {
		for _, w := range words {
			if strings.Contains(agent, w[0]) {
				return w[1]
			}
		}
		return other
	}
	// Browsers also name the browsers that they imitate, so imitators come first.
	name := first([][2]string{
		{"Edg/", "Edge"}, {"OPR/", "Opera"}, {"Firefox/", "Firefox"}, {"Chrome/", "Chrome"}, {"Safari/", "Safari"},
	}, "a program")
	system := first([][2]string{
		{"Android", "Android"}, {"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Windows", "Windows"}, {"Macintosh", "macOS"},
		{"CrOS", "ChromeOS"}, {"Linux", "Linux"},
	}, "")
	if system == "" {
		return name
	}
	return name + " on " + system
}
