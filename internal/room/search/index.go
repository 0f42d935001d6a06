package search

import (
	"cmp"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"pennypost/internal/base/durable"
	"pennypost/internal/mail"
	"pennypost/internal/mail/find"
)

// Message is what the index has to know of a message.
type Message struct {
	Place         mail.Seq
	ID            mail.ID
	Subject, Body string
}

// How much is kept in memory before it becomes a part: so much that a part is worth a file, and so little that a room
// takes no megabytes for it and builds it anew at once when it is opened.
const (
	freshMessages = 1024
	freshBytes    = 512 << 10
)

// Parts are joined joinParts at a time, and a part is joined joinLevels times, so that a million messages are in some
// thirty parts, of at most 65,536 messages and some 20 MB each.
const (
	joinParts  = 8
	joinLevels = 2
)

// Index is the index of a room. All methods may be called concurrently.
type Index struct {
	dir  string
	log  *slog.Logger
	work sync.Mutex // held by whoever changes the index; taken before mu

	mu     sync.RWMutex
	parts  []*part
	fresh  []fresh  // of the messages behind them
	bytes  int      // of the texts of those
	end    mail.Seq // all messages up to there are in parts or fresh
	fits   bool     // Check has looked
	closed bool
}

// Open opens the index in a directory, which need not be there. What is no part of it is removed, and so is what
// covers places behind the journal's last: it was made of another's. Nothing is known to fit the room until Check has
// looked.
func Open(dir string, last mail.Seq, log *slog.Logger) *Index {
	x := &Index{dir: dir, log: log}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		log.Warn("the index of words is made anew", "err", err)
	}
	var found []*part
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		p, err := openPart(path)
		if err != nil {
			if !strings.HasSuffix(path, ".tmp") {
				log.Warn("a part of the index of words is made anew", "file", e.Name(), "err", err)
			}
			_ = os.RemoveAll(path)
			continue
		}
		found = append(found, p)
	}
	// Of those that begin at a place, the longest was joined of the others.
	slices.SortFunc(found, func(a, b *part) int {
		return cmp.Or(cmp.Compare(a.after, b.after), cmp.Compare(b.upTo, a.upTo))
	})
	for _, p := range found {
		if p.after != x.end || p.upTo > last {
			p.remove()
			continue
		}
		x.parts, x.end = append(x.parts, p), p.upTo
	}
	return x
}

// remove closes a part and takes its file away.
func (p *part) remove() {
	p.file.Close()
	_ = os.Remove(p.path)
}

// Close frees everything. What is in memory only is read from the room again when it is next opened.
func (x *Index) Close() {
	x.work.Lock()
	defer x.work.Unlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, p := range x.parts {
		p.file.Close()
	}
	x.parts, x.fresh, x.end, x.closed = nil, nil, 0, true
}

// End returns the place up to which the index knows all messages, 0 before Check.
func (x *Index) End() mail.Seq {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if !x.fits {
		return 0
	}
	return x.end
}

// Clear drops all that the index knows.
func (x *Index) Clear() {
	x.work.Lock()
	defer x.work.Unlock()
	x.dropFrom(0)
}

// Check drops what was not made of the messages of this room: fits is asked, of each part, whether its last message is
// the room's at that place.
func (x *Index) Check(fits func(place mail.Seq, is func(mail.ID) bool) bool) {
	x.work.Lock()
	defer x.work.Unlock()
	defer func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.fits = true
	}()
	for i, p := range x.parts {
		if p.docs == 0 {
			continue
		}
		last, err := (&Found{part: p, page: -1}).message(p.docs - 1)
		if err != nil || !fits(last.place, func(id mail.ID) bool { return hashID(id) == last.id }) {
			x.log.Warn("the index of words does not fit the room and is made anew", "from", p.after, "err", err)
			x.dropFrom(i)
			return
		}
	}
}

// dropFrom drops the i'th part and all behind it. The caller has work.
func (x *Index) dropFrom(i int) {
	x.mu.Lock()
	gone := x.parts[i:]
	x.end = 0
	if i > 0 {
		x.end = x.parts[i-1].upTo
	}
	x.parts, x.fresh, x.bytes = slices.Clone(x.parts[:i]), nil, 0
	x.mu.Unlock()
	for _, p := range gone {
		p.remove()
	}
}

// Grow has more messages indexed: next returns some of those behind a place, in order, and up to which place there are
// no others. While it is asked nothing is erased, so what it read is not stale. grown is false if there was nothing
// new. An error means that the index cannot be written, and that it is not worth trying again soon.
func (x *Index) Grow(next func(after mail.Seq) ([]Message, mail.Seq, error)) (grown bool, err error) {
	x.work.Lock()
	defer x.work.Unlock()
	if x.closed {
		return false, nil
	}
	if i := slices.IndexFunc(x.parts, func(p *part) bool { return p.broken.Load() }); i >= 0 {
		x.dropFrom(i)
	}
	if err := x.flush(); err != nil {
		return false, err
	}
	after := x.end
	messages, upTo, err := next(after)
	if err != nil || upTo <= after {
		return false, err
	}
	for x.end < upTo {
		messages = x.take(messages, upTo)
		if err := x.flush(); err != nil {
			return true, err
		}
	}
	return true, nil
}

// take takes the first of some messages into memory, no more than fill a part, and returns the others. Behind them is
// nothing up to a place. The caller has work.
func (x *Index) take(messages []Message, upTo mail.Seq) (left []Message) {
	var more []fresh
	end, bytes := x.end, x.bytes
	for len(messages) > 0 && bytes < freshBytes {
		m := messages[0]
		text := slices.Clip(find.Text(nil, m.Subject, m.Body))
		more, bytes = append(more, fresh{doc{place: m.Place, id: hashID(m.ID)}, text}), bytes+len(text)
		messages, end = messages[1:], m.Place
	}
	if len(messages) == 0 {
		end = upTo
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.fresh, x.bytes, x.end = append(x.fresh, more...), bytes, end
	return messages
}

// flush makes a part of the messages in memory if they are many. The caller has work.
func (x *Index) flush() error {
	if len(x.fresh) < freshMessages && x.bytes < freshBytes {
		return nil
	}
	after := mail.Seq(0)
	if n := len(x.parts); n > 0 {
		after = x.parts[n-1].upTo
	}
	p, err := x.write(after, x.end, func(f *os.File) error { return buildPart(f, x.fresh, after, x.end) })
	if err != nil {
		return err
	}
	x.mu.Lock()
	x.parts, x.fresh, x.bytes = append(slices.Clone(x.parts), p), nil, 0
	x.mu.Unlock()
	return x.join()
}

// write makes the file of a part, and opens it.
func (x *Index) write(after, upTo mail.Seq, fill func(*os.File) error) (*part, error) {
	tmp, err := x.writeTemp(fill)
	if err != nil {
		return nil, err
	}
	return x.put(tmp, after, upTo)
}

// writeTemp writes a file of no name yet.
func (x *Index) writeTemp(fill func(*os.File) error) (path string, err error) {
	if err := durable.MkdirAll(x.dir, 0o700); err != nil {
		return "", err
	}
	f, err := os.CreateTemp(x.dir, "*.tmp") // with the permissions 0600
	if err != nil {
		return "", err
	}
	if err := errors.Join(fill(f), f.Close()); err != nil {
		_ = os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}

// put gives a file the name of a part, and opens it.
func (x *Index) put(tmp string, after, upTo mail.Seq) (*part, error) {
	path := filepath.Join(x.dir, nameOf(after, upTo))
	if err := os.Rename(tmp, path); err != nil {
		_ = os.Remove(tmp)
		return nil, err
	}
	return openPart(path)
}

// join joins the last parts, as long as so many of a level stand behind each other. The caller has work.
func (x *Index) join() error {
	for {
		n := len(x.parts)
		if n < joinParts {
			return nil
		}
		some := x.parts[n-joinParts:]
		level := some[0].level
		if level >= joinLevels || slices.ContainsFunc(some, func(p *part) bool { return p.level != level }) {
			return nil
		}
		p, err := x.write(some[0].after, some[joinParts-1].upTo, func(f *os.File) error {
			return mergeParts(f, some, level+1, 0)
		})
		if errors.Is(err, errBroken) {
			x.log.Warn("the index of words is made anew from a part that cannot be read", "from", some[0].after)
			x.dropFrom(n - joinParts)
			return nil
		}
		if err != nil {
			return err
		}
		x.mu.Lock()
		x.parts = append(slices.Clone(x.parts[:n-joinParts]), p)
		x.mu.Unlock()
		for _, p := range some {
			p.remove()
		}
	}
}

// Erase takes out what the index knows of a message. Its grams say much of a short text, so the parts that have it
// are written anew.
func (x *Index) Erase(id mail.ID) error {
	x.work.Lock()
	defer x.work.Unlock()
	hash := hashID(id)
	x.mu.Lock()
	x.fresh = slices.DeleteFunc(slices.Clone(x.fresh), func(m fresh) bool {
		if m.id == hash {
			x.bytes -= len(m.text)
		}
		return m.id == hash
	})
	x.mu.Unlock()
	for i := 0; i < len(x.parts); i++ {
		p := x.parts[i]
		docs, err := p.allDocs()
		if err == nil && !slices.ContainsFunc(docs, func(d doc) bool { return d.id == hash }) {
			continue
		}
		if err == nil {
			err = x.rewrite(i, hash)
		}
		if err == nil {
			continue
		}
		// A full disk, say: removing is always possible, and what is removed can be made anew.
		x.log.Warn("the index of words is made anew from where something was erased", "from", p.after, "err", err)
		x.dropFrom(i)
		return durable.SyncDir(x.dir)
	}
	return nil
}

// rewrite writes the i'th part without a message, durably. The old file is closed before the new one takes its name:
// some systems want that.
func (x *Index) rewrite(i int, without uint64) error {
	p := x.parts[i]
	tmp, err := x.writeTemp(func(f *os.File) error {
		return errors.Join(mergeParts(f, []*part{p}, p.level, without), f.Sync())
	})
	if err != nil {
		return err
	}
	x.mu.Lock()
	p.file.Close()
	written, err := x.put(tmp, p.after, p.upTo)
	if err == nil {
		x.parts = slices.Clone(x.parts)
		x.parts[i] = written
	}
	x.mu.Unlock()
	if err != nil {
		return errBroken // there is none now, or none that can be read
	}
	return durable.SyncDir(x.dir)
}
