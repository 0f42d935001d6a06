package page

import (
	"sync"

	"pennypost/internal/mail"
)

// standing caches agents' states and waits by room while a page is rendered. Copies of a View share it.
type standing struct {
	mu     sync.Mutex
	states map[mail.RoomName]map[mail.Name]mail.State
	waits  map[mail.RoomName][]mail.Waiting
}

// agentsOf returns the states of a room's agents, loaded once.
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

// WaitsIn returns the waits in a room, loaded once.
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

// fleet loads one part of one room. An error yields an empty result, since the part only accompanies mail.
func (v *View) fleet(room mail.RoomName, part mail.FleetPart) mail.Fleet {
	got, err := v.Site.Office.Fleet(v.Ctx(), mail.FleetQuery{Rooms: []mail.RoomName{room}, Part: part,
		Limit: mail.MaxLimit})
	if err != nil && v.Ctx().Err() == nil {
		v.Site.Log.Warn("state of agents unknown", "room", room, "part", part, "err", err)
	}
	return got
}

// StateClass is the CSS class of an agent's letters: asks, works, idle or gone; "me" for the user. An agent asks if it
// has a dialog open, or if it only waits for the user's answer.
func (v *View) StateClass(room mail.RoomName, who mail.Address, asks bool) string {
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

// WaitersFor returns those who wait for an agent, each before those who wait for it, with their distances.
func (v *View) WaitersFor(room mail.RoomName, name mail.Name) (list []mail.Waiting, depths []int) {
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
