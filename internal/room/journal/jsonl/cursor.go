package jsonl

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal"
)

// Follow implements journal.Journal.
func (j *Journal) Follow(after mail.Seq) journal.Cursor {
	return &cursor{journal: j, at: position{after: after, rewrites: unknown}, closed: make(chan struct{})}
}

// Replay implements journal.Replayer. It leaves next to nothing to the garbage collector, whose work grows with the
// state that replay builds.
func (j *Journal) Replay() journal.Cursor {
	return &cursor{journal: j, at: position{rewrites: unknown}, closed: make(chan struct{}), headers: true}
}

// cursor reads the file until it reaches the tail, then the tail. While its owner handles one part of the file, the
// next is read and decoded.
type cursor struct {
	journal *Journal
	once    sync.Once
	closed  chan struct{}
	headers bool // it is a Replay

	// Owned by the goroutine that calls Next.
	at    position
	ahead <-chan part // the part being read; nil if none
	held  *frames     // of a Replay: memory of the events that Next returned last
}

// position is the point that a cursor has reached.
type position struct {
	after    mail.Seq // the last event returned, or skipped forever
	off      int64    // the offset of the next read
	rewrites int      // identifies the file, or unknown
}

const unknown = -1

// part is the result of one read of the file.
type part struct {
	events []mail.Event
	at     position // after it
	more   bool     // the file continues
	into   *frames
	err    error
}

// frames are reused memory into which a Replay decodes parts, one frame for each half of a part.
type frames [2]frame

type frame struct {
	events   []mail.Event
	messages []loneMessage
	receipts []mail.Receipt
}

func (c *cursor) Next(ctx context.Context) ([]mail.Event, error) {
	for {
		if err := c.ended(ctx); err != nil {
			return nil, err
		}
		if c.ahead == nil {
			events, grown, live := c.journal.live(c.at.after)
			if len(events) > 0 {
				// If the cursor falls out of the tail, its offset must be looked up.
				c.at = position{after: events[len(events)-1].Seq, rewrites: unknown}
				return events, nil
			}
			if live {
				c.held = nil
				c.wait(ctx, grown)
				continue
			}
			c.ahead = c.journal.readAhead(c.at, c.frames(nil))
		}
		if events, err := c.takePart(ctx); len(events) > 0 || err != nil {
			return events, err
		}
	}
}

func (c *cursor) ended(ctx context.Context) error {
	select {
	case <-c.closed:
		return journal.ErrClosed
	default:
		return c.journal.stopped(ctx)
	}
}

func (c *cursor) wait(ctx context.Context, grown <-chan struct{}) {
	select {
	case <-grown:
	case <-c.closed:
	case <-c.journal.closed:
	case <-ctx.Done():
	}
}

// takePart waits for the part being read and starts reading the next one.
func (c *cursor) takePart(ctx context.Context) ([]mail.Event, error) {
	select {
	case p := <-c.ahead:
		c.ahead = nil
		if p.err != nil {
			return nil, p.err
		}
		if !c.journal.current(p.at) {
			return nil, nil // it may hold events erased since; read it again
		}
		c.at = p.at
		free := c.held
		if c.held = p.into; p.more {
			c.ahead = c.journal.readAhead(c.at, c.frames(free))
		}
		return p.events, nil
	case <-c.closed:
	case <-c.journal.closed:
	case <-ctx.Done():
	}
	return nil, nil // Next finds out why
}

// frames returns memory for decoding the next part: free, if not nil, or new frames. It is nil for cursors that share
// events with others.
func (c *cursor) frames(free *frames) *frames {
	if c.headers && free == nil {
		free = new(frames)
	}
	return free
}

// Close may be called while Next waits.
func (c *cursor) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

// live returns events that follow after, or a channel that closes when there are some. It is not live if they must be
// read from the file.
func (j *Journal) live(after mail.Seq) (events []mail.Event, grown <-chan struct{}, live bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if after < j.tail.after {
		return nil, nil, false
	}
	if events := j.tail.behind(after); len(events) > 0 {
		return events, nil, true
	}
	if j.grown == nil {
		j.grown = make(chan struct{})
	}
	return nil, j.grown, true
}

// current reports whether at refers to the current file.
func (j *Journal) current(at position) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return at.rewrites == j.rewrites
}

// readAhead starts reading the part after at, in a goroutine that Close waits for.
func (j *Journal) readAhead(at position, into *frames) <-chan part {
	read := make(chan part, 1)
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closing {
		read <- part{err: journal.ErrClosed}
		return read
	}
	j.readers.Go(func() { read <- j.read(at, into) })
	return read
}

// buffers are read buffers: many followers may need one for a moment, and none for long.
var buffers = sync.Pool{New: func() any { return &chunks{buf: make([]byte, chunkSize)} }}

// read reads and decodes one chunk of the file.
func (j *Journal) read(at position, into *frames) part {
	j.swap.RLock()
	defer j.swap.RUnlock()
	if j.file == nil {
		return part{err: j.usable()}
	}
	j.mu.Lock()
	size, last := j.size, j.end.end
	if at.rewrites != j.rewrites {
		at.off, at.rewrites = j.index.before(at.after), j.rewrites
	}
	j.mu.Unlock()

	c := buffers.Get().(*chunks)
	defer buffers.Put(c)
	*c = chunks{from: j.file, off: at.off, end: size, buf: c.buf}
	text, off, err := c.next()
	if err != nil {
		return part{err: fmt.Errorf("read %s at %d: %w", mainName, off, err)}
	}
	events := decodeTwice(text, off, at.after, last, into, func(l line, err error) { j.badLine(mainName, l, err) })
	at.off = c.off
	if len(events) > 0 {
		at.after = events[len(events)-1].Seq
	}
	if at.off == size {
		at.after = max(at.after, last) // last may be in a line that went bad
	}
	return part{events: events, at: at, more: at.off < size, into: into}
}

// decodeTwice is decodeLines with two goroutines, one for each half.
func decodeTwice(text []byte, off int64, after, last mail.Seq, into *frames, bad func(line, error)) []mail.Event {
	half := bytes.LastIndexByte(text[:len(text)/2], '\n') + 1
	var into1, into2 *frame
	if into != nil {
		into1, into2 = &into[0], &into[1]
	}
	if half == 0 {
		return decodeLines(text, off, after, last, into1, bad)
	}
	second := make(chan []mail.Event, 1)
	go func() { second <- decodeLines(text[half:], off+int64(half), after, last, into2, bad) }()
	events := decodeLines(text[:half], off, after, last, into1, bad)
	for _, e := range <-second {
		if len(events) == 0 || e.Seq > events[len(events)-1].Seq {
			events = append(events, e)
		}
	}
	if into != nil {
		into1.events = events // it may have grown
	}
	return events
}

// decodeLines returns the events in some lines that follow after. Stubs are not events, except that a stub at the
// journal's end, last, yields an empty event with that sequence number.
func decodeLines(text []byte, off int64, after, last mail.Seq, into *frame, bad func(line, error)) []mail.Event {
	p := parser{into: into}
	var events []mail.Event
	if into != nil {
		events, into.messages, into.receipts = into.events[:0], into.messages[:0], into.receipts[:0]
	}
	events = slices.Grow(events, bytes.Count(text, []byte("\n")))
	for len(text) > 0 {
		var l line
		l, text = cutLine(text, off)
		off = l.end()
		if len(l.text) == 0 {
			continue
		}
		it, covered, err := inspect(l.text)
		switch {
		case err != nil:
			bad(l, err)
		case it.end <= after || it.gone != "" && it.end != last:
		case it.gone != "":
			after = it.end
			events = append(events, mail.Event{Seq: it.end, At: it.at()})
		default:
			after = it.seq
			events = append(events, p.decode(it.seq, covered))
		}
	}
	if into != nil {
		into.events = events
	}
	return events
}

// badLine reports an unreadable line: it went bad after Open, or is in the archive, which Open does not read.
func (j *Journal) badLine(name string, l line, err error) {
	j.log.Warn("skipped an unreadable line", "file", name, "offset", l.off, "bytes", l.bytes, "why", err)
}
