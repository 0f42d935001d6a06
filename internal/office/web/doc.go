// Package web is the pages on which a person sees every room of a post office and answers in it.
//
// Everything is rendered here, by html/template; what a browser adds is in asset/static/app.js, and reading works
// without it. Whoever has logged in is the user and cannot be anybody else: the package is given rooms as the user
// sees them, and knows no other caller.
//
// A place is a file: inbox.go, agents.go, … Each has its page struct, which embeds *view, and its template of the same
// name. A request of htmx gets a part of the page: the template that is named like the target's id.
//
// A path that begins with /@ROOM is about that room; other paths are about the room that changed last.
package web
