// Package httpapi is the post office over HTTP: the routes under /api/v1, each a few lines over mail.Service, with
// problem+json errors, server-sent events and an OpenAPI document.
//
// Routing, the check of query parameters and the document are all made from one table, routes.go. What it says of a
// room is made from the calls of package wire, by which clients ask as well. The caller is whom
// Options.Authenticate says, never what a body says. Everything that comes in is read strictly: an unknown member or
// parameter is refused by name, because a misspelled "to" that is silently ignored is a lost letter.
//
// docs/http.md is the reference for users.
package httpapi
