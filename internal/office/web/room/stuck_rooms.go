package room

import (
	"cmp"
	"slices"

	"pennypost/internal/mail"
	"pennypost/internal/office/web/page"
)

// closedRoom is a closed room and how much was stuck when it closed.
type closedRoom struct {
	*page.View
	AsOf  mail.Time
	Total int
}

// Href is the address of the room's own page, which opens the room.
func (c closedRoom) Href() string { return page.Query(c.Base+"/stuck", "rooms", page.ScopeOne) }

// closedRooms finds the closed rooms with stuck mail, and opens at most a few.
func closedRooms(v *page.View, closed []mail.RoomName) ([]closedRoom, page.Missing, error) {
	fleet, err := v.FleetOf(mail.FleetQuery{Rooms: closed, Part: mail.FleetStuck, Limit: 1})
	var out []closedRoom
	for i := range fleet.Rooms {
		r := &fleet.Rooms[i]
		c := closedRoom{View: v.In(r.Room, nil), AsOf: r.AsOf}
		for _, n := range r.Stuck.Kinds {
			c.Total += n
		}
		out = append(out, c)
	}
	return out, page.Missing{NotRead: fleet.NotRead, Away: fleet.Away}, err
}

// everywhere lists the stuck groups of all open rooms, and only totals for the others.
func (p *stuckPage) everywhere(t *tallies, q mail.StuckQuery) error {
	open, closed, away := p.Apart()
	byKind := make(map[string]*stuckSection)
	for _, in := range open {
		found, err := t.groups(in, q)
		if err != nil && p.Ctx().Err() != nil {
			return err
		} else if err != nil {
			p.Site.Log.Warn("stuck mail of a room left out", "room", in.Room, "err", err)
			away = append(away, in.Room)
			continue
		}
		gives := false
		for _, s := range found {
			into := byKind[s.Kind]
			if into == nil {
				into = &stuckSection{Kind: s.Kind, Title: s.Title, Why: s.Why}
				byKind[s.Kind] = into
			}
			into.Groups, into.Total = append(into.Groups, s.Groups...), into.Total+s.Total
			gives = gives || slices.ContainsFunc(s.Groups, (*stuckGroup).givable)
		}
		if !gives {
			continue
		}
		live, err := liveIn(in)
		if err != nil {
			return err
		}
		p.Takers = append(p.Takers, live)
	}
	for _, s := range stuckSections() {
		if into := byKind[s.Kind]; into != nil {
			slices.SortStableFunc(into.Groups, func(a, b *stuckGroup) int { return cmp.Compare(a.Since, b.Since) })
			into.Groups = into.Groups[:min(len(into.Groups), q.Limit)]
			p.Sections = append(p.Sections, *into)
		}
	}
	if q.Kind != "" { // closed rooms have totals but no kinds
		closed = nil
	}
	var err error
	p.Closed, p.Missing, err = closedRooms(p.View, closed)
	p.Missing.Away = append(p.Missing.Away, away...)
	return err
}

// givable reports whether a live agent can take the group's mail.
func (s *stuckGroup) givable() bool { return s.Movable() || s.Role() != "" }
