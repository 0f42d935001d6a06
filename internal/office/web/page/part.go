package page

import (
	"io/fs"

	"pennypost/internal/mail"
)

// Part is a group of pages.
type Part struct {
	Routes    map[string]Handler // paths without the room
	Templates fs.FS              // in templates, one file per page
}

// Handler answers one request, usually of the user about one room. An error becomes an error page.
type Handler func(v *View) error

// InRoom wraps a handler that needs a room.
func InRoom(h Handler) Handler {
	return func(v *View) error {
		if v.Svc == nil {
			return mail.Errorf(mail.NotFound,
				"there is no room yet; any agent or command creates the first: pennypost send --to user --body Hello")
		}
		return h(v)
	}
}

// Nowhere answers paths without a page.
func Nowhere(v *View) error {
	return mail.Errorf(mail.NotFound, "there is no page %s here", v.R.URL.Path)
}
