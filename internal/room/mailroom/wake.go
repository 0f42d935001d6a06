package mailroom

import (
	"cmp"
	"maps"
	"slices"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// Unwoken lists those of the agents and roles with a door for whom mail waits that is worth waking them, by name.
// Working and frozen agents are among them, and those without a door whose session is idle: of them the user is to
// know. Those whom another machine is to wake are among them too. hasDoor says of which doors this one knows; it is
// called with the state locked, so it must not block.
func (r *Room) Unwoken(hasDoor func(agent mail.Name, roles []string) bool) []mail.Unwoken {
	now := r.now()
	r.mu.RLock()
	defer r.mu.RUnlock()
	s := r.sight(r.state)
	anyDoor := func(n mail.Name, roles []string) bool { return hasDoor(n, roles) || s.doorElsewhere(n, roles) }
	found := make(map[mail.Address]*mail.Unwoken)
	for m := range s.agents() {
		if len(m.calling) == 0 || !anyDoor(m.Name, m.Roles) && (m.State != mail.Idle || m.Session == "") {
			continue
		}
		u := s.sleeper(m, now)
		s.locate(u, m, hasDoor)
		for rec := range m.callers(now) {
			if s.wakes(rec, m, now) || s.awaits(rec, m, now) {
				u.Mail = append(u.Mail, s.unwoken(rec, m))
			}
		}
		if len(u.Mail) > 0 {
			found[mail.AgentAddress(m.Name)] = u
		}
	}
	for _, role := range slices.Sorted(maps.Keys(s.held)) {
		s.addHeld(found, role, hasDoor, anyDoor, now)
	}
	out := make([]mail.Unwoken, 0, len(found))
	for _, a := range slices.Sorted(maps.Keys(found)) {
		u := found[a]
		slices.SortFunc(u.Mail, func(a, b mail.UnwokenMail) int { return cmp.Compare(a.Seq, b.Seq) })
		out = append(out, *u)
	}
	return out
}

// locate says where u is woken; m is nil for the holder of a role that nobody has.
func (s sight) locate(u *mail.Unwoken, m *member, hasDoor func(mail.Name, []string) bool) {
	p := s.placeOf(m, u.Agent, u.Roles, hasDoor(u.Agent, u.Roles))
	u.Elsewhere, u.Away = p.elsewhere != "" || p.nowhere && s.upkeep != s.ways.Here, p.away
}

// sleeper describes an agent as one to be woken.
func (s *state) sleeper(m *member, now mail.Time) *mail.Unwoken {
	return &mail.Unwoken{Agent: m.Name, Roles: slices.Clone(m.Roles), State: m.State, Since: m.Since,
		Broken: m.State == mail.Idle && m.Broken, Known: m.introduced(), Unread: s.countUnread(m, now),
		Urgent: m.urgent.at(now)}
}

// wakes reports whether r, unread mail of m, is to wake it: it has not expired and nobody has handed its text over.
func (s *state) wakes(r *record, m *member, now mail.Time) bool {
	if k := r.marksOf(m); k != nil && (k.shown().presented != 0 || k.pending()) || !s.visible(r, m, now) ||
		r.inInbox(m) {
		return false
	}
	return s.wakesNow(r, m)
}

// awaits reports whether r, unread mail of m that is to wake it, was handed to the client of an idle session: the
// first turn will hold it, and somebody has to begin that.
func (s *state) awaits(r *record, m *member, now mail.Time) bool {
	k := r.marksOf(m)
	return k != nil && m.State == mail.Idle && k.pending() && k.shown().presented == 0 && s.visible(r, m, now) &&
		s.wakesNow(r, m)
}

// inInbox reports whether r stands in the mailbox of m's own client, which hands it over by itself.
func (r *record) inInbox(m *member) bool {
	k := r.marksOf(m)
	return k != nil && k.shown().notifiedDoor.name() == mail.InboxDoor
}

// addHeld adds whom to wake for the mail that is held for a role.
func (s sight) addHeld(found map[mail.Address]*mail.Unwoken, role string,
	hasDoor, anyDoor func(mail.Name, []string) bool, now mail.Time) {
	m, ok := s.dormant(role, anyDoor)
	if !ok {
		return
	}
	u := &mail.Unwoken{Agent: vacant(role), Roles: []string{role}, State: mail.Gone}
	key := mail.RoleAddress(role)
	if m != nil {
		key = mail.AgentAddress(m.Name)
		if u = found[key]; u == nil {
			u = s.sleeper(m, now)
			s.locate(u, m, hasDoor)
		}
	} else {
		s.locate(u, nil, hasDoor)
		m = s.members[u.Agent] // which may have been notified before it is on the roster
	}
	u.Role = role
	for _, r := range s.held[role] {
		if r.withdrawn() || policy.Past(s.expiry(r, mail.RoleAddress(role), nil), now) {
			continue
		}
		count(u, r)
		if wakesHolder(r, role) {
			u.Mail = append(u.Mail, s.unwoken(r, m))
		}
	}
	if len(u.Mail) > 0 {
		found[key] = u
	}
}

// count adds an unread message to what somebody is told.
func count(u *mail.Unwoken, r *record) {
	u.Unread++
	if r.msg.Priority == mail.Urgent {
		u.Urgent++
	}
}

// unwoken describes r as mail for which m, who may be nobody yet, is to be woken.
func (s *state) unwoken(r *record, m *member) mail.UnwokenMail {
	w := mail.UnwokenMail{ID: r.msg.ID, Seq: r.seq, From: r.msg.From, Urgent: r.msg.Priority == mail.Urgent}
	if m == nil {
		return w
	}
	if k := r.marksOf(m); k != nil {
		was := k.shown()
		w.Notified, w.Door = was.notified, was.notifiedDoor.name()
		if k.pending() {
			w.Told = was.told
		}
	}
	_, w.Waited = s.waited[arrival{r, m}]
	return w
}
