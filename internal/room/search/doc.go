// Package search is an index of the words of a room's messages: it leaves out of a search the messages that certainly
// do not have what is asked for. What it leaves in has to be looked at.
//
// It knows of each message which three bytes stand anywhere beside each other in its folded text (find.Text), so it is
// as good for the middle of a word, and for a script without spaces, as it is for words. What is shorter than three
// bytes is found by all that begin with it. What is left in by chance, because other words have the same threes, a
// print of each message rules out for the most part.
//
// The index is derived, and may be deleted at any time. It is a chain of parts, each of which covers the places of the
// journal behind the one before it. A part is a file, written once: of each three bytes it has the list of the
// messages that have them. The newest messages are not in a file yet, but in memory, as folded text. When those are
// many they become a part, and parts of a size become one of the next size.
//
// Every page of a file has a check sum. A part that does not fit what is read of it is dropped, with those behind it,
// and what they covered is read from the room again.
package search
