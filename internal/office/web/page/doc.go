// Package page is the basis of every page. A View is one request of the person; a page is a struct that embeds it and
// a template of the same name. An htmx request gets part of a page: the template named after the target's id. Shared
// parts are here: the frame, forms, toasts, the addresses of pages, messages, lists. It knows no particular page: a
// Part brings routes and templates. Start at View.
package page
