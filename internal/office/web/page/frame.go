package page

import (
	"net"
	"net/http"
)

// place is an entry of the places at the side.
type place struct {
	Name, Title, Path, Key string
	Count                  int
	Quiet                  int // a number that asks for less attention
}

// Places lists the places, with the numbers that ask for attention.
func (v *View) Places() []place {
	return []place{
		{"inbox", "Inbox", v.InboxPath(), "i", v.Needs(), v.Unread()},
		{"agents", "Agents", "/agents", "a", 0, 0},
		{"channels", "Channels", "/channels", "c", 0, 0},
		{"history", "History", "/history", "h", 0, 0},
		{"flow", "Flow", "/flow", "f", 0, 0},
		{"stuck", "Stuck", "/stuck", "s", v.Stuck(), 0},
	}
}

// InboxPath is the inbox over all rooms, from the pages of this one.
func (v *View) InboxPath() string {
	if len(v.Rooms) < 2 {
		return "/"
	}
	return "/?rooms=all"
}

// PanelLight and PanelDark are the colours of the frame, --panel of the stylesheet, in both themes. A browser draws
// its own frame in them.
const PanelLight, PanelDark = "#f4f4f2", "#1b1b1a"

// shade is the colour of the frame where the system has a theme.
type shade struct{ System, Color string }

// Shades are the colours of the frame: that of the theme that the person chose, or else of the system's.
func (v *View) Shades() []shade {
	switch v.Theme() {
	case "light":
		return []shade{{"light", PanelLight}, {"dark", PanelLight}}
	case "dark":
		return []shade{{"light", PanelDark}, {"dark", PanelDark}}
	}
	return []shade{{"light", PanelLight}, {"dark", PanelDark}}
}

// Needs returns how many conversations need the user, in all rooms.
func (v *View) Needs() int {
	n := 0
	for i := range v.Rooms {
		n += v.Rooms[i].Needs
	}
	return n
}

// Unread returns how much the user has not read, in all rooms.
func (v *View) Unread() int {
	n := 0
	for i := range v.Rooms {
		n += v.Rooms[i].Unread
	}
	return n
}

// Host is the address that the browser came to, without its port.
func (v *View) Host() string { return HostOf(v.R) }

// Theme is what the person chose: "light", "dark" or "" for what the system says.
func (v *View) Theme() string {
	if c, err := v.R.Cookie("pennypost_theme"); err == nil && (c.Value == "light" || c.Value == "dark") {
		return c.Value
	}
	return ""
}

// Version is that of the program.
func (v *View) Version() string { return v.Site.Version }

// Asset returns the address of one of our own files.
func (v *View) Asset(name string) (string, error) { return v.Site.Assets.Address(name) }

// Stuck is how many things are stuck in the room, for the places at the side. If it cannot be found out now, the page
// itself will say so.
func (v *View) Stuck() int {
	if v.Svc == nil {
		return 0
	}
	return v.Site.Stuck(v)
}

// HostOf returns the address that a browser came to, without its port.
func HostOf(r *http.Request) string {
	if host, _, err := net.SplitHostPort(r.Host); err == nil {
		return host
	}
	return r.Host
}
