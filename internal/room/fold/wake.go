package fold

import (
	"slices"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// Locate sets where u is woken; m is nil for the holder of a role that no one has.
func (s Sight) Locate(u *mail.Unwoken, m *Member, hasDoor func(mail.Name, []string) bool) {
	p := s.placeOf(m, u.Agent, u.Roles, hasDoor(u.Agent, u.Roles))
	u.Elsewhere, u.Away = p.elsewhere != "" || p.nowhere && s.Upkeep != s.ways.Here, p.away
}

// Sleeper describes an agent to be woken.
func (s *State) Sleeper(m *Member, now mail.Time) *mail.Unwoken {
	return &mail.Unwoken{Agent: m.Name, Roles: slices.Clone(m.Roles), State: m.Ringable(), Since: m.Since,
		Live: m.Live(now), Broken: m.State == mail.Idle && m.Broken,
		Known: m.IsIntroduced(), Unread: s.CountUnread(m, now),
		Urgent: m.Urgent.At(now)}
}

// Wakes reports whether r, unread mail of m, should wake it: it has not expired and its text was not handed over.
func (s *State) Wakes(r *Record, m *Member, now mail.Time) bool {
	if k := r.MarksOf(m); r.presentedTo(m) || k != nil && k.pending() || !s.Visible(r, m, now) || r.InInbox(m) {
		return false
	}
	return s.WakesNow(r, m)
}

// Awaits reports whether r, unread mail that should wake m, was handed to the client of an idle session: the first
// turn will contain it, and something must begin that turn.
func (s *State) Awaits(r *Record, m *Member, now mail.Time) bool {
	k := r.MarksOf(m)
	return k != nil && m.State == mail.Idle && k.pending() && !r.presentedTo(m) && s.Visible(r, m, now) &&
		s.WakesNow(r, m)
}

// InInbox reports whether r is in the mailbox of m's own client, which hands it over by itself.
func (r *Record) InInbox(m *Member) bool {
	k := r.MarksOf(m)
	return k != nil && k.Shown().notifiedDoor.name() == mail.InboxDoor
}

// presentedTo reports whether m, which may be nil, was shown the text of r.
func (r *Record) presentedTo(m *Member) bool {
	if m == nil {
		return false
	}
	k := r.MarksOf(m)
	return k != nil && k.Shown().Presented != 0
}

// AddHeld adds whom to wake for the mail that is held for a role. A holder that has ended is not woken for mail that
// it was shown and left unread.
func (s Sight) AddHeld(found map[mail.Address]*mail.Unwoken, role string,
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
			u = s.Sleeper(m, now)
			s.Locate(u, m, hasDoor)
		}
	} else {
		s.Locate(u, nil, hasDoor)
		m = s.Members[u.Agent] // which may have been notified before it is on the roster
	}
	u.Role = role
	for _, r := range s.Held[role] {
		if r.Withdrawn() || policy.Past(s.expiry(r, mail.RoleAddress(role), nil), now) {
			continue
		}
		count(u, r)
		if wakesHolder(r, role) && !r.presentedTo(m) {
			u.Mail = append(u.Mail, s.Unwoken(r, m))
		}
	}
	if len(u.Mail) > 0 {
		found[key] = u
	}
}

// count adds an unread message to the counts of a notice.
func count(u *mail.Unwoken, r *Record) {
	u.Unread++
	if r.Msg.Priority == mail.Urgent {
		u.Urgent++
	}
}

// Unwoken describes r as mail for which to wake m, which may be nil.
func (s *State) Unwoken(r *Record, m *Member) mail.UnwokenMail {
	w := mail.UnwokenMail{ID: r.Msg.ID, Seq: r.Seq, From: r.Msg.From, Urgent: r.Msg.Priority == mail.Urgent}
	if m == nil {
		return w
	}
	if k := r.MarksOf(m); k != nil {
		was := k.Shown()
		w.Notified, w.Door = was.notified, was.notifiedDoor.name()
		if k.pending() {
			w.Told = was.Told
		}
	}
	_, w.Waited = s.Waited[Arrival{r, m}]
	return w
}
