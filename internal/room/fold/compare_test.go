package fold_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
	"pennypost/internal/room/fold"
	"pennypost/internal/room/fold/foldtest"
)

var here = foldtest.Doorless("")

// differs says where a state differs from the naive room; "" if it is the same in everything visible.
func (n *naive) differs(s *fold.State, now mail.Time) string {
	for _, compare := range []func(*fold.State, mail.Time) string{n.roll, n.records, n.lists, n.roles, n.claims,
		n.toSend} {
		if wrong := compare(s, now); wrong != "" {
			return wrong
		}
	}
	return ""
}

// roll compares the roster, the members with a mailbox and the record of each.
func (n *naive) roll(s *fold.State, _ mail.Time) string {
	roster := n.roster()
	if len(s.Listed) != len(roster) {
		return fmt.Sprintf("%d agents are on the roster, want %v", len(s.Listed), roster)
	}
	for i, p := range roster {
		if s.Listed[i].Name != p.Name {
			return fmt.Sprintf("the roster has %s, want %s", s.Listed[i].Name, p.Name)
		}
	}
	names := 0
	for _, p := range n.people {
		names += 1 + len(p.Aliases)
		if m := s.Members[p.Name]; m != nil && (m.Standing() != p.standing() || m.Ringable() != p.ringable()) {
			return fmt.Sprintf("%s is %s and rung as %s, want %s and %s", p.Name, m.Standing(), m.Ringable(),
				p.standing(), p.ringable())
		}
		m := s.Members[p.Name]
		if m == nil {
			return fmt.Sprintf("%s has no mailbox", p.Name)
		}
		if p.Registered != 0 && !sameRecord(m.AgentRecord, p.AgentRecord) {
			return fmt.Sprintf("%s is %+v,\nwant %+v", p.Name, m.AgentRecord, p.AgentRecord)
		}
		for _, old := range p.Aliases {
			if s.Members[old] != m {
				return fmt.Sprintf("%s does not lead to %s", old, p.Name)
			}
		}
	}
	if len(s.Members) != names {
		var want []mail.Name
		for _, p := range n.people {
			want = append(append(want, p.Name), p.Aliases...)
		}
		return fmt.Sprintf("%v have a mailbox, want %v", slices.Sorted(maps.Keys(s.Members)), want)
	}
	return ""
}

func sameRecord(a, b mail.AgentRecord) bool {
	same := slices.Equal(a.Roles, b.Roles) && slices.Equal(a.Tags, b.Tags) && slices.Equal(a.Freezes, b.Freezes) &&
		slices.Equal(a.Aliases, b.Aliases) && slices.Equal(a.Dialogs, b.Dialogs)
	a.Roles, a.Tags, a.Freezes, a.Aliases, a.Dialogs = b.Roles, b.Tags, b.Freezes, b.Aliases, b.Dialogs
	a.Claims, a.Awaits, b.Claims, b.Awaits = nil, nil, nil, nil // compared by claims
	return same && reflect.DeepEqual(a, b)
}

// records compares the hot messages, what became of each, and their deliveries.
func (n *naive) records(s *fold.State, now mail.Time) string {
	if len(s.Order) != len(n.letters) || len(s.Records) != len(n.letters) {
		return fmt.Sprintf("%d messages are hot, want %d", len(s.Order), len(n.letters))
	}
	for i, l := range n.letters {
		r := s.Order[i]
		h := r.Msg.Message()
		if r.Seq != l.seq || s.Records[l.ID] != r || r.Sender.Name != l.by.Name || r.Msg.Key != l.Key ||
			!sameHeader(&h, l) {
			return fmt.Sprintf("message %d is %+v,\nwant %d %+v", r.Seq, h, l.seq, *l.Message)
		}
		if r.Open() != l.open() || (r.Settled == nil) != (l.settled == nil) ||
			r.Settled != nil && *r.Settled != *l.settled {
			return fmt.Sprintf("%s is settled %+v, want %+v", l.ID, r.Settled, l.settled)
		}
		got, want := s.Seen(here).Deliveries(r, now), n.deliveries(l, now)
		for i := range got {
			got[i] = mail.Delivery{Address: got[i].Address, Agent: got[i].Agent, State: got[i].State, At: got[i].At,
				Door: got[i].Door}
		}
		if !slices.Equal(got, want) {
			return fmt.Sprintf("%s stands so: %+v,\nwant %+v", l.ID, got, want)
		}
	}
	return ""
}

func sameHeader(h *mail.Message, l *letter) bool {
	return h.ID == l.ID && h.Type == l.Type && h.From == l.From && slices.Equal(h.To, l.To) &&
		h.Priority == l.Priority && h.Thread == l.Thread && h.ReplyTo == l.ReplyTo && h.TTLSeconds == l.TTLSeconds &&
		h.Audience == l.Audience && h.Sent == l.sent
}

// deliveries returns the deliveries of a letter.
func (n *naive) deliveries(l *letter, now mail.Time) (out []mail.Delivery) {
	known := map[*person]bool{}
	add := func(a mail.Address, who []*person) {
		if len(who) == 0 {
			out = append(out, waits(l, a, now))
		}
		for _, p := range who {
			if !known[p] {
				out = append(out, stands(l, a, p, now))
			}
			known[p] = true
		}
	}
	for _, s := range l.seats {
		add(s.address, s.who)
	}
	for _, a := range l.dynamic {
		var who, were []*person
		for _, p := range n.roster() {
			if p != l.by && policy.Carries(p.Tags, a) && !policy.Past(l.expiry(a, nil), p.Registered) {
				who = append(who, p)
			}
		}
		for _, k := range l.marks {
			if len(l.throughWhich(k.who)) == 0 {
				were = append(were, k.who)
			}
		}
		slices.SortFunc(were, func(a, b *person) int { return mail.CompareNames(a.Name, b.Name) })
		add(a, append(who, were...))
	}
	return out
}

// stands returns the delivery of a letter to a person.
func stands(l *letter, a mail.Address, p *person, now mail.Time) mail.Delivery {
	d := mail.Delivery{Address: a, Agent: p.Name}
	k := l.marksOf(p)
	notified, door := k.notified, k.rang
	if k.pending() {
		notified, door = k.told, mail.HookDoor
	}
	expires := l.expiry(a, p)
	away := p.Name != mail.User && (p.Retired || p.State == mail.Gone)
	switch {
	case k.archived != 0:
		d.State, d.At = mail.Archived, k.archived
	case k.read != 0:
		d.State, d.At = mail.Read, k.read
	case policy.Past(expires, now):
		d.State, d.At = mail.Expired, expires
	case away && a.Kind() == mail.ToAgent:
		d.State = mail.Dead
	case k.shown != 0:
		d.State, d.At, d.Door = mail.Presented, k.shown, k.through
	case notified != 0:
		d.State, d.At, d.Door = mail.Notified, notified, door
	default:
		d.State = mail.Queued
	}
	return d
}

// waits returns the delivery of a letter that has reached no one at an address.
func waits(l *letter, a mail.Address, now mail.Time) mail.Delivery {
	d := mail.Delivery{Address: a, State: mail.Queued}
	switch {
	case policy.Past(l.expiry(a, nil), now):
		d.State = mail.Expired
	case a.Kind() == mail.ToRole:
		d.State = mail.Held
	}
	return d
}

// lists compares everyone's mailbox: each list that the fold keeps, and the counts, now and later.
func (n *naive) lists(s *fold.State, now mail.Time) string {
	for _, p := range n.people {
		m := s.Members[p.Name]
		mine := func(l *letter) bool { return len(l.throughWhich(p)) > 0 }
		kept := func(l *letter) bool { return len(l.dynamic) > 0 && l.isMarked(p) }
		inbox := func(l *letter) bool { return (mine(l) || kept(l)) && l.marksOf(p).archived == 0 }
		unread := func(l *letter) bool { return mine(l) && !l.done(p) }
		for _, list := range []struct {
			name string
			got  fold.List
			want func(l *letter) bool
		}{
			{"all", m.All, inbox},
			{"rest", m.Rest, func(l *letter) bool { return l.isMarked(p) && !inbox(l) }},
			{"unread", m.Unread.List, unread},
			{"urgent", m.Urgent.List, func(l *letter) bool { return unread(l) && l.Priority == mail.Urgent }},
			{"calling", m.Calling, func(l *letter) bool { return unread(l) && l.wakes(p) }},
			{"given", m.Given, func(l *letter) bool { return unread(l) && l.givenTo(p) }},
			{"cancels", m.Cancels, func(l *letter) bool { return unread(l) && l.Type == mail.Cancel }},
			{"told", m.Told, func(l *letter) bool { return unread(l) && l.marksOf(p).told != 0 }},
			{"snoozed", m.Snoozed, func(l *letter) bool { return unread(l) && l.marksOf(p).put != 0 }},
			{"sent", m.Sent, func(l *letter) bool { return l.by == p }},
			{"asked", m.Asked, func(l *letter) bool { return l.open() && l.seated(p) }},
			{"asking", m.Asking, func(l *letter) bool { return l.open() && l.by == p }},
		} {
			if wrong := n.listed(list.got, list.want, now); wrong != "" {
				return fmt.Sprintf("%s of %s %s", list.name, p.Name, wrong)
			}
		}
		if wrong := n.counted(s, m, p, now); wrong != "" {
			return wrong
		}
	}
	return ""
}

func (l *letter) givenTo(p *person) bool {
	return slices.ContainsFunc(l.seats, func(s *seat) bool {
		return s.role != "" && (s.holder() == p || l.isOffer() && slices.Contains(s.who, p))
	})
}

// listed compares a list with the wanted letters. It may lack letters for a tag or for all that have expired there,
// and have some of a tag that was lost: no query shows these.
func (n *naive) listed(got fold.List, want func(*letter) bool, now mail.Time) string {
	for _, l := range n.letters {
		in := len(got) > 0 && got[0].Seq == l.seq
		if in {
			got = got[1:]
		}
		if in != want(l) && !l.over(now) {
			return fmt.Sprintf("has %s: %t", l.ID, in)
		}
	}
	if len(got) > 0 {
		return fmt.Sprintf("has %d that are not hot, or twice", len(got))
	}
	return ""
}

// over reports whether a letter was for tags, or for all, and has expired there.
func (l *letter) over(now mail.Time) bool {
	return len(l.dynamic) > 0 && !slices.ContainsFunc(l.dynamic, func(a mail.Address) bool {
		return !policy.Past(l.expiry(a, nil), now)
	})
}

// counted compares the numbers at the head of a mailbox.
func (n *naive) counted(s *fold.State, m *fold.Member, p *person, now mail.Time) string {
	for _, in := range []time.Duration{0, 5 * time.Hour, 8 * day} {
		at := now.Add(in)
		unread, urgent := 0, 0
		for _, l := range n.letters {
			if l.unread(p, at) && !l.withdrawn() {
				unread++
				if l.Priority == mail.Urgent && l.marksOf(p).put == 0 {
					urgent++
				}
			}
		}
		if got := s.CountUnread(m, at); got != unread {
			return fmt.Sprintf("%s has %d unread in %v, want %d", p.Name, got, in, unread)
		}
		if got := m.Urgent.At(at); got != urgent {
			return fmt.Sprintf("%s has %d urgent in %v, want %d", p.Name, got, in, urgent)
		}
	}
	return ""
}

// roles compares whose turn it is, the held mail, the open questions, and the known keys.
func (n *naive) roles(s *fold.State, now mail.Time) string {
	open, held := 0, map[string]int{}
	for _, l := range n.letters {
		if l.open() {
			if open++; len(s.Open) < open || s.Open[open-1].Seq != l.seq {
				return fmt.Sprintf("%s is not among the open questions", l.ID)
			}
		}
		in := map[string]bool{}
		for i, st := range l.seats {
			if st.role == "" {
				continue
			}
			b := &s.Records[l.ID].Bound[i]
			if h := b.Holder(); (h == nil) != (st.holder() == nil) || h != nil && h.Name != st.holder().Name {
				return fmt.Sprintf("%s is with %v, want %v", l.ID, h, st.holder())
			}
			if st.holder() == nil && !in[st.role] {
				in[st.role] = true
				if held[st.role]++; len(s.Held[st.role]) < held[st.role] ||
					s.Held[st.role][held[st.role]-1].Seq != l.seq {
					return fmt.Sprintf("%s is not held for %s", l.ID, st.role)
				}
			}
		}
	}
	for role, l := range s.Held {
		if len(l) != held[role] {
			return fmt.Sprintf("%d are held for %s, want %d", len(l), role, held[role])
		}
	}
	if len(s.Open) != open {
		return fmt.Sprintf("%d questions are open, want %d", len(s.Open), open)
	}
	if !maps.Equal(s.Rotation, n.turn) {
		return fmt.Sprintf("the turns are %v, want %v", s.Rotation, n.turn)
	}
	for _, p := range n.people {
		for _, key := range modelKeys {
			a := mail.AgentAddress(p.Name)
			if got := s.SentBefore(s.KeyOf(a, key)); got != n.keyed(p, a, key) {
				return fmt.Sprintf("key %s of %s is known: %t", key, p.Name, got)
			}
		}
	}
	if len(s.Erasing) != len(n.erasing) {
		return fmt.Sprintf("%v are to be erased, want %v", s.Erasing, n.erasing)
	}
	if !slices.Equal(s.Grants, n.grants) {
		return fmt.Sprintf("granted is %+v, want %+v", s.Grants, n.grants)
	}
	return ""
}
