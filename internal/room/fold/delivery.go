package fold

import (
	"cmp"
	"iter"
	"slices"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// delivery returns the state of r for m, whom it reached through a.
func (s Sight) delivery(r *Record, a mail.Address, m *Member, now mail.Time) mail.Delivery {
	d := mail.Delivery{Address: a, Agent: m.Name, Wake: mail.WakeNone}
	k := r.MarksOf(m)
	if k == nil {
		k = &marks{}
	}
	was := k.Shown()
	notified, door := was.notified, was.notifiedDoor.name()
	if k.pending() {
		notified, door = was.Told, mail.HookDoor
	}
	facts := policy.DeliveryFacts{
		Archived: k.Archived, Read: k.read, Presented: was.Presented, Notified: notified,
		Expires: s.expiry(r, a, m), Direct: a.Kind() == mail.ToAgent, Away: m.away() && !s.HasDoor(m),
	}
	d.State, d.At = facts.State(now)
	switch d.State {
	case mail.Presented:
		d.Door = was.presentedDoor.name()
	case mail.Notified:
		d.Door = door
	}
	if d.State == mail.Queued || d.State == mail.Notified {
		d.Wake, d.PutOff, d.Machine = s.wake(m, r, a, now)
		d.Asking, d.Doubt = m.asking()
		switch d.Wake {
		case mail.WakeNone, mail.WakeNoDoor, mail.WakeTurnEnd, mail.WakeAsking:
			d.Sees = s.sees(m, r)
		}
	}
	return d
}

// sees says how much of r the next turn of m shows it: only hooks show something by themselves.
func (s *State) sees(m *Member, r *Record) string {
	switch {
	case m.IsUser() || m.Session == "" || m.Joined:
		return ""
	case r.Msg.Type == mail.Status && !s.WakesNow(r, m):
		return mail.SeesCount
	}
	return mail.SeesWhole
}

// away reports whether m cannot read: its last session has ended, or it is not on the roster.
func (m *Member) away() bool { return !m.IsUser() && (m.Retired || m.State == mail.Gone) }

// wake says whether and how m will be woken for r, when at the earliest if that is put off, and on which other
// machine.
func (s Sight) wake(m *Member, r *Record, a mail.Address, now mail.Time) (how string, putOff mail.Time,
	at mail.Machine) {
	switch {
	case s.hasInbox(m):
		return mail.InboxDoor, 0, ""
	case m.IsUser() && r.Msg.From != mail.ToUser && !r.Withdrawn():
		if how, putOff = s.ways.Tells(r.Open(), r.Msg.Priority == mail.Urgent, now); how != "" {
			return how, putOff, ""
		}
		return mail.WakeNone, 0, ""
	case !r.wakes(a, m.HasRole(string(mail.Orchestrator))):
		return mail.WakeNone, 0, ""
	case s.looksAt(m) != "":
		return s.looksAt(m), 0, ""
	case policy.MayRing(m.State) && (m.Session != "" || s.HasDoor(m)), m.State == mail.Working:
		urgent := r.Msg.Priority == mail.Urgent
		if at := policy.AfterBreak(m.State == mail.Idle && m.Broken, urgent, m.Since, now); at != 0 {
			return mail.WakeBroken, at, ""
		}
		return s.ring(r, m, m.Name, m.Roles, now)
	}
	return mail.WakeNoDoor, 0, ""
}

// looksAt says when m looks by itself, without being rung: WakeTurnEnd, WakeAsking, or "" if it does not.
func (s Sight) looksAt(m *Member) string {
	switch state := m.Ringable(); {
	case s.IsAway(m.Machine):
	case state == mail.Asking:
		return mail.WakeAsking
	case state == mail.Working:
		return mail.WakeTurnEnd
	}
	return ""
}

// hasInbox reports whether m's client shows m by itself the mail that a bridge puts into its mailbox.
func (s *State) hasInbox(m *Member) bool {
	return m.Inbox != "" && (m.Session == "" || m.Joined) && m.State.Live() &&
		slices.ContainsFunc(s.Bridges, func(b mail.Bridge) bool { return b.ID == m.Inbox })
}

// ring says through which door an agent, or the holder of the roles, is rung for r, on which other machine if it is
// not here, or until when that is put off. m is nil for the holder of the roles.
func (s Sight) ring(r *Record, m *Member, agent mail.Name, roles []string, now mail.Time) (how string,
	putOff mail.Time, at mail.Machine) {
	door := s.ways.Door(agent, roles)
	switch p := s.placeOf(m, agent, roles, door != ""); {
	case p.nowhere && p.away != "":
		return mail.WakeAway, 0, p.away
	case p.nowhere, p.elsewhere == "" && door == "":
		return mail.WakeNoDoor, 0, ""
	case p.elsewhere != "" && m != nil:
		return m.doorOn(p.elsewhere), 0, p.elsewhere
	case p.elsewhere != "":
		return mail.WakeOn(p.elsewhere, ""), 0, p.elsewhere
	}
	if at := s.ways.PutOff(agent, roles, r.Msg.Priority == mail.Urgent, now); at != 0 {
		return mail.WakeDeferred, at, ""
	}
	return door, 0, ""
}

// HasDoor reports whether a door is known for an agent, so that its mail finds it even when its session has ended.
func (s Sight) HasDoor(m *Member) bool { return m.Listed() && s.anyDoor(m.Name, m.Roles) }

// anyDoor reports whether a door is known for an agent, or the holder of the roles, here or on another machine.
func (s Sight) anyDoor(name mail.Name, roles []string) bool {
	return s.ways.Door(name, roles) != "" || s.DoorElsewhere(name, roles)
}

func (s *State) waiting(r *Record, a mail.Address, now mail.Time) mail.DeliveryState {
	if policy.Past(s.expiry(r, a, nil), now) {
		return mail.Expired
	}
	return mail.Queued
}

// expiry returns when r expires for m through an address.
func (s *State) expiry(r *Record, a mail.Address, m *Member) mail.Time {
	if a.Kind() == mail.ToAgent && m != nil {
		return s.ttl.Expiry(r.Msg.Sent, r.Msg.TTLSeconds, a, m.Freezes)
	}
	return s.ttl.Expiry(r.Msg.Sent, r.Msg.TTLSeconds, a, nil)
}

// wakeHeld says whether and how a holder will be called for mail that is held for a role, as wake does. Without a
// door there is no one to wake.
func (s Sight) wakeHeld(r *Record, role string, now mail.Time) (how string, putOff mail.Time, at mail.Machine) {
	m, ok := s.dormant(role, s.anyDoor)
	switch {
	case !ok || !wakesHolder(r, role), r.presentedTo(m):
		return mail.WakeNone, 0, ""
	case m == nil:
		return s.ring(r, nil, vacant(role), []string{role}, now)
	}
	return s.ring(r, m, m.Name, m.Roles, now)
}

func wakesHolder(r *Record, role string) bool {
	return r.wakes(mail.RoleAddress(role), role == string(mail.Orchestrator))
}

// dormant returns whom to wake for mail held for a role: the holder that went last and has a door, or nil if no agent
// has the role and the role itself has a door. While a member with the role is there, frozen or the sender itself, no
// one is woken.
func (s *State) dormant(role string, hasDoor func(mail.Name, []string) bool) (m *Member, ok bool) {
	var last *Member
	held := false
	for _, m := range s.Roles[role] {
		if !m.Listed() {
			continue
		}
		held = true
		if m.State != mail.Gone {
			return nil, false
		}
		newer := last == nil || cmp.Or(cmp.Compare(m.Since, last.Since), cmp.Compare(last.Name, m.Name)) > 0
		if newer && hasDoor(m.Name, m.Roles) {
			last = m
		}
	}
	if held {
		return last, last != nil
	}
	return nil, hasDoor(vacant(role), []string{role})
}

// vacant is the name under which the holder of a role that no one has is woken. Only the orchestrator's role has its
// own name.
func vacant(role string) mail.Name {
	if role == string(mail.Orchestrator) {
		return mail.Orchestrator
	}
	return ""
}

// Reaches reports whether addresses yields any.
func (r *Record) Reaches(m *Member) bool {
	if r.BoundTo(m) != nil {
		return true
	}
	if len(r.dynamic) == 0 || !m.Listed() || m == r.Sender {
		return false
	}
	return slices.ContainsFunc(r.dynamic, func(a mail.Address) bool { return policy.Carries(m.Tags, a) })
}

// addresses yields those addresses of r through which m is reached.
func (r *Record) addresses(m *Member) iter.Seq[mail.Address] {
	return func(yield func(mail.Address) bool) {
		for _, b := range r.Bound {
			if slices.Contains(b.members, m) && !yield(b.address) {
				return
			}
		}
		if len(r.dynamic) == 0 || !m.Listed() || m == r.Sender {
			return
		}
		for _, a := range r.dynamic {
			if policy.Carries(m.Tags, a) && !yield(a) {
				return
			}
		}
	}
}

// lasting returns the address through which r reaches m longest, and when it expires there. ok is false if r does not
// reach m.
func (s *State) lasting(r *Record, m *Member) (a mail.Address, expires mail.Time, ok bool) {
	for next := range r.addresses(m) {
		e := s.expiry(r, next, m)
		if !ok || expires != 0 && (e == 0 || e > expires) {
			a, expires, ok = next, e, true
		}
	}
	return a, expires, ok
}

// Visible reports whether m sees r at a time: it is reached, not everything has expired, and m has not put it off.
func (s *State) Visible(r *Record, m *Member, now mail.Time) bool {
	return r.SnoozedBy(m, now) == 0 && s.Lasts(r, m, now)
}

// Lasts reports whether r reaches m and has not expired everywhere.
func (s *State) Lasts(r *Record, m *Member, now mail.Time) bool {
	_, expires, ok := s.lasting(r, m)
	return ok && !policy.Past(expires, now)
}

// Item shows r as m sees it, or without a particular reader if m is nil. Room.complete adds the text.
func (s Sight) Item(r *Record, m *Member, now mail.Time) mail.Item {
	it := mail.Item{Message: r.Msg.Message(), Seq: r.Seq, Open: r.Open(), Settled: r.Settled,
		Suggestions: s.suggestions(r)}
	if m == nil {
		return it
	}
	it.Read, it.Given = r.readBy(m), m.has(r)
	it.Snoozed = r.SnoozedBy(m, now)
	if a, expires, ok := s.lasting(r, m); ok {
		it.Expires = expires
		it.State = s.delivery(r, a, m, now).State
	} else if k := r.MarksOf(m); k != nil && k.read != 0 {
		it.State = mail.Read
	}
	return it
}

// settledEverywhere reports whether everyone that r reaches has read it or no longer can, whether all have read it,
// and whether one of them was dead before, who may return. No one need read withdrawn mail.
func (s Sight) settledEverywhere(r *Record, now mail.Time) (settled, read, dead bool) {
	settled, read = true, true
	if r.Withdrawn() {
		return settled, read, false
	}
	var few [4]recipient // retention calls this for every message
	for _, t := range s.recipients(few[:0], r) {
		switch s.deliveryTo(r, t, now).State {
		case mail.Read, mail.Archived:
		case mail.Dead:
			read, dead = false, true
		case mail.Expired:
			read = false
		default:
			settled, read = false, false
		}
	}
	return settled, read, dead
}

// unsettledRole reports whether r is role mail that still waits for its holder to read it.
func (s *State) unsettledRole(r *Record, now mail.Time) bool {
	for i := range r.Bound {
		b := &r.Bound[i]
		if !b.IsRole() || r.Withdrawn() || policy.Past(s.expiry(r, b.address, nil), now) {
			continue
		}
		if h := b.Holder(); h == nil || !r.SettledBy(h) {
			return true
		}
	}
	return false
}
