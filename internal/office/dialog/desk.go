package dialog

import (
	"cmp"
	"crypto/rand"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/base/kept"
	"pennypost/internal/base/pause"
	"pennypost/internal/mail"
	"pennypost/internal/office/hook"
	"pennypost/internal/wire"
)

// Limits of a Desk.
const (
	maxOpen  = 1000     // dialogs
	maxBytes = 64 << 20 // of questions
)

// Desk has the open dialogs of this machine's clients. It is safe for concurrent use.
type Desk struct {
	Opened pause.Nudge // given when a new dialog is added

	dir string // "": dialogs are lost at a restart
	log *slog.Logger

	disk sync.Mutex // held while writing files; taken before mu

	mu    sync.Mutex
	open  map[mail.ID]*entry
	bytes int
	uses  uses
	away  []wire.Away
}

// entry is one dialog.
type entry struct {
	hook.Held
	size    int           // in bytes
	waiters []waiter      // hooks of its client; each is given at most one answer
	seat    *waiter       // reserved for the hook that opened it; nil: that hook is waiting, or will not wait
	handed  chan struct{} // an answer was handed over; closed when the client has it
	gone    chan struct{} // closed when the dialog is over

	ending   bool               // the room is being told of its end
	drawn    bool               // the client has recorded that it is at the dialog
	over     time.Time          // since when the client records no dialog; zero: it does
	believed mail.DialogOutcome // the outcome reported by a hook, not yet trusted
}

// waiter is a waiting hook.
type waiter struct {
	answer chan mail.DialogAnswer // closed: there will be none
	shown  string                 // the hook's question, as Held.Shown has it
}

// maxWaiters is how many hooks may wait for one dialog.
const maxWaiters = 8

// Open returns the desk with the files in dir, which is created when needed. A file that cannot be read is moved away;
// the client itself still shows that dialog.
func Open(dir string, log *slog.Logger) *Desk {
	d := &Desk{Opened: pause.NewNudge(), dir: dir, log: log, open: make(map[mail.ID]*entry)}
	if dir == "" {
		return d
	}
	files, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		log.Warn("saved dialogs cannot be listed", "dir", dir, "err", err)
	}
	for _, f := range files {
		id, ok := strings.CutSuffix(f.Name(), ".json")
		if !ok {
			continue
		}
		e := &entry{gone: make(chan struct{})}
		if err := kept.Load(d.path(mail.ID(id)), &e.Held); err != nil || e.ID != mail.ID(id) {
			log.Warn("saved dialog cannot be read", "file", f.Name(), "err", err)
			_ = os.Rename(d.path(mail.ID(id)), d.path(mail.ID(id))+".bad")
			continue
		}
		e.size = size(&e.Held)
		d.open[e.ID], d.bytes = e, d.bytes+e.size
	}
	if err := kept.Load(d.awayPath(), &d.away); err != nil {
		log.Warn("away setting cannot be read", "file", d.awayPath(), "err", err)
	}
	return d
}

func (d *Desk) path(id mail.ID) string { return filepath.Join(d.dir, string(id)+".json") }

func size(h *hook.Held) int {
	text, _ := jsonx.Marshal(h) // a dialog that cannot be encoded has size 0, and is refused when it is saved
	return len(text)
}

// strip removes everything from a dialog that the room does not know.
func strip(h *hook.Held) { h.Ask = mail.Ask{Cut: true, Dir: h.Dir, Who: h.Who} }

// Of returns the open dialogs of a client's session.
func (d *Desk) Of(client, session string) (list []hook.Held) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.open {
		if e.Session == session && e.Client == client {
			list = append(list, e.Held)
		}
	}
	return list
}

// All returns the open dialogs, the longest waiting first.
func (d *Desk) All() []hook.Held {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := make([]hook.Held, 0, len(d.open))
	for _, e := range d.open {
		list = append(list, e.Held)
	}
	slices.SortFunc(list, func(a, b hook.Held) int {
		return cmp.Or(a.Opened.Compare(b.Opened), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// IsOpen reports whether a dialog is open here and its end is not being told to its room.
func (d *Desk) IsOpen(id mail.ID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.open[id]
	return e != nil && !e.ending
}

// Holds reports whether a dialog is open here.
func (d *Desk) Holds(id mail.ID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.open[id] != nil
}

// Add adds h. Several hooks of a client for one dialog share it: again says that it was added before. A dialog that is
// shown differently is another one, unless only one of the two takes answers.
func (d *Desk) Add(h hook.Held) (id mail.ID, again bool, err error) {
	d.mu.Lock()
	if e := d.same(&h); e != nil {
		defer d.mu.Unlock()
		return e.ID, true, nil
	}
	if len(d.open) >= maxOpen {
		defer d.mu.Unlock()
		return "", false, mail.Errorf(mail.Limited, "too many open dialogs; the limit is %d", maxOpen)
	}
	h.ID, h.Opened = mail.ID("d-"+strings.ToLower(rand.Text()[:10])), time.Now()
	e := &entry{Held: h, gone: make(chan struct{}), size: size(&h)}
	if d.bytes+e.size > maxBytes {
		strip(&e.Held)
		e.size = size(&e.Held)
	}
	if len(e.Offers) > 0 {
		e.seat = &waiter{make(chan mail.DialogAnswer, 1), h.Shown()}
		e.waiters = append(e.waiters, *e.seat)
	}
	d.open[h.ID], d.bytes = e, d.bytes+e.size
	d.mu.Unlock()
	if err := d.keep(h.ID); err != nil {
		d.Remove(h.ID)
		return "", false, err
	}
	d.Opened.Give()
	return h.ID, false, nil
}

// same returns the dialog that equals h, nil if h is new.
func (d *Desk) same(h *hook.Held) *entry {
	for _, e := range d.open {
		if e.Room != h.Room || e.Session != h.Session || e.Client != h.Client || e.Worker != h.Worker ||
			e.Sum != h.Sum || len(e.Offers) > 0 && len(h.Offers) > 0 && e.Shown() != h.Shown() {
			continue
		}
		if len(e.Offers) == 0 && len(h.Offers) > 0 { // only h takes answers
			e.Kind, e.Ask, e.Beside, e.Told = h.Kind, h.Ask, h.Beside, h.Told
		}
		e.Process = cmp.Or(e.Process, h.Process)
		return e
	}
	return nil
}

// keep updates the file of a dialog; it removes the file of one that is over.
func (d *Desk) keep(id mail.ID) error {
	if d.dir == "" {
		return nil
	}
	d.disk.Lock()
	defer d.disk.Unlock()
	d.mu.Lock()
	e := d.open[id]
	var h hook.Held
	if e != nil {
		h = e.Held
	}
	d.mu.Unlock()
	if e == nil {
		if err := os.Remove(d.path(id)); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return err
	}
	return kept.Save(d.path(id), &h)
}

// Leave forgets the dialogs of a removed room. Their clients still show them.
func (d *Desk) Leave(room mail.RoomName) {
	for _, h := range d.All() {
		if h.Room == room {
			d.Remove(h.ID)
		}
	}
}

// Remove forgets a dialog, and ends the waits for its answer.
func (d *Desk) Remove(id mail.ID) {
	d.mu.Lock()
	e := d.open[id]
	if e != nil {
		delete(d.open, id)
		d.bytes -= e.size
		close(e.gone)
	}
	d.mu.Unlock()
	if e == nil {
		return
	}
	if err := d.keep(id); err != nil {
		d.log.Warn("question of an ended dialog still on disk", "file", d.path(id), "err", err)
	}
}

// Believe records how a dialog ended, in case it turns out to be over.
func (d *Desk) Believe(id mail.ID, how mail.DialogOutcome) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if e := d.open[id]; e != nil {
		e.believed = how
	}
}

// Seen records whether the client was just seen at a dialog. It returns whether it ever was, since when it is not, and
// the outcome that Believe recorded.
func (d *Desk) Seen(id mail.ID, open bool) (drawn bool, over time.Time, believed mail.DialogOutcome) {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.open[id]
	if e == nil {
		return false, time.Time{}, ""
	}
	switch {
	case open:
		e.drawn, e.over, e.believed = true, time.Time{}, ""
	case e.over.IsZero():
		e.over = time.Now()
	}
	return e.drawn, e.over, e.believed
}
