// Package mailroom owns the live state of a room (package fold): the roster, the waiting mail and the marks.
//
// A Room checks a command against its state, appends the event to the journal, follows the same journal, and answers
// when it has applied the event. Its guarantees, under the numbers of docs/design.md:
//
//	P1  An answer without error means that the event is durable.
//	P2  No act on one message, on the roster or on the files loses, duplicates or alters another message.
//	P3  A reader's view is a function of the journal's prefix, the reader and the time. fold.State.Apply is the
//	    only code that changes state, it reads no clock, and a room opened from its journal equals the one that
//	    wrote it.
//	P4  No method of mail.Reader or mail.Watcher writes a receipt.
//	P5  From is the caller given to As; a Draft has no such field.
//	P6  A message to a role is bound to one holder at a time; when the holder leaves before reading, to the next.
//	P7  Every pair of message and recipient has a state, derived from receipts, roster and time, never stored.
//	P9  The user may read every mailbox.
//	P11 Mail that retention trims is durable in the archive before it leaves the journal. Files with erased text are
//	    rewritten without it.
//	P13 A question stays open, and hot, until an answer, a refusal or a withdrawal is applied.
//
// Ownership: the follower goroutine, started by Open and ended by Close, applies events. In addition, a finished
// compaction forgets the messages that are in the archive, and waits enlist themselves, both with Room.mu held. All
// other code only reads state, under Room.mu. Nothing is appended, sent or called back while mu is held.
package mailroom
