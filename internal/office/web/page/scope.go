package page

import (
	"strings"

	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
)

// ScopeCookie keeps, for one browser, whether its lists are of all rooms: its value is ScopeAll, or it is absent.
const ScopeCookie = "pp_scope"

// ScopeAll and ScopeOne are what an address says in ?rooms= to show all rooms, or its own, whatever the browser keeps.
const ScopeAll, ScopeOne = "all", "one"

// AllRooms reports whether a page shows all rooms that this caller enters, and not only its own.
func (v *View) AllRooms() bool {
	switch v.Scope() {
	case ScopeAll:
		return true
	case ScopeOne:
		return false
	}
	return v.Everywhere || v.keepsAll()
}

// keepsAll reports whether the browser shows all rooms where the address says nothing else.
func (v *View) keepsAll() bool {
	c, err := v.R.Cookie(ScopeCookie)
	return err == nil && c.Value == ScopeAll
}

// ScopeOf is what an address has to say in ?rooms= to show all rooms or one; "": the browser does so anyway.
func (v *View) ScopeOf(all bool) string {
	switch {
	case all == v.keepsAll():
		return ""
	case all:
		return ScopeAll
	}
	return ScopeOne
}

// Scope is what the address says of it; "": nothing.
func (v *View) Scope() string {
	if s := v.R.URL.Query().Get("rooms"); s == ScopeAll || s == ScopeOne {
		return s
	}
	return ""
}

// Scoped is an address that shows the rooms that this page shows: it says so if the address of this page does.
func (v *View) Scoped(path string) string { return Address(path, "rooms", v.Scope()) }

// Several reports whether a page shows several rooms, so that what it lists has to name its room.
func (v *View) Several() bool { return v.AllRooms() && len(v.Rooms) > 1 }

// Missing is what a list over all rooms does not have. The page says so: a room that is left out is not quiet.
type Missing struct {
	NotRead []mail.RoomName // rooms of which nothing is known before they are opened
	Away    []mail.RoomName // rooms that could not be looked at
	Partly  string          // see mail.Page
}

// String says it in a line; "" if nothing is missing.
func (m Missing) String() string {
	var out []string
	if len(m.NotRead) > 0 {
		out = append(out, "Not read yet: "+someRooms(m.NotRead)+
			". They are opened a few at a time; load the page again.")
	}
	if len(m.Away) > 0 {
		out = append(out, "Could not be looked at: "+someRooms(m.Away)+".")
	}
	if m.Partly != "" {
		out = append(out, m.Partly+".")
	}
	return strings.Join(out, " ")
}

// someRooms names a few rooms, and how many others there are.
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

// Apart returns the rooms that are open, as views, and the names of the others. Rooms that cannot be entered are away.
func (v *View) Apart() (open []*View, closed []mail.RoomName, away []mail.RoomName) {
	for i := range v.Rooms {
		st := &v.Rooms[i]
		if !st.Open {
			closed = append(closed, st.Name)
			continue
		}
		in, err := v.Other(st.Name)
		if err != nil {
			v.Site.Log.Warn("a room is left out of a page over all rooms", "room", st.Name, "err", err)
			away = append(away, st.Name)
			continue
		}
		in.At = st.Seq
		open = append(open, in)
	}
	return open, closed, away
}

// FleetOf asks rooms that are closed, which answer with what they said when they were closed.
func (v *View) FleetOf(q mail.FleetQuery) (mail.Fleet, error) {
	if len(q.Rooms) == 0 {
		return mail.Fleet{}, nil
	}
	return v.Site.Office.Fleet(v.Ctx(), q)
}
