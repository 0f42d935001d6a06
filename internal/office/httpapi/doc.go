// Package httpapi is the post office over HTTP: the routes under /api/v1, each a few lines over mail.Service, with
// problem+json errors, server-sent events and an OpenAPI document.
//
// Routing, the check of query parameters and the document all derive from one table, routes.go. Its routes of a room
// derive from the calls of package wire, which clients use as well. Options.Authenticate identifies the caller,
// never the body of a request. All input is read strictly: an unknown member or parameter is refused by name,
// because a misspelled "to" that is silently ignored is a lost letter.
//
// docs/http.md is the reference for users.
package httpapi
