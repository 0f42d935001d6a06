// Package journal defines the record of a room: an ordered, durable list of events that can be appended to, followed,
// and read by sequence number. Package jsonl keeps it in a file, package jetstream on a NATS cluster; package
// journaltest tests each against the contract and has an in-memory one.
package journal

import (
	"context"
	"errors"
	"iter"

	"pennypost/internal/mail"
)

// ErrClosed is returned by the methods of a closed journal and of its cursors.
var ErrClosed = errors.New("journal is closed")

// ErrUnknown is in the chain of an error of Append if the events may or may not be stored, now or later: they were
// sent to servers that did not answer in time. Idempotent events can be appended again.
var ErrUnknown = errors.New("it may or may not be stored")

// ErrAway is in the chain of an error of Append if the journal's storage cannot be reached: nothing was stored.
var ErrAway = errors.New("the journal is not reachable")

// Prover is a journal whose events are signed by the machines that append them.
type Prover interface {
	// Proven returns what the room knows of the machines' keys.
	Proven() Proven
}

// Proven is what a room knows of the machines that write to it.
type Proven struct {
	Key    []byte // of this machine; nil: it signs nothing
	Keys   map[mail.Machine]mail.MachineKey
	Admits bool // new machines are admitted only by one that is in
	Known  bool // all this is known, and events are checked
}

// Journal is the record of one room.
//
// All methods may be called concurrently.
type Journal interface {
	// Append gives events the next sequence numbers, in order and adjacent, and makes them durable: it does not
	// return nil before they would survive a power cut. The caller sets everything but Seq and does not touch the
	// events again. It returns the sequence number of the last one; without events, that of the last durable one.
	//
	// An error before anything was written (an event that cannot be encoded, ctx ended while waiting) leaves no
	// trace. Once writing has begun, ctx no longer counts: the actual outcome is reported. If the disk is full, none
	// of the events is stored, and a later Append may succeed. After any other disk error it is unknown what would
	// survive: the journal is poisoned, and every later Append returns the same error until the journal has rewritten
	// the acknowledged events or is opened again. One call is not one transaction: a crash may keep only its first
	// events.
	//
	// A journal on servers that do not answer returns within two seconds: an error whose chain has ErrUnknown if the
	// events were sent, otherwise one that says that nothing is stored. Among more than a thousand events, those of
	// other writers may be interleaved; then the rest is refused.
	Append(ctx context.Context, events ...mail.Event) (mail.Seq, error)

	// Last returns the sequence number of the last durable event, 0 if there is none. It may be called after Close.
	Last() mail.Seq

	// Follow returns a cursor over the durable events after a sequence number, in order, each exactly once. It
	// replays the existing events and then continues live; no event is seen before it is durable. Events that
	// compaction removed are skipped.
	Follow(after mail.Seq) Cursor

	// Read returns the events with the given sequence numbers, in order, each once. It omits those that are not in
	// the journal: the number was not assigned yet, or the event was archived, dropped or erased. Compaction and
	// erasure may run meanwhile; an event erased before the call is never returned. The events may be shared with
	// cursors: they must not be changed.
	Read(ctx context.Context, seqs ...mail.Seq) ([]mail.Event, error)

	// Close waits for appends under way, then frees everything. Cursors return ErrClosed. Closing again does nothing.
	Close() error
}

// Cursor reads a journal in order. It belongs to one goroutine; only Close may be called from another.
type Cursor interface {
	// Next returns at least one event. It blocks while there is none, until ctx ends, the cursor or the journal is
	// closed, or the journal cannot be read. The events may be shared with other cursors: they must not be changed.
	Next(ctx context.Context) ([]mail.Event, error)
	Close() error
}

// Replayer is a journal that can be read for the headers of messages alone. It is optional, discovered by assertion.
type Replayer interface {
	// Replay is Follow from the start, for a caller that builds a state and keeps only copies: the events are valid
	// until the next call of Next. Messages read from disk may lack the subject and the documents, and their body may
	// be blanks of the same length.
	Replay() Cursor
}

// AfterAppender is a journal that others may write to as well, and that can append conditionally: after a given event
// or not at all. It is optional, discovered by assertion: the caller is the only writer of a journal without it.
type AfterAppender interface {
	// AppendAfter appends an event as Append does, if the last event has the sequence number after, and returns the
	// new one. ok is false if not: then the event was not appended, or follows others, and Follow returns or will
	// return the events in between.
	AppendAfter(ctx context.Context, after mail.Seq, event mail.Event) (seq mail.Seq, ok bool, err error)
	// End returns the sequence number of the last event appended by anyone when it was called. Follow may not have
	// reached it yet.
	End(ctx context.Context) (mail.Seq, error)
}

// Reopener is a journal that may have to be opened again. It is optional, discovered by assertion.
type Reopener interface {
	// Reopen returns a channel that is closed when the journal must be closed and opened again: acknowledged events
	// were lost elsewhere, and have other sequence numbers now. Until then nothing is appended. A caller that built a
	// state must rebuild it.
	Reopen() <-chan struct{}
}

// Fate is what compaction does with an event.
type Fate uint8

// The fates.
const (
	Keep    Fate = iota // stays
	Archive             // moves to the archive
	Drop                // is removed: a later event says all that it said
)

// Compacter is a journal that can forget. It is optional, discovered by assertion.
type Compacter interface {
	// Compact calls fate for each durable event, in order, moves those to archive into the archive (which is durable
	// before they leave the journal) and rewrites the journal without them and the dropped ones. It may be
	// interrupted at any step and called again: no event is lost, and none is in the archive twice. The last event is
	// always kept. Appends wait only while the end of the journal is copied. Fate is not called for events in which
	// nothing is known: a newer Pennypost wrote them, and they stay.
	Compact(ctx context.Context, fate func(mail.Event) Fate) error

	// Erase removes every event for which match is true from the journal and from the archive, so that no file has
	// their bytes. Unreadable lines are matched by the raw bytes of id. It returns how many lines were removed. The
	// sequence number of an erased event is not reused. If interrupted, it must be called again.
	Erase(ctx context.Context, id mail.ID, match func(mail.Event) bool) (int, error)

	// Archived yields the archived events after a sequence number, in order; or, newest first, those before it, all
	// if it is 0. It seeks there without reading the events beyond. Events archived meanwhile may be missing. It ends
	// after an error.
	Archived(ctx context.Context, from mail.Seq, newest bool) iter.Seq2[mail.Event, error]

	// ArchivedOf returns the archived events of messages, in order: the messages themselves, their receipts, erasures
	// and settlements. Finding none costs the same however much is archived.
	ArchivedOf(ctx context.Context, ids ...mail.ID) ([]mail.Event, error)

	// ArchivedAt returns those of the events with the given sequence numbers that are archived, in order, each once.
	ArchivedAt(ctx context.Context, seqs ...mail.Seq) ([]mail.Event, error)
}

// Verifier is a journal whose files can be checked and can be damaged. It is optional, discovered by assertion.
type Verifier interface {
	// Verify reads every file again and names each line that is bad or missing.
	Verify(ctx context.Context) (mail.Verification, error)
	// Repair verifies, sets aside unreadable lines, puts lines that were set aside back where their sequence numbers
	// are free, and verifies again. Only copies are dropped. If Repaired of the answer is not 0, there are events in
	// positions that cursors have passed: a caller that built a state from them must rebuild it.
	Repair(ctx context.Context) (mail.Verification, error)
	// Condition returns the condition of the files.
	Condition() Condition
	// News blocks until something has happened to the files that the person should know of, and returns it, once.
	// After Close it returns ErrClosed.
	News(ctx context.Context) ([]News, error)
}

// Condition is the condition of a journal's files.
type Condition struct {
	Bytes    int64 // of the journal, without the archive
	Rejected int   // lines, and whole files, that were set aside
	Missing  int   // lines that are known to have existed and are missing
	Broken   error // why nothing can be appended at present; nil if it can
}

// News is something that happened to the files of a journal, worded for the person.
type News struct{ Subject, Body string }
