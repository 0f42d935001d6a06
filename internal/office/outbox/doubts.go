package outbox

import (
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/base/kept"
	"pennypost/internal/mail"
)

// Limits of Doubts.
const (
	maxDoubts = 256
	doubtLife = time.Hour
)

// Doubts remembers the idempotency keys of failed sends that may have arrived all the same: the last 256, each for an
// hour. A sender that repeats a send without a key of its own gets that key, so that there is one message. The file
// has hashes and no text of mail. Methods may be called concurrently.
type Doubts struct {
	path string
	log  *slog.Logger
	any  atomic.Bool

	mu  sync.Mutex // held for I/O too: only failed sends use it
	all []doubt    // the oldest first
}

type doubt struct {
	Send
	Key string    `json:"key"`
	At  mail.Time `json:"at"`
}

// Send identifies a send by its room, its sender, and a sum of session and content.
type Send struct {
	Room mail.RoomName `json:"room"`
	From mail.Name     `json:"from"`
	Sum  string        `json:"sum"` // SHA-256, in hex, of the rest
}

// SendOf identifies the send of a draft. Its key does not matter. session is "" if the sender has none.
func SendOf(room mail.RoomName, from mail.Name, session string, d mail.Draft) Send {
	d.Key = ""
	text, err := jsonx.Marshal(&d)
	if err != nil {
		return Send{} // not valid UTF-8, so no room accepts it
	}
	sum := sha256.Sum256(append(append(text, 0), session...))
	return Send{room, from, hex.EncodeToString(sum[:])}
}

// OpenDoubts reads the file at path, which need not exist. It logs a read error, and starts empty.
func OpenDoubts(path string, log *slog.Logger) *Doubts {
	d := &Doubts{path: path, log: log}
	if err := kept.Load(path, &d.all); err != nil {
		log.Warn("list of sends in doubt unreadable, starting empty", "file", path, "err", err)
		d.all = nil
	}
	d.any.Store(len(d.all) > 0)
	return d
}

// Any reports whether there are any doubts. It is cheap.
func (d *Doubts) Any() bool { return d.any.Load() }

// Key returns the key of a failed send, "" if none is known.
func (d *Doubts) Key(s Send) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.expire(time.Now())
	d.any.Store(len(d.all) > 0)
	if i := slices.IndexFunc(d.all, func(o doubt) bool { return o.Send == s }); i >= 0 {
		return d.all[i].Key
	}
	return ""
}

// expire drops old entries. The caller holds mu.
func (d *Doubts) expire(now time.Time) {
	d.all = slices.DeleteFunc(d.all, func(o doubt) bool { return now.Sub(o.At.Std()) >= doubtLife })
}

// Add remembers the key of a failed send that may have arrived. It ignores the zero Send.
func (d *Doubts) Add(s Send, key string) {
	if s == (Send{}) {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	d.expire(now)
	d.all = slices.DeleteFunc(d.all, func(o doubt) bool { return o.Send == s })
	d.all = append(d.all, doubt{s, key, mail.TimeOf(now)})
	d.all = d.all[max(0, len(d.all)-maxDoubts):]
	d.save()
}

// Settle forgets an acknowledged send: the same text is another message from now on.
func (d *Doubts) Settle(s Send) {
	if s == (Send{}) {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	n := len(d.all)
	d.all = slices.DeleteFunc(d.all, func(o doubt) bool { return o.Send == s })
	if len(d.all) < n {
		d.save()
	}
}

// save writes the file. If that fails, the doubts last until this process ends. The caller holds mu.
func (d *Doubts) save() {
	d.any.Store(len(d.all) > 0)
	if err := kept.Save(d.path, d.all); err != nil {
		d.log.Warn("sends in doubt not saved", "file", d.path, "err", err)
	}
}
