// Package jsonl keeps a journal as JSON lines in a file that tail and jq can read. docs/journal.md describes the
// format byte by byte, and the files after each possible crash.
//
// # Who owns what
//
// Appends queue, and one at a time leads: it writes and syncs one batch for all that wait, then hands the lead to the
// next in the queue (writer.go). The leader owns the end of the file. Compaction, erasure and Close also queue for the
// lead before they replace or close the file.
//
// The open file is the truth. The leader and a periodic check (watch.go) make sure that the path still leads to it,
// and otherwise put back the acknowledged events (truth.go). A journal that could not be written does the same
// (trouble.go). All damage to the main file is repaired in one way (mend.go): good lines stay, spare lines fill gaps,
// stubs fill the rest, and the new file replaces the old one (replace.go). This one way serves to open a journal
// (recover.go), to bring it back, heal it, repair it (repair.go), and to put a copy back in step (copy.go). Foreign
// lines and files are set aside (aside.go). Lines are chained (chain.go), so that Verify finds and names missing ones.
//
// Followers own their cursors. They share the latest batches in memory (tail.go) and read older events from the file
// (cursor.go). Reads of single events use the same memory, or an index of the file (read.go).
//
// Locks are taken in this order: Journal.keeper, Journal.shelf, the lead, Journal.swap, Journal.mu. No I/O and no
// callback happens under mu.
package jsonl
