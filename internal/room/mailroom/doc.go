// Package mailroom owns the live state of a room (package fold): who is on the roster, what waits for whom, what was
// marked.
//
// A Room checks a command against its state, appends the event to the journal, follows the same journal, and answers
// when it has applied the event. What it guarantees, under the numbers of docs/design.md:
//
//	P1  An answer without error means that the event is durable.
//	P2  Nothing that is done to one message, to the roster or to the files loses, duplicates or alters another.
//	P3  What a reader sees is a function of the journal's prefix, the reader and the time. fold.State.Apply is the
//	    only code that changes state, it reads no clock, and a room opened from its journal equals the one that
//	    wrote it.
//	P4  No method of mail.Reader or mail.Watcher writes a receipt.
//	P5  From is the caller that As was given; a Draft has no such field.
//	P6  A message to a role is bound to one holder at a time; when the holder goes before reading, to the next.
//	P7  Every pair of message and recipient has a state, derived from receipts, roster and time, never stored.
//	P9  The user may read every mailbox.
//	P11 What retention trims is durable in the archive before it leaves the journal. Files that hold erased text are
//	    rewritten without it.
//	P13 What asks stays open, and hot, until an answer, a refusal or a withdrawal is applied.
//
// Who owns what: the follower goroutine, started by Open and ended by Close, applies events. Besides it, a finished
// compaction forgets what is in the archive, and waits enlist themselves, both with Room.mu held. Everybody else only
// reads state, under Room.mu. Nothing is appended, sent or called back while mu is held.
package mailroom
