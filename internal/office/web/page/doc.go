// Package page is what every page is made of. A View is one request of the person; a page is a struct that embeds it
// and a template of the same name. A request of htmx gets a part of the page: the template that is named like the
// target's id. Here is what several pages share: the frame around them, forms, toasts, the addresses of pages, a
// message on a page, lists. It knows no single page: a Part brings routes and templates. Start at View.
package page
