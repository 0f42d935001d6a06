// Package web is the pages where a person sees every room of a post office and answers mail.
//
// Pages are rendered here with html/template; asset/static/app.js adds to them, and reading works without it. A
// logged-in browser is always the user: the package enters rooms only as the user, and knows no other caller.
//
// This package is the site: login, the room in a path, the stream of changes for open pages, the palette. The pages
// are in inbox, room and flow, each a page.Part; they know package page, but not each other.
//
// A path that begins with /@ROOM is about that room; other paths are about the room that changed last.
package web
