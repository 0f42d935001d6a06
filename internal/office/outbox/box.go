package outbox

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"pennypost/internal/base/pause"
	"pennypost/internal/mail"
)

// Options are the limits of a box.
type Options struct {
	Log   *slog.Logger
	Most  int   // letters; 0: DefaultMost
	Bytes int64 // of the file; 0: DefaultBytes
}

// The default limits.
const (
	DefaultMost  = 10000
	DefaultBytes = 64 << 20
)

// Box is the outbox of this machine. All methods may be called concurrently.
type Box struct {
	opts  Options
	added pause.Nudge

	writing sync.Mutex // held for I/O on file, and taken before mu
	file    file

	mu      sync.Mutex
	queues  map[of]*queue
	order   []*queue // queues with letters, the oldest first
	rooms   map[mail.RoomName]*room
	refused []*entry
	bad     []span // lines that cannot be read
	trouble string // why no room can be reached, "" if they can
	dead    bool   // the file has lines of settled letters
}

// of is a sender in a room, whose letters stay in order.
type of struct {
	room mail.RoomName
	name mail.Name
}

type queue struct {
	of      of
	letters []*entry // not empty
	sending bool     // a goroutine is emptying it
}

// room is the state of a room to which letters are being sent, or that was recently away.
type room struct {
	sending int // queues
	wait    time.Duration
	next    time.Time // the end of the wait after it was away
}

// entry is a letter whose text is in the file.
type entry struct {
	mail.Kept
	text    span
	refusal span // the line that records the refusal; size 0: not refused
	hash    [sha256.Size]byte
	done    bool          // settled
	over    chan struct{} // closed when it is settled

	// Set before over is closed.
	sent mail.Sent
	err  error // if it was refused
}

// Open reads the outbox in a file, which need not exist.
func Open(path string, opts Options) (*Box, error) {
	opts.Most, opts.Bytes = cmp.Or(opts.Most, DefaultMost), cmp.Or(opts.Bytes, DefaultBytes)
	b := &Box{opts: opts, added: pause.NewNudge(), file: file{path: path}, queues: make(map[of]*queue),
		rooms: make(map[mail.RoomName]*room)}
	torn, err := b.file.read(b.readLine)
	if err != nil {
		return nil, fmt.Errorf("read the outbox %s: %w", path, err)
	}
	if torn > 0 {
		opts.Log.Warn("torn last line of the outbox cut, never acknowledged", "bytes", torn)
	}
	if len(b.bad) > 0 {
		opts.Log.Warn("unreadable lines in the outbox, left unchanged", "lines", len(b.bad), "file",
			path)
	}
	b.Tidy()
	return b, nil
}

// readLine applies a line of the file.
func (b *Box) readLine(text []byte, at span) {
	l, err := unseal(text)
	switch {
	case err != nil:
		b.bad = append(b.bad, at)
	case l.Settled != nil:
		s := l.Settled
		if e := b.find(of{s.Room, s.Name}, s.Key); e != nil {
			b.settle(e, s, at)
		}
		b.dead = b.dead || s.As != asRefused
	case b.find(of{l.Letter.Room, l.Letter.Sender.Name}, l.Letter.Key) == nil:
		b.add(l.Letter, at)
	default:
		b.dead = true // a line was copied
	}
}

// find returns the letter of a sender with a key, nil if there is none. The caller holds mu.
func (b *Box) find(by of, key string) *entry {
	is := func(e *entry) bool { return e.Key == key && e.Room == by.room && e.From == by.name }
	if q := b.queues[by]; q != nil {
		if i := slices.IndexFunc(q.letters, is); i >= 0 {
			return q.letters[i]
		}
	}
	if i := slices.IndexFunc(b.refused, is); i >= 0 {
		return b.refused[i]
	}
	return nil
}

// add appends a letter to its sender's queue. The caller holds mu.
func (b *Box) add(l *Letter, at span) *entry {
	by := of{l.Room, l.Sender.Name}
	q := b.queues[by]
	if q == nil {
		q = &queue{of: by}
		b.queues[by] = q
		b.order = append(b.order, q)
	}
	e := &entry{Kept: l.kept(), text: at, hash: hashOf(&l.Draft), over: make(chan struct{})}
	q.letters = append(q.letters, e)
	return e
}

// settle removes a letter from its queue, and from the refused letters unless it is refused now. at is the line that
// records it. The caller holds mu.
func (b *Box) settle(e *entry, s *settled, at span) {
	by := of{e.Room, e.From}
	if q := b.queues[by]; q != nil && !e.Refused {
		q.letters = slices.DeleteFunc(q.letters, func(o *entry) bool { return o == e })
		if len(q.letters) == 0 {
			delete(b.queues, by)
			b.order = slices.DeleteFunc(b.order, func(o *queue) bool { return o == q })
		}
	}
	if s.As != asRefused {
		b.refused = slices.DeleteFunc(b.refused, func(o *entry) bool { return o == e })
		b.dead = true
		return
	}
	e.Refused, e.Why, e.refusal = true, s.Why, at
	b.refused = append(b.refused, e)
}

// hashOf identifies the drafts that the room takes for the same text.
func hashOf(d *mail.Draft) [sha256.Size]byte {
	return sha256.Sum256([]byte(strings.Join(d.To, "\x00") + "\x01" + d.Type + "\x01" + d.Subject + "\x01" + d.Body))
}

// all returns the waiting letters, by sender, in order. The caller holds mu.
func (b *Box) all() (waiting []*entry) {
	for _, q := range b.order {
		waiting = append(waiting, q.letters...)
	}
	return waiting
}

// Keep writes a letter to the disk, and returns when it is durable. A kept letter with the same key is the same one if
// its text is the same. After an error nothing of it is kept.
func (b *Box) Keep(l Letter) (*Waiting, error) {
	by := of{l.Room, l.Sender.Name}
	b.writing.Lock()
	defer b.writing.Unlock()
	b.mu.Lock()
	earlier, err := b.earlier(by, &l)
	full := b.fullLocked()
	refused := b.find(by, l.Key)
	b.mu.Unlock()
	switch {
	case err != nil:
		return nil, err
	case earlier != nil:
		return &Waiting{b, earlier}, nil
	case full != nil:
		return nil, full
	}
	var before []byte
	again := settled{Room: l.Room, Name: by.name, Key: l.Key, As: asWithdrawn, At: l.Since}
	if refused != nil {
		before, _ = seal(&line{Settled: &again})
	}
	text, err := seal(&line{Letter: &l})
	if err != nil {
		return nil, mail.Errorf(mail.Invalid, "the message cannot be kept, because it is not UTF-8 text")
	}
	text = append(before, text...)
	if b.file.size+int64(len(text)) > b.opts.Bytes {
		return nil, mail.Errorf(mail.Unavailable, "the outbox of this machine is full: its limit is %d MiB "+
			"([outbox] in config.toml). To list it: pennypost outbox", b.opts.Bytes>>20)
	}
	at, err := b.file.append(text, true)
	if err != nil {
		return nil, &mail.Error{Code: mail.Unavailable, Err: err,
			Msg: "the outbox of this machine cannot be written (" + err.Error() + ")"}
	}
	b.mu.Lock()
	if refused != nil {
		b.settle(refused, &again, span{})
	}
	e := b.add(&l, span{at.at + int64(len(before)), at.size - len(before)})
	b.mu.Unlock()
	b.added.Give()
	return &Waiting{b, e}, nil
}

// earlier returns the waiting letter that a new one repeats: one with its key or, if the sender did not choose the
// key, with its text, because the room would take that for a repetition. A refused letter sent again is new.
func (b *Box) earlier(by of, l *Letter) (*entry, error) {
	hash := hashOf(&l.Draft)
	e := b.find(by, l.Key)
	if e != nil && !e.Refused {
		if e.hash != hash {
			return nil, mail.Errorf(mail.Conflict, "the idempotency key %q was used for another message, which is "+
				"kept on this machine. Nothing was sent. Use a new key for a new message", l.Key)
		}
		return e, nil
	}
	if q := b.queues[by]; q != nil && !l.Draft.Again && strings.HasPrefix(l.Key, mail.MadeKey) {
		for _, o := range slices.Backward(q.letters) {
			if o.hash != hash {
				continue
			}
			if l.Since.Sub(o.Since) < sameText {
				return o, nil
			}
			l.Draft.Again = true // they would be sent together, but were meant as two
			break
		}
	}
	return nil, nil
}

func (b *Box) fullLocked() error {
	if b.opts.Most < 0 {
		return mail.Errorf(mail.Unavailable, "letters = -1 in [outbox] of config.toml")
	}
	n := len(b.refused)
	for _, q := range b.order {
		n += len(q.letters)
	}
	if n < b.opts.Most {
		return nil
	}
	return mail.Errorf(mail.Unavailable, "the outbox of this machine is full: its limit is %d letters ([outbox] in "+
		"config.toml). To list it: pennypost outbox", b.opts.Most)
}

// Holds reports whether mail of a sender to a room is waiting: later mail must wait for it.
func (b *Box) Holds(room mail.RoomName, name mail.Name) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.queues[of{room, name}] != nil
}

// Waiting is a kept letter.
type Waiting struct {
	box *Box
	e   *entry
}

// Kept returns the state of the letter.
func (w *Waiting) Kept() *mail.Kept {
	w.box.mu.Lock()
	defer w.box.mu.Unlock()
	return new(w.e.Kept)
}

// Await waits a while for the letter to be settled. over is false if it is not.
func (w *Waiting) Await(most time.Duration) (sent mail.Sent, over bool, err error) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-w.e.over:
		return w.e.sent, true, w.e.err
	case <-timer.C:
		return sent, false, nil
	}
}

// List returns the kept mail for which which is true.
func (b *Box) List(which func(*mail.Kept) bool) mail.Outbox {
	b.writing.Lock() // the spans that we read must not move
	defer b.writing.Unlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	out := mail.Outbox{Letters: []mail.Kept{}, Unread: len(b.bad)}
	for _, e := range slices.Concat(b.refused, b.all()) {
		if !which(&e.Kept) {
			continue
		}
		k := e.Kept
		if !k.Refused {
			k.Why = cmp.Or(b.trouble, k.Why)
		}
		if l, err := b.letter(e); err == nil && e.Refused {
			k.Body = l.Draft.Body
		}
		out.Letters = append(out.Letters, k)
	}
	return out
}

// letter reads a letter. The caller holds writing.
func (b *Box) letter(e *entry) (*Letter, error) {
	text, err := b.file.line(e.text)
	if err != nil {
		return nil, err
	}
	l, err := unseal(text)
	if err == nil && (l.Letter == nil || l.Letter.Key != e.Key || l.Letter.Sender.Name != e.From) {
		err = errNoLine
	}
	if err != nil {
		return nil, err
	}
	return l.Letter, nil
}

// Withdraw removes the letters with a key, and their text from the disk. An error says that there are none, or that it
// failed.
func (b *Box) Withdraw(key string) error {
	b.mu.Lock()
	var these []*entry
	for _, e := range slices.Concat(b.refused, b.all()) {
		if e.Key == key {
			these = append(these, e)
		}
	}
	b.mu.Unlock()
	if len(these) == 0 {
		return mail.Errorf(mail.NotFound, "no message with the key %q is kept on this machine. To list the outbox: "+
			"pennypost outbox", key)
	}
	for _, e := range these {
		if err := b.note(e, &settled{As: asWithdrawn}, mail.Sent{}, nil); err != nil {
			return err
		}
	}
	return b.Tidy()
}

// note records the outcome of a letter, and wakes its waiters.
func (b *Box) note(e *entry, s *settled, sent mail.Sent, refused error) error {
	s.Room, s.Name, s.Key, s.At = e.Room, e.From, e.Key, mail.TimeOf(time.Now())
	b.writing.Lock()
	defer b.writing.Unlock()
	text, err := seal(&line{Settled: s})
	if err != nil {
		return err
	}
	at, err := b.file.append(text, s.As != asSent) // unsynced when sent: if lost, the letter is resent with its key
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil && s.As == asWithdrawn {
		return &mail.Error{Code: mail.Unavailable, Err: err,
			Msg: "the outbox of this machine cannot be written (" + err.Error() + "). Nothing was withdrawn"}
	}
	if !e.done {
		e.done, e.sent, e.err = true, sent, refused
		close(e.over)
	}
	b.settle(e, s, at)
	return err
}

// Tidy removes the text of settled letters from the disk.
func (b *Box) Tidy() error {
	b.writing.Lock()
	defer b.writing.Unlock()
	b.mu.Lock()
	dead := b.dead
	spans := slices.Clone(b.bad)
	refused, waiting := slices.Clone(b.refused), b.all()
	b.mu.Unlock()
	if !dead {
		return nil
	}
	for _, e := range waiting {
		spans = append(spans, e.text)
	}
	for _, e := range refused {
		spans = append(spans, e.text)
		if e.refusal.size > 0 {
			spans = append(spans, e.refusal)
		}
	}
	spans, err := b.file.rewrite(spans)
	if err != nil {
		b.opts.Log.Warn("outbox not compacted", "err", err)
		return &mail.Error{Code: mail.Unavailable, Err: err,
			Msg: "the outbox of this machine cannot be rewritten (" + err.Error() + "): the text of sent or " +
				"withdrawn mail is still in it"}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dead = false
	next := func() span {
		s := spans[0]
		spans = spans[1:]
		return s
	}
	for i := range b.bad {
		b.bad[i] = next()
	}
	for _, e := range waiting {
		e.text = next()
	}
	for _, e := range refused {
		e.text = next()
		if e.refusal.size > 0 {
			e.refusal = next()
		}
	}
	return nil
}
