package page

import (
	"io/fs"

	"pennypost/internal/mail"
)

// Part is some of the pages.
type Part struct {
	Routes    map[string]Handler // a room's name has been taken off the path
	Templates fs.FS              // below templates, a file for each page
}

// Handler answers one request, as a rule of the user and about one room. An error becomes a page that tells of it.
type Handler func(v *View) error

// InRoom is a handler for which there must be a room.
func InRoom(h Handler) Handler {
	return func(v *View) error {
		if v.Svc == nil {
			return mail.Errorf(mail.NotFound,
				"there is no room yet; any agent or command makes the first: pennypost send --to user --body Hello")
		}
		return h(v)
	}
}

// Nowhere is the handler of what there is not.
func Nowhere(v *View) error {
	return mail.Errorf(mail.NotFound, "there is no page %s here", v.R.URL.Path)
}
