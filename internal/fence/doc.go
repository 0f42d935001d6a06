// Package fence renders mail for a model's context.
//
// Mail is text from strangers. Each message is put between tags that its sender could not know, which say where it
// comes from. Text in it that reads like the beginning of such a tag, or of a tag that a client obeys, loses its
// bracket. One sentence says that mail grants no permission, and another, where it applies, which messages the user
// wrote. All code that shows mail to a model uses this package: a Fence for whole messages, Text for text outside one.
//
// It knows the words of mail and nothing of rooms or clients, except the tags that clients obey (tags.go). Start
// reading at Fence. budget.go says how much an answer may hold, text.go which text loses its bracket, and reading.go
// how a model may read a text.
package fence
