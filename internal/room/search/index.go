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

// Message is the content of a message that the index needs.
type Message struct {
	Seq           mail.Seq
	ID            mail.ID
	Subject, Body string
}

// Limits on the messages in memory before they become a part: enough to be worth a file, but few enough that a room
// needs no megabytes for them and reads them again quickly when it is opened.
const (
	freshMessages = 1024
	freshBytes    = 512 << 10
)

// joinParts parts are merged at a time, and a part is merged joinLevels times. So a million messages are in some
// thirty parts, of at most 65,536 messages and some 20 MB each.
const (
	joinParts  = 8
	joinLevels = 2
)

// Index is the index of a room. All methods may be called concurrently.
type Index struct {
	dir  string
	log  *slog.Logger
	work sync.Mutex // held by the goroutine that changes the index; taken before mu

	mu     sync.RWMutex
	parts  []*part
	fresh  []fresh  // messages after the parts
	bytes  int      // total length of their texts
	end    mail.Seq // parts and fresh have all messages up to it
	fits   bool     // Check has run
	closed bool
}

// Open opens the index in a directory, which need not exist. It removes files that are no part of the index, and parts
// that cover more than the journal's last sequence number: they belong to another journal. Until Check has run, the
// parts might not match the room.
func Open(dir string, last mail.Seq, log *slog.Logger) *Index {
	x := &Index{dir: dir, log: log}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		log.Warn("search index rebuilt", "err", err)
	}
	var found []*part
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		p, err := openPart(path)
		if err != nil {
			if !strings.HasSuffix(path, ".tmp") {
				log.Warn("part of the search index rebuilt", "file", e.Name(), "err", err)
			}
			_ = os.RemoveAll(path)
			continue
		}
		found = append(found, p)
	}
	// Of parts with the same start, the longest is the merge of the others.
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

// remove closes a part and removes its file.
func (p *part) remove() {
	p.file.Close()
	_ = os.Remove(p.path)
}

// Close releases everything. Messages in memory are read from the room again after the next Open.
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

// End returns the sequence number up to which the index has all messages, 0 before Check.
func (x *Index) End() mail.Seq {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if !x.fits {
		return 0
	}
	return x.end
}

// Clear drops the whole index.
func (x *Index) Clear() {
	x.work.Lock()
	defer x.work.Unlock()
	x.dropFrom(0)
}

// Check drops parts that were not made from this room. For each part, fits says whether its last message is the room's
// message with that sequence number.
func (x *Index) Check(fits func(seq mail.Seq, is func(mail.ID) bool) bool) {
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
		if err != nil || !fits(last.seq, func(id mail.ID) bool { return hashID(id) == last.id }) {
			x.log.Warn("search index does not match the room; rebuilt", "from", p.after, "err", err)
			x.dropFrom(i)
			return
		}
	}
}

// dropFrom drops the i'th part and all after it. The caller holds work.
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

// Grow indexes more messages. next returns some messages after a sequence number, in order, and the sequence number up
// to which there are no others. Nothing is erased while next runs, so its result is not stale. grown is false if there
// was nothing new. An error means that the index cannot be written, and that an early retry is pointless.
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

// take adds the first of some messages to memory, at most enough to fill a part, and returns the others. There are no
// other messages up to upTo. The caller holds work.
func (x *Index) take(messages []Message, upTo mail.Seq) (left []Message) {
	var more []fresh
	end, bytes := x.end, x.bytes
	for len(messages) > 0 && bytes < freshBytes {
		m := messages[0]
		text := slices.Clip(find.Text(nil, m.Subject, m.Body))
		more, bytes = append(more, fresh{doc{seq: m.Seq, id: hashID(m.ID)}, text}), bytes+len(text)
		messages, end = messages[1:], m.Seq
	}
	if len(messages) == 0 {
		end = upTo
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.fresh, x.bytes, x.end = append(x.fresh, more...), bytes, end
	return messages
}

// flush makes a part of the messages in memory if there are enough. The caller holds work.
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

// writeTemp writes a temporary file.
func (x *Index) writeTemp(fill func(*os.File) error) (path string, err error) {
	if err := durable.MkdirAll(x.dir, 0o700); err != nil {
		return "", err
	}
	f, err := os.CreateTemp(x.dir, "*.tmp") // mode 0600
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

// join merges the last parts while joinParts consecutive ones have the same level. The caller holds work.
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
			x.log.Warn("search index rebuilt from an unreadable part on", "from", some[0].after)
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

// Erase removes a message from the index. The grams of a short text reveal most of it, so the parts that have the
// message are rewritten.
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
		// For example, a full disk. Removing always works, and removed parts can be rebuilt.
		x.log.Warn("search index rebuilt from an erased message on", "from", p.after, "err", err)
		x.dropFrom(i)
		return durable.SyncDir(x.dir)
	}
	return nil
}

// rewrite rewrites the i'th part without a message, durably. The old file is closed before the new one takes its name:
// some systems require that.
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
		return errBroken // the part is missing or unreadable
	}
	return durable.SyncDir(x.dir)
}
