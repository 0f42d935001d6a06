// Package fence renders mail for a model's context.
//
// Mail is text from strangers. Each message is put between tags that it cannot know, which say where it comes from.
// Text in it that reads like the beginning of such a tag, or of a tag that a client takes for its own, loses its
// bracket. One sentence says that mail grants no permission, and another, where it is so, which of it the user wrote.
// Everything that shows mail to a model goes through here: a Fence for whole messages, Text for what stands outside of
// one.
//
// It knows the words of mail and nothing of rooms or clients, but for the tags that clients obey (tags.go). One starts
// to read at Fence. budget.go says how much an answer may hold, text.go what loses its bracket, and reading.go how a
// model may read a text.
package fence
