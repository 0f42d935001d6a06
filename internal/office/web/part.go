package web

import (
	"io/fs"

	"pennypost/internal/mail"
)

// Part is some of the pages.
type Part struct {
	Routes    map[string]handler // a room's name has been taken off the path
	Templates fs.FS              // below templates, a file for each page
}

// handler answers one request, as a rule of the user and about one room. An error becomes a page that tells of it.
type handler func(v *view) error

// inRoom is a handler for which there must be a room.
func inRoom(h handler) handler {
	return func(v *view) error {
		if v.svc == nil {
			return mail.Errorf(mail.NotFound,
				"there is no room yet; any agent or command makes the first: pennypost send --to user --body Hello")
		}
		return h(v)
	}
}

// nowhere is the handler of what there is not.
func nowhere(v *view) error {
	return mail.Errorf(mail.NotFound, "there is no page %s here", v.r.URL.Path)
}
