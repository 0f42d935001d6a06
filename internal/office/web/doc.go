// Package web is the pages on which a person sees every room of a post office and answers in it.
//
// Everything is rendered here, by html/template; what a browser adds is in asset/static/app.js, and reading works
// without it. Whoever has logged in is the user and cannot be anybody else: the package is given rooms as the user
// sees them, and knows no other caller.
//
// Here is the site: who gets in, which room a path is about, the stream that tells an open page of news, the palette.
// The pages are in inbox, room and flow, each a page.Part; they know package page, and not each other.
//
// A path that begins with /@ROOM is about that room; other paths are about the room that changed last.
package web
