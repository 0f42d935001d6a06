package page

import (
	"strings"

	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
)

// ScopeCookie stores whether a browser lists all rooms: its value is ScopeAll, or it is absent.
const ScopeCookie = "pp_scope"

// ScopeAll and ScopeOne are values of ?rooms= that show all rooms, or one, whatever the cookie says.
const ScopeAll, ScopeOne = "all", "one"

// AllRooms reports whether the page shows all rooms instead of only its own.
func (v *View) AllRooms() bool {
	switch v.Scope() {
	case ScopeAll:
		return true
	case ScopeOne:
		return false
	}
	return v.Everywhere || v.keepsAll()
}

// keepsAll reports whether the browser's default is all rooms.
func (v *View) keepsAll() bool {
	c, err := v.R.Cookie(ScopeCookie)
	return err == nil && c.Value == ScopeAll
}

// ScopeOf is the value of ?rooms= that shows all rooms or one; "": it is the browser's default.
func (v *View) ScopeOf(all bool) string {
	switch {
	case all == v.keepsAll():
		return ""
	case all:
		return ScopeAll
	}
	return ScopeOne
}

// Scope is the value of ?rooms= in the request; "": none.
func (v *View) Scope() string {
	if s := v.R.URL.Query().Get("rooms"); s == ScopeAll || s == ScopeOne {
		return s
	}
	return ""
}

// Scoped adds this page's ?rooms= to an address.
func (v *View) Scoped(path string) string { return Address(path, "rooms", v.Scope()) }

// Several reports whether the page shows several rooms, so that entries must name their room.
func (v *View) Several() bool { return v.AllRooms() && len(v.Rooms) > 1 }

// Missing lists the gaps of a list over all rooms. The page shows them, since a room left out is not a quiet room.
type Missing struct {
	NotRead []mail.RoomName // rooms that must be opened first
	Away    []mail.RoomName // rooms that could not be read
	Partly  string          // see mail.Page
}

// String describes the gaps on one line; "" if there are none.
func (m Missing) String() string {
	var out []string
	if len(m.NotRead) > 0 {
		out = append(out, "Not read yet: "+someRooms(m.NotRead)+
			". Rooms are opened a few at a time; reload the page.")
	}
	if len(m.Away) > 0 {
		out = append(out, "Not available: "+someRooms(m.Away)+".")
	}
	if m.Partly != "" {
		out = append(out, m.Partly+".")
	}
	return strings.Join(out, " ")
}

// someRooms names a few rooms and counts the rest.
func someRooms(rooms []mail.RoomName) string {
	const most = 5
	var names []string
	for _, r := range rooms[:min(most, len(rooms))] {
		names = append(names, string(r))
	}
	text := strings.Join(names, ", ")
	if n := len(rooms) - len(names); n > 0 {
		text += " and " + wording.Plural(n, "more room")
	}
	return text
}

// Apart returns the open rooms as views, and the names of closed rooms and of open rooms that cannot be entered.
func (v *View) Apart() (open []*View, closed []mail.RoomName, away []mail.RoomName) {
	for i := range v.Rooms {
		st := &v.Rooms[i]
		if !st.Open {
			closed = append(closed, st.Name)
			continue
		}
		in, err := v.Other(st.Name)
		if err != nil {
			v.Site.Log.Warn("room left out of a page over all rooms", "room", st.Name, "err", err)
			away = append(away, st.Name)
			continue
		}
		in.At = st.Seq
		open = append(open, in)
	}
	return open, closed, away
}

// FleetOf queries closed rooms, which answer with their state at closing.
func (v *View) FleetOf(q mail.FleetQuery) (mail.Fleet, error) {
	if len(q.Rooms) == 0 {
		return mail.Fleet{}, nil
	}
	return v.Site.Office.Fleet(v.Ctx(), q)
}
