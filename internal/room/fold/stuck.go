package fold

import (
	"cmp"
	"iter"
	"slices"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// mostStuck is how far a group is counted: a person who finds a thousand messages stuck needs no better number.
const mostStuck = 1000

// Pile is mail of one kind and for one reader that does not move. Only its first message was searched for.
type Pile struct {
	To    mail.Address
	at    *Member // for mail.StuckAsking: the agent at dialogs
	since mail.Time
	all   iter.Seq2[*Record, mail.Delivery] // from the first on; none for mail.StuckClaim

	claims []mail.Clash // of mail.StuckClaim
	circle []mail.Name
}

// Stuck returns the piles of each of kinds, those that have waited longest first. For each pile it looks only as far
// as the first stuck message.
func (s Sight) Stuck(kinds []mail.StuckKind, now mail.Time) map[mail.StuckKind][]Pile {
	found := make(map[mail.StuckKind][]Pile)
	add := func(kind mail.StuckKind, to mail.Address, all iter.Seq2[*Record, mail.Delivery]) {
		for r := range all {
			found[kind] = append(found[kind], Pile{To: to, since: r.Msg.Sent, all: all})
			return
		}
	}
	var atReaders []mail.StuckKind
	for _, kind := range kinds {
		switch kind {
		case mail.StuckAsking:
			found[kind] = s.stuckAsking(now)
		case mail.StuckClaim:
			found[kind] = s.stuckClaims(now)
		case mail.StuckHeld:
			for role := range s.Held {
				add(kind, mail.RoleAddress(role), s.stuckHeld(role, now))
			}
		case mail.StuckExpired:
			for a := range s.index.to {
				if k := a.Kind(); k == mail.ToTag || k == mail.ToEveryone {
					add(kind, a, s.stuckAmong(a, now))
				}
			}
			atReaders = append(atReaders, kind)
		default:
			atReaders = append(atReaders, kind)
		}
	}
	s.stuckAtReaders(atReaders, now, add)
	for kind, piles := range found {
		if kind != mail.StuckAsking && kind != mail.StuckClaim {
			sortPiles(piles)
		}
	}
	return found
}

// stuckAtReaders adds the piles of readers. It visits each reader once: there may be thousands, and their mail is not
// in the processor's caches.
func (s Sight) stuckAtReaders(kinds []mail.StuckKind, now mail.Time,
	add func(mail.StuckKind, mail.Address, iter.Seq2[*Record, mail.Delivery])) {
	for name, m := range s.Members {
		if name == m.Name && !m.IsUser() && len(m.Unread.List) > 0 {
			to := mail.AgentAddress(name)
			for _, kind := range kinds {
				add(kind, to, s.stuckAt(m, kind, now))
			}
		}
	}
}

func sortPiles(piles []Pile) {
	slices.SortFunc(piles, func(a, b Pile) int {
		return cmp.Or(cmp.Compare(a.since, b.since), cmp.Compare(a.To, b.To))
	})
}

// Group shows a pile: how many messages it has, and the first ones, at most as many as most.
func (p *Pile) Group(s Sight, kind mail.StuckKind, most int, now mail.Time) mail.StuckGroup {
	out := mail.StuckGroup{Kind: kind, For: p.To, Since: p.since, Mail: []mail.Item{}, Claims: p.claims,
		Circle: p.circle}
	for r, d := range p.all {
		if out.Count == mostStuck {
			out.More = true
			break
		}
		if out.Count++; out.Count <= most {
			it := s.Item(r, nil, now)
			it.Deliveries = []mail.Delivery{d}
			out.Mail = append(out.Mail, it)
		}
		if p.at == nil {
			out.Since = min(out.Since, r.Msg.Sent)
		}
	}
	if p.at != nil {
		out.Dialogs = slices.Clone(p.at.Dialogs)
	}
	return out
}

// stuckAsking returns a pile for each agent that is at a dialog, with the mail that it has not been shown yet. Mail
// is stuck there without any wait: the agent does not continue before its person answers.
func (s Sight) stuckAsking(now mail.Time) (piles []Pile) {
	for _, m := range s.AtDialogs() {
		all := func(yield func(*Record, mail.Delivery) bool) {
			for r := range m.Unread.Alive(false, now) {
				a, _, ok := s.lasting(r, m)
				if !ok || !r.moves() || !s.Visible(r, m, now) {
					continue
				}
				d := s.delivery(r, a, m, now)
				if (d.State == mail.Queued || d.State == mail.Notified) && !yield(r, d) {
					return
				}
			}
		}
		piles = append(piles, Pile{To: mail.AgentAddress(m.Name), at: m, since: m.StateSince(), all: all})
	}
	return piles
}

// stuckHeld yields the mail held for a role.
func (s Sight) stuckHeld(role string, now mail.Time) iter.Seq2[*Record, mail.Delivery] {
	return func(yield func(*Record, mail.Delivery) bool) {
		for _, r := range s.Held[role] {
			if !r.moves() {
				continue
			}
			for i := range r.Bound {
				b := &r.Bound[i]
				if b.IsRole() && b.address.Value() == role && len(b.members) == 0 {
					if d := s.deliveryTo(r, recipient{b.address, nil}, now); d.State == mail.Held && !yield(r, d) {
						return
					}
				}
			}
		}
	}
}

// stuckAt yields the mail stuck at one reader. It searches the mail that wakes for what should have woken the reader,
// and the mail with an end for what has expired.
func (s Sight) stuckAt(m *Member, kind mail.StuckKind, now mail.Time) iter.Seq2[*Record, mail.Delivery] {
	var from iter.Seq[*Record]
	switch {
	case kind == mail.StuckExpired:
		from = m.Unread.past(now)
	case kind == mail.StuckWaiting && m.Listed():
		from = m.Callers(now)
	case kind == mail.StuckDead && m.away() && !s.HasDoor(m):
		from = m.Unread.Alive(false, now)
	default:
		return func(func(*Record, mail.Delivery) bool) {}
	}
	return func(yield func(*Record, mail.Delivery) bool) {
		for r := range from {
			b := r.BoundTo(m)
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

// isStuck reports whether a delivery to m is stuck in that way.
func (s *State) isStuck(r *Record, m *Member, d *mail.Delivery, kind mail.StuckKind, now mail.Time) bool {
	switch kind {
	case mail.StuckWaiting:
		return !m.IsUser() && policy.Stuck(m.State, d, r.Msg.Sent, now)
	case mail.StuckExpired:
		return d.State == mail.Expired && !r.seen() && !s.dealtWith(r)
	}
	return d.State == mail.Dead && !s.dealtWith(r)
}

// stuckAmong yields mail to a tag, or to all, that expired before anyone had seen it.
func (s *State) stuckAmong(a mail.Address, now mail.Time) iter.Seq2[*Record, mail.Delivery] {
	return func(yield func(*Record, mail.Delivery) bool) {
		for _, r := range s.index.to[a] {
			expires := s.expiry(r, a, nil)
			if r.Msg.forPresent() || !r.moves() || !policy.Past(expires, now) || r.seen() ||
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

// moves reports whether r should move at all: mail of the post office itself is in the inbox already, and settled
// questions need not.
func (r *Record) moves() bool { return r.Msg.From != mail.FromSystem && r.Settled == nil }

// seen reports whether someone has seen r: then it is no loss that it expired for others.
func (r *Record) seen() bool {
	return slices.ContainsFunc(r.marks, func(k marks) bool {
		return k.Shown().Presented != 0 || k.read != 0 || k.Archived != 0
	})
}

// dealtWith reports whether the user has answered r or sent it on: then it no longer matters that it was not read.
func (s *State) dealtWith(r *Record) bool {
	those := s.index.threads[r.Msg.ThreadRoot()]
	if sent := s.Members[mail.User].Sent; len(sent) < len(those) {
		those = sent
	}
	return slices.ContainsFunc(those, func(o *Record) bool {
		return o.Msg.ReplyTo() == r.Msg.ID && o.Msg.From == mail.ToUser
	})
}
