package session

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"sync"
	"time"

	"pennypost/internal/mail"
)

const (
	LinkTime = 10 * time.Minute // a link is used soon, and may stay in a terminal's history for long
	MaxLinks = 100              // unused links; the oldest is dropped
)

// Links are the valid one-time links. They are in memory only, so a restart voids them.
type Links struct {
	mu   sync.Mutex
	list []Link // in order of expiry
}

// Link logs in one browser, and then redirects it.
type Link struct {
	Room mail.RoomName
	At   Doorway
	To   mail.ID    // a letter or dialog; "": the inbox
	Pass *mail.Pass // of the machine that asked for it; nil: this one

	sum  [sha256.Size]byte
	ends time.Time
}

// Doorway is one of the three kinds of address of the pages: their own name, which is the zero value; the plain
// address; and any address over TLS. A session holds only at the kind where it began.
type Doorway struct{ Plain, TLS bool }

// Add records a link and returns its key.
func (l *Links) Add(one Link) (key string) {
	key = rand.Text()
	one.sum, one.ends = sha256.Sum256([]byte(key)), time.Now().Add(LinkTime)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, one)
	if len(l.list) > MaxLinks {
		l.list = l.list[1:]
	}
	return key
}

// Find returns the link with a key, if it is valid at an address. use consumes the link.
func (l *Links) Find(key string, at Doorway, use bool) (Link, bool) {
	sum := sha256.Sum256([]byte(key))
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, one := range l.list {
		if one.At != at || subtle.ConstantTimeCompare(sum[:], one.sum[:]) == 0 {
			continue
		}
		if use {
			l.list = append(l.list[:i:i], l.list[i+1:]...)
		}
		return one, time.Now().Before(one.ends)
	}
	return Link{}, false
}
