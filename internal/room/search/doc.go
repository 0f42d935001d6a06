// Package search is an index of the words of a room's messages. It excludes from a search the messages that certainly
// do not match; the caller must check the rest.
//
// For each message it records the grams, the sequences of three bytes, of its folded text (find.Text). So it works
// equally well for the middle of a word, for a script without spaces, and for words. A term shorter than three bytes
// is found by all grams that begin with it. Some messages have all grams of a query by chance, in other words; a print
// of each message excludes most of these.
//
// The index is derived, and may be deleted at any time. It is a chain of parts; each covers the range of the journal
// after the one before it. A part is a file, written once. For each gram it lists the messages that contain it. The
// newest messages are in memory, as folded text, until there are enough for a part. Parts of one size are merged into
// one of the next size.
//
// Every page of a file has a checksum. A damaged part is dropped with those after it, and their range is read from the
// room again.
package search
