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

// Bounds of sessions.
const (
	Idle      = 12 * time.Hour      // without an act of the person: a day's work has breaks, and a night ends it
	Longest   = 30 * 24 * time.Hour // whatever the person does
	Most      = 20                  // a person's browsers; the one that was quiet for longest goes
	SeenEvery = 5 * time.Minute     // how far the file may lag behind in when a session was last used
)

// Session is a browser that is logged in.
type Session struct {
	ID      string    `json:"id"`      // names it; it opens nothing
	Browser string    `json:"browser"` // which one it said to be, in our words
	Opened  mail.Time `json:"opened"`
	Seen    mail.Time `json:"seen"`           // when the person last did something in it
	Plain   bool      `json:"plain,omitzero"` // it was opened at the plain address, and holds there only
	TLS     bool      `json:"tls,omitzero"`   // it was opened over TLS, and holds there only
	// Machine is for which other machine it was opened, and with whose token it ends; "": none.
	Machine mail.Machine `json:"machine,omitempty"`
}

// at returns where the session holds.
func (s *Session) at() Doorway { return Doorway{s.Plain, s.TLS} }

// over reports whether the session has ended by itself.
func (s *Session) over(now time.Time) bool {
	return now.Sub(s.Seen.Std()) >= Idle || now.Sub(s.Opened.Std()) >= Longest
}

// entry is a session as the file has it.
type entry struct {
	Session
	Sum  string `json:"sum"`            // SHA-256 of what the browser's cookie says, in hex
	Pass string `json:"pass,omitempty"` // id of that of the machine; "": any, as older versions wrote it

	life *life.Life // nil: not asked for yet
}

// sessionFile is the whole file.
type sessionFile struct {
	Key      string  `json:"key"` // what the sessions hang on
	Sessions []entry `json:"sessions"`
}

// Store is the browsers that are logged in. They are in a file, too, so that they outlive the post office.
type Store struct {
	path string // "": they are in memory only
	key  string // sessions of another key are void
	// machine returns the life of a machine's token, nil if that has ended
	machine func(machine mail.Machine, id string) *life.Life

	mu    sync.Mutex
	list  []entry
	saved time.Time // when the file got what it holds

	writing sync.Mutex // held while the file is written: what was written last must be the latest
}

// Open reads the file at path. Where it cannot be understood, or is of another key, nobody is logged in. The
// sessions are usable whatever the error.
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
		return s, fmt.Errorf("read the sessions of browsers; nobody is logged in: %w", err)
	}
	if file.Key == s.key {
		s.list = file.Sessions
	}
	return s, nil
}

// Begin makes a session and returns what its cookie is to say. It holds, in memory, even if it cannot be written.
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

// Good reports whether what stands on the pass of a machine may begin; nil: it stands on none.
func (s *Store) Good(pass *mail.Pass) bool {
	return pass == nil || s.machine(pass.Machine, pass.ID) != nil
}

// Find returns the session of a cookie at an address; ctx ends when it does. An act of the person keeps it from
// ending; an error says that this is not written.
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

// stand has ctx end when a session does. The caller holds mu.
func (s *Store) stand(ctx context.Context, k *entry) {
	if k.life == nil {
		k.life = life.New()
	}
	_ = life.Stand(ctx, k.life) // it was found, so it has not ended
	if k.Machine != "" {
		if of := s.machine(k.Machine, k.Pass); of != nil {
			_ = life.Stand(ctx, of) // if that has ended meanwhile, ctx has
		}
	}
}

// Watch ends a session when it has idled for too long, until stop is called: nobody else may look.
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

// left returns how long a session has before it ends by itself, 0 if it has ended.
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

// All returns the sessions, the last used first.
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

// End ends the session, or every one if id is "".
func (s *Store) End(id string) error {
	ended, err := s.endAll(func(k *entry) bool { return id == "" || k.ID == id })
	if ended == 0 && id != "" {
		return mail.Errorf(mail.NotFound, "there is no session %s; it may have ended", id)
	}
	return err
}

// endAll ends the sessions for which which is true, and returns how many those were.
func (s *Store) endAll(which func(*entry) bool) (ended int, err error) {
	s.mu.Lock()
	ended = s.endLocked(which)
	s.mu.Unlock()
	if ended == 0 {
		return 0, nil
	}
	if err := s.save(); err != nil {
		return ended, &mail.Error{Code: mail.Unavailable, Err: err,
			Msg: "the session has ended, but the file that remembers sessions could not be written, so it would be " +
				"open again " +
				"after a restart. Make room on the disk, then end all with: pennypost open --revoke all"}
	}
	return ended, nil
}

// tidy forgets what has ended by itself. The caller holds mu.
func (s *Store) tidy(now time.Time) {
	s.endLocked(func(k *entry) bool {
		return k.over(now) || k.Machine != "" && s.machine(k.Machine, k.Pass) == nil
	})
}

// endLocked ends the sessions for which which is true, and what stands on them, and returns how many those were.
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
			k.life.End(mail.Errorf(mail.Unknown, "this browser is not logged in any more"))
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

// sumOf is what is kept of a cookie. A cookie is random and long, so its hash tells nothing of it.
func sumOf(cookie string) string {
	sum := sha256.Sum256([]byte(cookie))
	return hex.EncodeToString(sum[:])
}

// Browser says in our words which browser a header names. What the header says itself is a stranger's text, and is
// not shown.
func Browser(agent string) string {
	first := func(words [][2]string, other string) string {
		for _, w := range words {
			if strings.Contains(agent, w[0]) {
				return w[1]
			}
		}
		return other
	}
	// Browsers name those whose pages they want to be sent, so the pretenders come before what they pretend to be.
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
