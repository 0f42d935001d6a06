package fold_test

import (
	"cmp"
	"fmt"
	"slices"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// naive is a room as anyone would write it in an hour: lists and loops, nothing stored that can be computed. The fold
// is compared with it. It may call package policy, whose functions have their own tests.
type naive struct {
	seq     mail.Seq
	people  []*person // who have, or had, a mailbox
	letters []*letter // the hot ones, in order
	turn    map[string]mail.Name
	spent   [2][]spent // keys of trimmed letters: those that senders chose, those that clients made
	recent  []*mail.Event
	erasing map[mail.ID]bool
	grants  []mail.Grant
	holds   []*hold
	waits   []wait
	later   []*mail.Scheduling // in the order in which they were made
	entries map[string]string  // of configurations: their sums, by name
}

// person is a member with a mailbox. Its record is the one that it would have in a checkpoint.
type person struct {
	mail.AgentRecord
}

type spent struct {
	who *person
	mail.SpentKey
}

// letter is a message, its recipients and what became of it.
type letter struct {
	*mail.Message
	seq     mail.Seq
	sent    mail.Time
	by      *person
	seats   []*seat        // its addresses that lead to certain people
	dynamic []mail.Address // the others: tags, and all
	marks   []*mark
	settled *mail.Settlement
}

type seat struct {
	address mail.Address
	role    string // "": it is not for a role
	who     []*person
}

// holder returns the one who was given the mail of a role; nil: none.
func (s *seat) holder() *person {
	if len(s.who) == 0 {
		return nil
	}
	return s.who[len(s.who)-1]
}

// mark is what a reader did with a letter, or what was done for it, and when.
type mark struct {
	who                                        *person
	read, archived, notified, told, shown, put mail.Time
	rang, through                              string   // the doors of notified and shown
	handed                                     mail.Seq // where its text was last handed over
	mentioned                                  mail.Seq
}

func newNaive() *naive {
	n := &naive{turn: map[string]mail.Name{}, entries: map[string]string{}, erasing: map[mail.ID]bool{}}
	n.person(mail.User)
	return n
}

// find returns the person that bears or bore a name, nil if none did.
func (n *naive) find(name mail.Name) *person {
	for _, p := range n.people {
		if p.Name == name || slices.Contains(p.Aliases, name) {
			return p
		}
	}
	return nil
}

// person returns the person that bears or bore a name. A new name has a mailbox from now on.
func (n *naive) person(name mail.Name) *person {
	p := n.find(name)
	if p == nil {
		p = &person{mail.AgentRecord{Name: name, Retired: true}}
		n.people = append(n.people, p)
	}
	return p
}

// agent returns the agent on the roster with a name, nil if there is none.
func (n *naive) agent(name mail.Name) *person {
	if p := n.find(name); p != nil && !p.Retired {
		return p
	}
	return nil
}

// roster returns the agents on the roster, by name.
func (n *naive) roster() (out []*person) {
	for _, p := range n.people {
		if !p.Retired {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b *person) int { return mail.CompareNames(a.Name, b.Name) })
	return out
}

func (n *naive) letter(id mail.ID) *letter {
	for _, l := range n.letters {
		if l.ID == id {
			return l
		}
	}
	return nil
}

func (p *person) live() bool { return !p.Retired && p.State.Live() }

func (p *person) has(role string) bool { return slices.Contains(p.Roles, role) }

func (l *letter) open() bool { return l.settled == nil && l.Type.Asks() }

func (l *letter) withdrawn() bool { return l.settled != nil && l.settled.As == mail.Withdrawn }

// marksOf returns the marks of a person; empty ones if there are none.
func (l *letter) marksOf(p *person) *mark {
	for _, k := range l.marks {
		if k.who == p {
			return k
		}
	}
	return &mark{who: p}
}

func (l *letter) isMarked(p *person) bool {
	return slices.ContainsFunc(l.marks, func(k *mark) bool { return k.who == p })
}

// done reports whether a person has read a letter, or archived it.
func (l *letter) done(p *person) bool {
	k := l.marksOf(p)
	return k.read != 0 || k.archived != 0
}

// seated reports whether a letter is for a person by name, as holder of a role, or because the person was there.
func (l *letter) seated(p *person) bool {
	return slices.ContainsFunc(l.seats, func(s *seat) bool { return slices.Contains(s.who, p) })
}

// throughWhich returns the addresses by which a letter reaches a person.
func (l *letter) throughWhich(p *person) (out []mail.Address) {
	for _, s := range l.seats {
		if slices.Contains(s.who, p) {
			out = append(out, s.address)
		}
	}
	for _, a := range l.dynamic {
		if !p.Retired && p != l.by && policy.Carries(p.Tags, a) {
			out = append(out, a)
		}
	}
	return out
}

// expiry returns when a letter expires at an address for a person; 0: never.
func (l *letter) expiry(a mail.Address, p *person) mail.Time {
	var frozen []mail.Freeze
	if p != nil && a.Kind() == mail.ToAgent {
		frozen = p.Freezes
	}
	return policy.TTL{}.Expiry(l.sent, l.TTLSeconds, a, frozen)
}

// lasts reports whether a letter reaches a person and has not expired at all addresses by which it does.
func (l *letter) lasts(p *person, now mail.Time) bool {
	return slices.ContainsFunc(l.throughWhich(p), func(a mail.Address) bool {
		return !policy.Past(l.expiry(a, p), now)
	})
}

// unread reports whether a letter is unread in the inbox of a person.
func (l *letter) unread(p *person, now mail.Time) bool {
	return l.lasts(p, now) && !l.done(p) && l.marksOf(p).put <= now
}

// wakes reports whether a letter is of the kind that wakes a person.
func (l *letter) wakes(p *person) bool {
	return !l.withdrawn() && slices.ContainsFunc(l.throughWhich(p), func(a mail.Address) bool {
		return policy.Wakes(l.Type, l.Priority, l.From, a, p.has("orchestrator"))
	})
}

// pending reports whether the session that was told of a letter may still show that its model was given it.
func (k *mark) pending() bool { return k.told != 0 && k.who.Session != "" && k.handed > k.who.Began }

// apply applies an event, and reports whether it counts.
func (n *naive) apply(e *mail.Event) bool {
	n.seq = e.Seq
	n.end(e.At)
	defer n.offerAll()
	switch {
	case e.Message != nil:
		return n.send(e)
	case e.Receipt != nil:
		return n.mark(e.Receipt, e.At)
	case e.Agent != nil:
		n.change(e.Agent, e.At)
	case e.Settled != nil:
		return n.settleBy(*e.Settled, e.At)
	case e.Grant != nil:
		return n.grant(*e.Grant)
	case e.Dialog != nil:
		n.dialog(e.Dialog, e.At)
	case e.Claim != nil:
		return n.claim(e.Claim, e.At)
	case e.Schedule != nil:
		n.schedule(e.Schedule)
	case e.Erased != nil:
		n.erase(e.Erased)
	case e.Checkpoint != nil && e.Checkpoint.After == 0:
		n.letGo(e.Checkpoint)
	case e.Checkpoint != nil:
		n.forget(e.At)
	}
	return true
}

// keyed reports whether a person has sent something with a key that is remembered, under a name that counts as the
// same.
func (n *naive) keyed(p *person, from mail.Address, key string) bool {
	for _, keys := range n.spent {
		if slices.ContainsFunc(keys, func(s spent) bool {
			return s.who == p && s.Key == key && p.oneKeyring(s.From, from)
		}) {
			return true
		}
	}
	return slices.ContainsFunc(n.letters, func(l *letter) bool {
		return l.by == p && l.Key == key && p.oneKeyring(l.From, from)
	})
}

// oneKeyring reports whether keys that p signed with two names are alike: not if one was another's then.
func (p *person) oneKeyring(a, b mail.Address) bool {
	ring := func(a mail.Address) mail.Name {
		if slices.Contains(p.Merged, a.Signer()) {
			return a.Signer()
		}
		return ""
	}
	return ring(a) == ring(b)
}

func (n *naive) send(e *mail.Event) bool {
	m := e.Message
	by := n.person(m.From.Signer())
	if n.letter(m.ID) != nil || m.Key != "" && n.keyed(by, m.From, m.Key) {
		return false
	}
	if m.Same != "" {
		if slices.ContainsFunc(n.recent, func(o *mail.Event) bool {
			return o.Message.Same == m.Same && o.Seq > m.Checked
		}) {
			return false
		}
		n.recent = append(n.recent, e)
	}
	l := &letter{Message: m, seq: e.Seq, sent: cmp.Or(m.Sent, e.At), by: by}
	n.letters = append(n.letters, l)
	for _, a := range m.To {
		n.address(l, a)
	}
	if q := n.letter(m.ReplyTo); q != nil && q.open() {
		if as, ok := policy.Settles(q.Type, q.ID, m); ok {
			q.settled = &mail.Settlement{Message: q.ID, By: m.From, As: as, Answer: m.ID, At: l.sent}
		}
	}
	return true
}

// address finds out whom an address of a new letter leads to.
func (n *naive) address(l *letter, a mail.Address) {
	s := &seat{address: a}
	switch a.Kind() {
	case mail.ToPerson:
		s.who = []*person{n.person(mail.User)}
	case mail.ToAgent:
		s.who = n.below(l, n.person(mail.Name(a.Value())))
	case mail.ToRole:
		s.role = a.Value()
		n.give(l, s)
	case mail.FromFar:
		return
	default:
		if l.Audience == "" || l.Audience == mail.AudienceHolders {
			l.dynamic = append(l.dynamic, a)
			return
		}
		for _, p := range n.roster() {
			leads := l.Audience == mail.AudienceTeam && p.has("orchestrator")
			if p != l.by && p.live() && policy.Carries(p.Tags, a) && !leads {
				s.who = append(s.who, p)
			}
		}
	}
	l.seats = append(l.seats, s)
}

// below returns a person; if a letter tells it to stop, after all who work for it.
func (n *naive) below(l *letter, p *person) (out []*person) {
	if l.Type == mail.Cancel {
		for _, name := range policy.Descendants(p.Name, func(of mail.Name) (children []mail.Name) {
			for _, c := range n.roster() {
				if c.Parent == of {
					children = append(children, c.Name)
				}
			}
			slices.Sort(children)
			return children
		}) {
			if d := n.agent(name); d != nil && d != l.by {
				out = append(out, d)
			}
		}
	}
	return append(out, p)
}

// give gives role mail to the holder whose turn it is, or to no one if there is none.
func (n *naive) give(l *letter, s *seat) {
	var holders []mail.Name
	for _, p := range n.people {
		if p.live() && p.has(s.role) && p != l.by {
			holders = append(holders, p.Name)
		}
	}
	slices.Sort(holders)
	s.who = nil
	if l.isOffer() {
		for _, name := range holders {
			if p := n.agent(name); !l.done(p) {
				s.who = append(s.who, p)
			}
		}
		return
	}
	if next := policy.Next(holders, n.turn[s.role]); next != "" {
		n.turn[s.role] = next
		s.who = n.below(l, n.agent(next))
	}
}

// isOffer reports whether a letter is for all holders of a role until one has read it.
func (l *letter) isOffer() bool { return l.Audience == mail.AudienceHolders && l.Type != mail.Cancel }

// offered reports whether a letter is for all holders at a seat and none has taken it.
func (l *letter) offered(s *seat) bool {
	return l.isOffer() && s.role != "" && !slices.ContainsFunc(s.who, l.done)
}

// offerAll offers letters that no one has taken to the present holders of their roles.
func (n *naive) offerAll() {
	for _, l := range n.letters {
		for _, s := range l.seats {
			if !l.offered(s) {
				continue
			}
			before := s.who
			n.give(l, s)
			same := func(p *person) bool { return slices.Contains(before, p) }
			if len(before) == len(s.who) && len(slices.DeleteFunc(slices.Clone(s.who), same)) == 0 {
				s.who = before // in the order of the names that they had
			}
		}
	}
}

// resettle puts role mail where it belongs after a person has changed.
func (n *naive) resettle(p *person) {
	n.offerAll()
	for _, l := range n.letters {
		for _, s := range l.seats {
			if s.role != "" && s.holder() == p && !l.done(p) && !l.isOffer() &&
				(p.Retired || p.State == mail.Gone || !p.has(s.role)) {
				n.give(l, s)
			}
		}
	}
	if !p.live() {
		return
	}
	for _, role := range p.Roles {
		for _, l := range n.letters {
			for _, s := range l.seats {
				if s.role == role && s.holder() == nil && !l.isOffer() {
					n.give(l, s)
				}
			}
		}
	}
}

func (n *naive) mark(rc *mail.Receipt, at mail.Time) bool {
	l := n.letter(rc.Message)
	if l == nil {
		return true
	}
	p := n.person(rc.Reader.Signer())
	for _, s := range l.seats {
		if (rc.Mark == mail.MarkRead || rc.Mark == mail.MarkArchived) && l.offered(s) && slices.Contains(s.who, p) {
			s.who = []*person{p}
		}
	}
	if rc.Mark == mail.MarkRead && !n.take(l, p) {
		return false
	}
	if !l.isMarked(p) {
		l.marks = append(l.marks, &mark{who: p})
	}
	k := l.marksOf(p)
	switch rc.Mark {
	case mail.MarkNotified:
		if k.notified, k.rang = at, rc.Door; rc.Door == mail.HookDoor {
			k.mentioned = n.seq
		}
	case mail.MarkTold:
		k.told, k.handed, k.mentioned = at, n.seq, n.seq
	case mail.MarkUntold:
		if k.mentioned == k.handed {
			k.mentioned = 0
		}
		k.told, k.notified, k.rang, k.handed = 0, 0, "", 0
	case mail.MarkPresented:
		door := policy.ProvenDoor(k.rang, k.notified, rc.Door, at)
		if p.Registered != 0 && rc.Door == mail.HookDoor {
			p.Introduced = n.seq
		}
		if p.Registered != 0 && (door != rc.Door || p.DoorAt != at) {
			p.Door, p.DoorAt = door, at // mail shown with it proves no less
		}
		k.shown, k.through, k.told, k.handed, k.mentioned = at, rc.Door, 0, n.seq, n.seq
	case mail.MarkRead:
		k.read, k.put = at, 0
	case mail.MarkUnread:
		k.read, k.put = 0, 0
	case mail.MarkArchived:
		k.archived, k.put = at, 0
	case mail.MarkUnarchived:
		k.archived = 0
	case mail.MarkSnoozed:
		k.put = rc.Until
	}
	return true
}

// take reports whether a read counts. Role mail that another has read can no longer be read. Reading takes mail that
// is held for a role, or that is unread with another who has it.
func (n *naive) take(l *letter, p *person) bool {
	if len(l.throughWhich(p)) > 0 {
		return true
	}
	late := false
	for _, s := range l.seats {
		h := s.holder()
		switch {
		case s.role == "":
		case h == nil, l.offered(s), h.Registered != 0 && p.has(s.role) && !l.done(h):
			s.who = []*person{p}
			return true
		case h.Registered != 0: // a taker that was never on the roster does not count
			late = true
		}
	}
	return !late
}

func (n *naive) settleBy(st mail.Settlement, at mail.Time) bool {
	q := n.letter(st.Message)
	if q == nil || !q.Type.Asks() {
		return true
	}
	if q.settled != nil && st.Answer == "" {
		return q.settled.As == st.As
	}
	st.At = cmp.Or(st.At, at)
	q.settled = &st
	return true
}

func (n *naive) grant(g mail.Grant) bool {
	if q := n.letter(g.Question); q != nil && (q.settled == nil || q.settled.Answer != g.Answer) {
		return false
	}
	if i := slices.IndexFunc(n.grants, func(o mail.Grant) bool { return o.Same(&g) }); i >= 0 {
		n.grants[i] = g
	} else {
		n.grants = append(n.grants, g)
	}
	if p := n.agent(g.Agent); p != nil && g.Role != "" && !g.Refused && !p.has(g.Role) {
		p.Roles = append(slices.Clone(p.Roles), g.Role)
		n.resettle(p)
	}
	return true
}

func (n *naive) erase(e *mail.Erasure) {
	if e.Done {
		delete(n.erasing, e.Message)
	} else {
		n.erasing[e.Message] = true
		n.remove(e.Message)
	}
	n.dropLater(e.Message)
	for i, keys := range n.spent {
		n.spent[i] = slices.DeleteFunc(keys, func(s spent) bool { return s.Message == e.Message })
	}
}

func (n *naive) remove(id mail.ID) {
	n.letters = slices.DeleteFunc(n.letters, func(l *letter) bool { return l.ID == id })
}

// letGo is a step of retention.
func (n *naive) letGo(c *mail.Checkpoint) {
	for _, id := range c.Trimmed {
		n.remove(id)
	}
	for _, k := range c.Spent {
		who, i := n.person(k.From.Signer()), 0
		if len(k.Key) > len(mail.MadeKey) && k.Key[:len(mail.MadeKey)] == mail.MadeKey {
			i = 1
		}
		n.spent[i] = slices.DeleteFunc(n.spent[i], func(s spent) bool {
			return s.who == who && s.Key == k.Key && who.oneKeyring(s.From, k.From)
		})
		n.spent[i] = append(n.spent[i], spent{who, k})
	}
}

func (p *person) String() string { return fmt.Sprintf("%+v", p.AgentRecord) }
