// Package jsonl keeps a journal as JSON lines in a file, made to be read with tail and jq. docs/journal.md has the
// format byte by byte and what is left after each possible crash.
//
// # Who owns what
//
// Appends queue up, and one of them at a time leads: it writes and syncs a batch for all that wait, then hands the
// lead to the next in the queue (writer.go). Whoever leads owns the end of the file. Compaction, erasure and closing
// also queue for the lead when they replace or close the file.
//
// The file that is open is the truth. Whoever leads, and a goroutine that looks now and then (watch.go), checks that
// the path leads to it, and otherwise puts back what was acknowledged (truth.go); so does a journal that could not be
// written (trouble.go). Whatever happened to the main file, it is made anew in one way (mend.go): good lines stay,
// spare ones take free places, stubs the rest, and the file that this makes takes the old one's place (replace.go).
// That is how a journal is opened (recover.go), brought back, healed, repaired (repair.go) and, as a copy, put back in
// step (copy.go). What does not belong in it is set aside (aside.go). Lines are chained (chain.go), so that what is
// missing is found, and named by Verify.
//
// Followers own their cursors. They share the latest batches in memory (tail.go) and read from the file what is older
// (cursor.go). Whoever asks for single events has them from there too, or from where an index of the file says that
// they stand (read.go).
//
// Locks are taken in this order: Journal.keeper, Journal.shelf, the lead, Journal.swap, Journal.mu. Nothing is read,
// written or called back under mu.
package jsonl
