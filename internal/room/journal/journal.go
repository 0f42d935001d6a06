// Package journal defines what the record of a room is: an ordered, durable list of events that can be appended to,
// followed, and read by place. Package jsonl keeps it in a file, package jetstream on a NATS cluster; package
// journaltest holds each to the contract and has one in memory.
package journal

import (
	"context"
	"errors"
	"iter"

	"pennypost/internal/mail"
)

// ErrClosed is returned by the methods of a closed journal and of its cursors.
var ErrClosed = errors.New("journal is closed")

// ErrUnknown is in the chain of an error of Append if what was appended may be stored, now or later, or not: it was
// sent to servers that did not answer in time. What may be appended twice without harm can be appended again.
var ErrUnknown = errors.New("nobody knows whether it is stored")

// ErrAway is in the chain of an error of Append if what keeps the journal cannot be reached: nothing was stored.
var ErrAway = errors.New("the way to the journal is away")

// Prover is a journal whose events are signed by the machines that append them.
type Prover interface {
	// Proven says what the room knows of the machines' keys.
	Proven() Proven
}

// Proven is what a room knows of the machines that write to it.
type Proven struct {
	Key    []byte // of this machine; nil: it signs nothing
	Keys   map[mail.Machine]mail.MachineKey
	Admits bool // no machine comes in any more but by one that is in
	Known  bool // all this is known, and events are checked
}

// Journal is the record of one room.
//
// All methods may be called concurrently.
type Journal interface {
	// Append gives events the next places, in order and adjacent, and makes them durable: it does not return nil
	// before they would survive a power cut. The caller sets everything but Seq and does not touch the events again.
	// It returns the place of the last one; without events, that of the last durable one.
	//
	// An error before anything was written (an event that cannot be encoded, ctx ended while waiting) leaves no
	// trace. Once writing has begun, ctx no longer counts: the outcome is reported as it is. If the disk is full,
	// nothing of the events is stored, and a later Append may succeed. After another error of the disk nobody knows
	// what would survive: the journal is poisoned, and every later Append returns the same error, until the journal
	// has written anew what was acknowledged, or is opened again. One call is not one transaction: a crash may keep
	// its first events.
	//
	// A journal on servers that do not answer returns within two seconds: an error whose chain has ErrUnknown if it
	// was sent to them, else one that says that nothing is stored. Of more than a thousand events, those of other
	// writers may come between; then the rest is refused.
	Append(ctx context.Context, events ...mail.Event) (mail.Seq, error)

	// Last returns the place of the last durable event, 0 if there is none. It may be asked after Close.
	Last() mail.Seq

	// Follow returns a cursor over the durable events behind after, in order, each exactly once. It replays what is
	// there and then goes on live; no event is seen before it is durable. Events that compaction removed are skipped.
	Follow(after mail.Seq) Cursor

	// Read returns the events at places, in order, each once. Those that are not in the journal are left out: nobody
	// was given the place yet, or the event was archived, dropped or erased. Compaction and erasure may go on
	// meanwhile; what was erased before the call is never returned. The events may be shared with cursors: they are
	// not to be changed.
	Read(ctx context.Context, places ...mail.Seq) ([]mail.Event, error)

	// Close waits for appends under way, then frees everything. Cursors return ErrClosed. Closing again does nothing.
	Close() error
}

// Cursor reads a journal in order. It belongs to one goroutine; only Close may be called from another.
type Cursor interface {
	// Next returns at least one event. It blocks while there is none, until ctx ends, the cursor or the journal is
	// closed, or the journal cannot be read. The events may be shared with other cursors: they are not to be changed.
	Next(ctx context.Context) ([]mail.Event, error)
	Close() error
}

// Replayer is a journal that can be read for the headers of messages alone. It is optional, discovered by assertion.
type Replayer interface {
	// Replay is Follow of all there is, for whoever makes a state of it and keeps copies only: the events are valid
	// until the next call of Next. Of messages that come from the disk the subject and the documents may be left out,
	// and the body be blanks of its length.
	Replay() Cursor
}

// Behinder is a journal that others may write to as well, and that appends behind a place or not at all. It is
// optional, discovered by assertion: of a journal without it the caller is the only writer.
type Behinder interface {
	// AppendBehind appends an event as Append does, if the last event stands at after, and returns its place. ok is
	// false if it does not: then the event was not appended, or stands behind others, and what came between is or will
	// be seen by Follow.
	AppendBehind(ctx context.Context, after mail.Seq, event mail.Event) (place mail.Seq, ok bool, err error)
	// End returns the place of the last event that anybody had appended when it was called. Follow may not have come
	// to it yet.
	End(ctx context.Context) (mail.Seq, error)
}

// Reopener is a journal that may have to be opened again. It is optional, discovered by assertion.
type Reopener interface {
	// Reopen returns a channel that is closed when the journal must be closed and opened again: what was acknowledged
	// was lost elsewhere, and stands at other places now. Until then nothing is appended. Whoever made a state of it
	// must make it anew.
	Reopen() <-chan struct{}
}

// Fate is what compaction does with an event.
type Fate uint8

// The fates.
const (
	Keep    Fate = iota // stays
	Archive             // moves to the archive
	Drop                // goes: a later event says all that it said
)

// Compacter is a journal that can forget. It is optional, discovered by assertion.
type Compacter interface {
	// Compact asks fate for each durable event, in order, moves those to archive into the archive (which is durable
	// before they leave the journal) and rewrites the journal without them and the dropped ones. It may be cut off at
	// any step and called again: no event is lost, and none stands twice in the archive. The last event is always
	// kept. Appends wait only while the end of the journal is copied. Fate is not asked about events in which nothing
	// is known: a newer Pennypost wrote them, and they stay.
	Compact(ctx context.Context, fate func(mail.Event) Fate) error

	// Erase removes every event for which match is true from the journal and from the archive, so that their bytes
	// stand in no file. Lines that could not be read are matched by the raw bytes of id. It returns how many lines
	// went. The place of an erased event is not given to another. Cut off, it is to be called again.
	Erase(ctx context.Context, id mail.ID, match func(mail.Event) bool) (int, error)

	// Archived yields the archived events behind a place, in order; or, newest first, those before it, all if it is 0.
	// It finds the place without reading what is beyond it. Events that are archived meanwhile may be missing. After
	// an error it ends.
	Archived(ctx context.Context, from mail.Seq, newest bool) iter.Seq2[mail.Event, error]

	// ArchivedOf returns what the archive has of messages, in order: they themselves, their receipts, erasures
	// and settlements.
	// That it has nothing costs no more to find out, however much is archived.
	ArchivedOf(ctx context.Context, ids ...mail.ID) ([]mail.Event, error)

	// ArchivedAt returns the archived events at places, in order, each once, as far as there are such.
	ArchivedAt(ctx context.Context, places ...mail.Seq) ([]mail.Event, error)
}

// Verifier is a journal whose files can be checked, and to whose files something can happen. It is optional,
// discovered by assertion.
type Verifier interface {
	// Verify reads every file again and names each line that is bad or missing.
	Verify(ctx context.Context) (mail.Verification, error)
	// Repair verifies, sets aside what cannot be read, puts lines that were set aside back where their places are
	// free, and verifies again. Nothing is dropped but copies. If Repaired of the answer is not 0, events stand where
	// cursors have already been: whoever made a state of them must make it anew.
	Repair(ctx context.Context) (mail.Verification, error)
	// Condition returns how the files are.
	Condition() Condition
	// News blocks until something has happened to the files that the person should know of, and returns it, once.
	// After Close it returns ErrClosed.
	News(ctx context.Context) ([]News, error)
}

// Condition is how the files of a journal are.
type Condition struct {
	Bytes    int64 // of the journal, without the archive
	Rejected int   // lines, and whole files, that were set aside
	Missing  int   // lines that are known to have been there and are not
	Broken   error // why nothing can be appended at present; nil if it can
}

// News is something that happened to the files of a journal, in words for the person.
type News struct{ Subject, Body string }
