package mailroom

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// mostStuck is how far a group is counted: a person who finds a thousand messages stuck needs no better number.
const mostStuck = 1000

// Stuck implements mail.Tracker.
func (v *view) Stuck(ctx context.Context, q mail.StuckQuery) (mail.StuckList, error) {
	out := mail.StuckList{Groups: []mail.StuckGroup{}, Kinds: make(map[mail.StuckKind]int)}
	n, err := limit(q.Limit)
	if err != nil {
		return out, err
	}
	if q.Mail = cmp.Or(q.Mail, 5); q.Mail < 0 || q.Mail > mail.MaxLimit {
		_, err = limit(q.Mail)
		return out, err
	}
	if _, err := mail.ParseStuckKind(string(q.Kind)); err != nil {
		return out, err
	}
	v.touch(ctx)
	v.read(func(s *state, now mail.Time) {
		for _, kind := range mail.StuckKinds() {
			if q.Kind != "" && q.Kind != kind {
				continue
			}
			piles := v.sight(s).stuck(kind, now)
			if q.For != "" {
				piles = slices.DeleteFunc(piles, func(p pile) bool { return p.to != q.For })
			}
			out.Kinds[kind] = len(piles)
			for _, p := range piles[:min(n, len(piles))] {
				out.Groups = append(out.Groups, p.group(v.sight(s), kind, q.Mail, now))
			}
		}
	})
	for i := range out.Groups {
		g := &out.Groups[i]
		if g.Mail, err = v.complete(ctx, g.Mail); err != nil {
			return mail.StuckList{}, err
		}
	}
	// What was erased meanwhile may be all that a group shows.
	out.Groups = slices.DeleteFunc(out.Groups, func(g mail.StuckGroup) bool { return len(g.Mail) == 0 })
	return out, nil
}

// pile is mail that does not move, of one kind and for the same reader. Only its first message was looked for.
type pile struct {
	to    mail.Address
	since mail.Time
	all   iter.Seq2[*record, mail.Delivery] // from the first on
}

// stuck returns the piles of one kind, those that have waited longest first. For each it looks no further than to the
// first message that is stuck.
func (s sight) stuck(kind mail.StuckKind, now mail.Time) []pile {
	var piles []pile
	add := func(to mail.Address, all iter.Seq2[*record, mail.Delivery]) {
		for r := range all {
			piles = append(piles, pile{to, r.msg.Sent, all})
			return
		}
	}
	if kind == mail.StuckHeld {
		for role := range s.held {
			add(mail.RoleAddress(role), s.stuckHeld(role, now))
		}
	} else {
		for name, m := range s.members {
			if name == m.Name && !m.isUser() && len(m.unread.list) > 0 {
				add(mail.AgentAddress(name), s.stuckAt(m, kind, now))
			}
		}
	}
	if kind == mail.StuckExpired {
		for a := range s.index.to {
			if k := a.Kind(); k == mail.ToTag || k == mail.ToEveryone {
				add(a, s.stuckAmong(a, now))
			}
		}
	}
	slices.SortFunc(piles, func(a, b pile) int {
		return cmp.Or(cmp.Compare(a.since, b.since), cmp.Compare(a.to, b.to))
	})
	return piles
}

func (p *pile) group(s sight, kind mail.StuckKind, most int, now mail.Time) mail.StuckGroup {
	out := mail.StuckGroup{Kind: kind, For: p.to, Since: p.since, Mail: []mail.Item{}}
	for r, d := range p.all {
		if out.Count == mostStuck {
			out.More = true
			break
		}
		if out.Count++; out.Count <= most {
			it := s.item(r, nil, now)
			it.Deliveries = []mail.Delivery{d}
			out.Mail = append(out.Mail, it)
		}
		out.Since = min(out.Since, r.msg.Sent)
	}
	return out
}

// stuckHeld yields what is held for a role.
func (s sight) stuckHeld(role string, now mail.Time) iter.Seq2[*record, mail.Delivery] {
	return func(yield func(*record, mail.Delivery) bool) {
		for _, r := range s.held[role] {
			if !r.moves() {
				continue
			}
			for i := range r.bound {
				b := &r.bound[i]
				if b.isRole() && b.address.Value() == role && len(b.members) == 0 {
					if d := s.deliveryTo(r, recipient{b.address, nil}, now); d.State == mail.Held && !yield(r, d) {
						return
					}
				}
			}
		}
	}
}

// stuckAt yields what is stuck at one reader. What should have woken it is looked for among what wakes it, what has
// expired among what has an end.
func (s sight) stuckAt(m *member, kind mail.StuckKind, now mail.Time) iter.Seq2[*record, mail.Delivery] {
	from := m.callers(now)
	switch kind {
	case mail.StuckDead:
		if from = m.unread.alive(false, now); !m.away() || s.hasDoor(m) {
			return func(func(*record, mail.Delivery) bool) {}
		}
	case mail.StuckExpired:
		from = m.unread.past(now)
	}
	return func(yield func(*record, mail.Delivery) bool) {
		for r := range from {
			b := r.boundTo(m)
			if !r.moves() || b == nil && kind != mail.StuckWaiting {
				continue
			}
			a := mail.Address("")
			if b != nil {
				a = b.address
			} else if a, _, _ = s.lasting(r, m); a == "" {
				continue
			}
			d := s.delivery(r, a, m, now)
			if s.isStuck(r, m, &d, kind, now) && !yield(r, d) {
				return
			}
		}
	}
}

// isStuck reports whether a delivery to m is stuck so.
func (s *state) isStuck(r *record, m *member, d *mail.Delivery, kind mail.StuckKind, now mail.Time) bool {
	switch kind {
	case mail.StuckWaiting:
		return m.listed() && !m.isUser() && policy.Stuck(m.State, d, r.msg.Sent, now)
	case mail.StuckExpired:
		return d.State == mail.Expired && !r.seen() && !s.dealtWith(r)
	}
	return d.State == mail.Dead && !s.dealtWith(r)
}

// stuckAmong yields what went to a tag, or to all, and expired before anybody had seen it.
func (s *state) stuckAmong(a mail.Address, now mail.Time) iter.Seq2[*record, mail.Delivery] {
	return func(yield func(*record, mail.Delivery) bool) {
		for _, r := range s.index.to[a] {
			expires := s.expiry(r, a, nil)
			if r.msg.Audience != "" || !r.moves() || !policy.Past(expires, now) || r.seen() ||
				s.dealtWith(r) {
				continue
			}
			d := mail.Delivery{Address: a, State: mail.Expired, At: expires, Wake: mail.WakeNone}
			if !yield(r, d) {
				return
			}
		}
	}
}

// moves reports whether r is to move at all: what the post office itself wrote the inbox has, and what asked and is
// settled need not.
func (r *record) moves() bool { return r.msg.From != mail.FromSystem && r.settled == nil }

// seen reports whether somebody has seen r: then it is no loss that it expired for others.
func (r *record) seen() bool {
	return slices.ContainsFunc(r.marks, func(k marks) bool {
		return k.shown().presented != 0 || k.read != 0 || k.archived != 0
	})
}

// dealtWith reports whether the user has answered r or sent it on: that it was not read is settled by that.
func (s *state) dealtWith(r *record) bool {
	those := s.index.threads[r.msg.ThreadRoot()]
	if sent := s.members[mail.User].sent; len(sent) < len(those) {
		those = sent
	}
	return slices.ContainsFunc(those, func(o *record) bool {
		return o.msg.replyTo() == r.msg.ID && o.msg.From == mail.ToUser
	})
}
