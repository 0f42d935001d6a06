package mailroom

import (
	"cmp"
	"maps"
	"slices"

	"pennypost/internal/mail"
)

// Unwoken lists, by name, those of the agents and roles with a door that have mail worth waking them. It includes
// working and frozen agents, and those without a door whose session is idle: the user should know of them. It also
// includes those that another machine should wake. hasDoor says which doors this one knows; it is called with the
// state locked, so it must not block.
func (r *Room) Unwoken(hasDoor func(agent mail.Name, roles []string) bool) []mail.Unwoken {
	now := r.now()
	r.mu.RLock()
	defer r.mu.RUnlock()
	s := r.sight(r.state)
	anyDoor := func(n mail.Name, roles []string) bool { return hasDoor(n, roles) || s.DoorElsewhere(n, roles) }
	found := make(map[mail.Address]*mail.Unwoken)
	for m := range s.Agents() {
		if len(m.Calling) == 0 || !anyDoor(m.Name, m.Roles) && (m.State != mail.Idle || m.Session == "") {
			continue
		}
		u := s.Sleeper(m, now)
		s.Locate(u, m, hasDoor)
		for rec := range m.Callers(now) {
			if s.Wakes(rec, m, now) || s.Awaits(rec, m, now) {
				u.Mail = append(u.Mail, s.Unwoken(rec, m))
				u.Recording = u.Recording || r.recording.has(rec.Msg.ID, mail.AgentAddress(m.Name))
			}
		}
		if len(u.Mail) > 0 {
			found[mail.AgentAddress(m.Name)] = u
		}
	}
	for _, role := range slices.Sorted(maps.Keys(s.Held)) {
		s.AddHeld(found, role, hasDoor, anyDoor, now)
	}
	out := make([]mail.Unwoken, 0, len(found))
	for _, a := range slices.Sorted(maps.Keys(found)) {
		u := found[a]
		slices.SortFunc(u.Mail, func(a, b mail.UnwokenMail) int { return cmp.Compare(a.Seq, b.Seq) })
		out = append(out, *u)
	}
	return out
}
