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

// place is an entry in the navigation.
type place struct {
	Name, Title, Path, Key string
	Count                  int
	Quiet                  int // a less prominent count
}

// Places lists the navigation with its counts.
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

// RoomLink is a choice in the room switch.
type RoomLink struct {
	Room   mail.RoomName // "": all
	Href   string
	Needs  int
	Unread int
	Chosen bool
}

// railRooms limits the rooms listed at the side; the switch at the top has all.
const railRooms = 12

// RailRooms are the choices at the side: all rooms together, and the rooms that need the user most; none if there is
// one room.
func (v *View) RailRooms() []RoomLink {
	links := v.RoomLinks()
	if len(links) <= railRooms {
		return links
	}
	rooms := links[1:]
	slices.SortStableFunc(rooms, func(a, b RoomLink) int { return cmp.Compare(b.Needs, a.Needs) })
	return links[:railRooms]
}

// Rail renders the rooms at the side again after their counts changed.
func Rail(v *View) error {
	asked := v.R.URL.Query().Get("place")
	if asked == "scheduled" || slices.ContainsFunc(v.Places(), func(p place) bool { return p.Name == asked }) {
		v.Place = asked
	}
	return v.Part("sessions", "rail-rooms", v) // every page has this part
}

// RoomLinks are the choices of the room switch, each leading to the current place.
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

// PanelLight and PanelDark are the colours of the frame, --desk in the stylesheet, in both themes. Browsers use them
// for their own frame.
const PanelLight, PanelDark = "#e9eef2", "#101317"

// shade is the colour of the frame for a system theme.
type shade struct{ System, Color string }

// Shades are the frame's colours: those of the person's theme, or else of the system's.
func (v *View) Shades() []shade {
	switch v.Theme() {
	case "light":
		return []shade{{"light", PanelLight}, {"dark", PanelLight}}
	case "dark":
		return []shade{{"light", PanelDark}, {"dark", PanelDark}}
	}
	return []shade{{"light", PanelLight}, {"dark", PanelDark}}
}

// Needs is how many conversations and dialogs need the user in the rooms of the page.
func (v *View) Needs() (n int) {
	for r := range v.shown() {
		n += v.NeedsIn(*r)
	}
	return n
}

// shown yields the rooms of the page.
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

// NeedsIn is that number for one room.
func (v *View) NeedsIn(r mail.RoomStatus) int { return r.Needs + len(v.CardsIn(r.Name)) }

// Unread is how many messages the user has not read in the rooms of the page.
func (v *View) Unread() (n int) {
	for r := range v.shown() {
		n += r.Unread
	}
	return n
}

// Host is the request's host without its port.
func (v *View) Host() string { return HostOf(v.R) }

// Theme is the person's choice: "light", "dark" or "" for the system's.
func (v *View) Theme() string {
	if c, err := v.R.Cookie("pennypost_theme"); err == nil && (c.Value == "light" || c.Value == "dark") {
		return c.Value
	}
	return ""
}

// Version is the program's version.
func (v *View) Version() string { return v.Site.Version }

// Renewal changes with the pages, so that an open page can tell that it is outdated.
func (v *View) Renewal() string {
	var hashes strings.Builder
	for _, name := range []string{"app.js", "app.css"} {
		address, _ := v.Asset(name)
		_, hash, _ := strings.Cut(address, "?")
		hashes.WriteString(hash)
	}
	return v.Version() + " " + hashes.String()
}

// Asset returns the address of an embedded file.
func (v *View) Asset(name string) (string, error) { return v.Site.Assets.Address(name) }

// Stuck is the number of stuck groups in the rooms of the page, or 0 on an error, which the stuck page will show.
func (v *View) Stuck() int {
	if v.Svc == nil {
		return 0
	}
	return v.Site.Stuck(v)
}

// HostOf returns the request's host without its port.
func HostOf(r *http.Request) string {
	if host, _, err := net.SplitHostPort(r.Host); err == nil {
		return host
	}
	return r.Host
}
