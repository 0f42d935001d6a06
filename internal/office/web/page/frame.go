package page

import (
	"cmp"
	"iter"
	"net"
	"net/http"
	"slices"
	"strings"

	"pennypost/internal/mail"
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
		{"inbox", "Needs you", v.Scoped("/?focus=1"), "i", v.Needs(), 0},
		{"updates", "Updates", v.Scoped("/?show=updates"), "u", 0, v.Unread()},
		{"agents", "Agents", v.Scoped("/agents"), "a", 0, 0},
		{"stuck", "Stuck", v.Scoped("/stuck"), "s", v.Stuck(), 0},
		{"flow", "Flow", v.Scoped("/flow"), "f", 0, 0},
		{"history", "History", v.Scoped("/history"), "h", 0, 0},
		{"channels", "Channels", "/channels", "c", 0, 0},
	}
}

// RoomLink is a choice of the switch over rooms.
type RoomLink struct {
	Room   mail.RoomName // "": all
	Href   string
	Needs  int
	Unread int
	Chosen bool
}

// railRooms is how many rooms the side of a page lists; all are in the switch at the top.
const railRooms = 12

// RailRooms are the choices of the switch for the side of the page: all rooms, and those that need the user most; none
// if there is one room.
func (v *View) RailRooms() []RoomLink {
	links := v.RoomLinks()
	if len(links) <= railRooms {
		return links
	}
	rooms := links[1:]
	slices.SortStableFunc(rooms, func(a, b RoomLink) int { return cmp.Compare(b.Needs, a.Needs) })
	return links[:railRooms]
}

// Rail shows the rooms at the side of a page that is open: their numbers have changed.
func Rail(v *View) error {
	asked := v.R.URL.Query().Get("place")
	if asked == "scheduled" || slices.ContainsFunc(v.Places(), func(p place) bool { return p.Name == asked }) {
		v.Place = asked
	}
	return v.Part("sessions", "rail-rooms", v) // every page has it
}

// RoomLinks are the choices of the switch over rooms, each at the place that the page shows.
func (v *View) RoomLinks() []RoomLink {
	if len(v.Rooms) < 2 {
		return nil
	}
	path := map[string]string{"": "/", "inbox": "/", "updates": "/?show=updates"}[v.Place]
	if path == "" {
		path = "/" + v.Place
	}
	all := RoomLink{Href: Address(v.Base+path, "rooms", ScopeAll), Chosen: v.AllRooms()}
	list := make([]RoomLink, 1, len(v.Rooms)+1)
	for i := range v.Rooms {
		r := &v.Rooms[i]
		l := RoomLink{Room: r.Name, Href: Address(RoomBase(r.Name)+path, "rooms", ScopeOne), Needs: v.NeedsIn(*r),
			Unread: r.Unread, Chosen: !all.Chosen && r.Name == v.Room}
		all.Needs, all.Unread = all.Needs+l.Needs, all.Unread+l.Unread
		list = append(list, l)
	}
	list[0] = all
	return list
}

// PanelLight and PanelDark are the colours of the frame, --desk of the stylesheet, in both themes. A browser draws
// its own frame in them.
const PanelLight, PanelDark = "#e9eef2", "#101317"

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

// Needs returns how many conversations and dialogs need the user, in the rooms that the page shows.
func (v *View) Needs() (n int) {
	for r := range v.shown() {
		n += v.NeedsIn(*r)
	}
	return n
}

// shown are the rooms that the page shows.
func (v *View) shown() iter.Seq[*mail.RoomStatus] {
	return func(yield func(*mail.RoomStatus) bool) {
		all := v.AllRooms()
		for i := range v.Rooms {
			if r := &v.Rooms[i]; (all || r.Name == v.Room) && !yield(r) {
				return
			}
		}
	}
}

// NeedsIn is that in one room.
func (v *View) NeedsIn(r mail.RoomStatus) int { return r.Needs + len(v.CardsIn(r.Name)) }

// Unread returns how much the user has not read, in the rooms that the page shows.
func (v *View) Unread() (n int) {
	for r := range v.shown() {
		n += r.Unread
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

// Renewal changes with the pages: a page that is open is then another one's.
func (v *View) Renewal() string {
	var hashes strings.Builder
	for _, name := range []string{"app.js", "app.css"} {
		address, _ := v.Asset(name)
		_, hash, _ := strings.Cut(address, "?")
		hashes.WriteString(hash)
	}
	return v.Version() + " " + hashes.String()
}

// Asset returns the address of one of our own files.
func (v *View) Asset(name string) (string, error) { return v.Site.Assets.Address(name) }

// Stuck is how many things are stuck in the rooms that the page shows, for the places at the side. If it cannot be
// found out now, the page itself will say so.
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
