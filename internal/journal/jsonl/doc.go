// Package jsonl keeps a journal as JSON lines in a file, made to be read with tail and jq. docs/journal.md has the format byte by byte
// and what is left after each possible crash.
//
// # Who owns what
//
// Appends queue up, and one of them at a time leads: it writes and syncs a batch for all that wait, then hands the lead to the next
// in line (writer.go). Whoever leads owns the end of the file. Compaction, erasure and closing queue for the lead
// too, when they replace or close the file.
//
// Followers own their cursors. They share the latest batches in memory (tail.go) and read from the file what is older (cursor.go).
//
// Locks are taken in this order: Journal.keeper, the lead, Journal.swap, Journal.mu. Nothing is read, written or called back
// under mu.
package jsonl
