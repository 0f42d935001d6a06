package page

import (
	"sync"

	"pennypost/internal/mail"
)

// standing is how the agents of rooms stand while a page is made, and who waits for whom there. The copies of a View
// share it.
type standing struct {
	mu     sync.Mutex
	states map[mail.RoomName]map[mail.Name]mail.State
	waits  map[mail.RoomName][]mail.Waiting
}

// agentsOf are the states of a room's agents, asked for once.
func (v *View) agentsOf(room mail.RoomName) map[mail.Name]mail.State {
	s := v.standing
	s.mu.Lock()
	defer s.mu.Unlock()
	if states, asked := s.states[room]; asked {
		return states
	}
	states := make(map[mail.Name]mail.State)
	for _, r := range v.fleet(room, mail.FleetAgents).Rooms {
		for _, a := range r.Agents.Agents {
			states[a.Name] = a.State
		}
	}
	if s.states == nil {
		s.states = make(map[mail.RoomName]map[mail.Name]mail.State)
	}
	s.states[room] = states
	return states
}

// WaitsIn is who waits for whom in a room, asked for once.
func (v *View) WaitsIn(room mail.RoomName) []mail.Waiting {
	s := v.standing
	s.mu.Lock()
	defer s.mu.Unlock()
	if list, asked := s.waits[room]; asked {
		return list
	}
	var list []mail.Waiting
	for _, r := range v.fleet(room, mail.FleetWaiting).Rooms {
		list = append(list, r.Waiting.Waiting...)
	}
	if s.waits == nil {
		s.waits = make(map[mail.RoomName][]mail.Waiting)
	}
	s.waits[room] = list
	return list
}

// fleet asks for a part of one room. If it cannot be had now there is none: it is only what stands beside mail.
func (v *View) fleet(room mail.RoomName, part mail.FleetPart) mail.Fleet {
	got, err := v.Site.Office.Fleet(v.Ctx(), mail.FleetQuery{Rooms: []mail.RoomName{room}, Part: part,
		Limit: mail.MaxLimit})
	if err != nil && v.Ctx().Err() == nil {
		v.Site.Log.Warn("what agents do cannot be said", "room", room, "part", part, "err", err)
	}
	return got
}

// Stands is the class of an agent's letters: asks, works, idle or gone; "me" for the user. Who asks has a dialog open,
// or does nothing else than wait for an answer of the user.
func (v *View) Stands(room mail.RoomName, who mail.Address, asks bool) string {
	name := who.Signer()
	if name == mail.User {
		return "me"
	}
	switch state := v.agentsOf(room)[name]; {
	case state == mail.Asking, asks && state != mail.Working:
		return "asks"
	case state == mail.Working:
		return "works"
	case state == mail.Idle:
		return "idle"
	}
	return "gone"
}

// BehindOf are those who wait for an agent, each before those who wait for it, and how far behind they are.
func (v *View) BehindOf(room mail.RoomName, name mail.Name) (list []mail.Waiting, depths []int) {
	all, done := v.WaitsIn(room), map[mail.Name]bool{name: true}
	var below func(name mail.Name, depth int)
	below = func(name mail.Name, depth int) {
		for _, w := range all {
			if w.Asked == name && !done[w.Asker] {
				done[w.Asker] = true
				list, depths = append(list, w), append(depths, depth)
				below(w.Asker, depth+1)
			}
		}
	}
	below(name, 0)
	return list, depths
}
