package fold

import (
	"cmp"
	"slices"

	"pennypost/internal/mail"
)

// conversation is the user's messages of a thread in one place of the mailbox.
type conversation struct {
	first       *Record // of its messages; rest are the others
	rest        List
	newest      *Record // by time of sending; an acknowledgement only if there is nothing else
	ask, urgent *Record // those that wait longest for an answer, or to be read
	asks        int32
	unread      int32
	alarms      bool // something that needs the user is urgent
	status      bool // it has nothing but status messages
	acks        bool // it has nothing but acknowledgements
}

func (c *conversation) needsUser() bool { return c.ask != nil || c.urgent != nil }

// shows returns the message that represents the conversation.
func (c *conversation) shows() *Record { return cmp.Or(c.ask, c.urgent, c.newest) }

// messages yields its messages in order of arrival.
func (c *conversation) messages(yield func(*Record) bool) {
	if !yield(c.first) {
		return
	}
	for _, r := range c.rest {
		if !yield(r) {
			return
		}
	}
}

func sentLater(a, b *Record) int {
	return cmp.Or(cmp.Compare(a.Msg.Sent, b.Msg.Sent), cmp.Compare(a.Seq, b.Seq))
}

// add adds a message that came after the others, or in any order if it is a question. It reports whether it was new.
func (c *conversation) add(r *Record, ack bool) bool {
	switch {
	case c.first == nil:
		c.first, c.newest, c.status, c.acks = r, r, r.Msg.Type == mail.Status, ack
		return true
	case c.first == r:
		return false
	case r.Seq < c.first.Seq:
		c.rest = slices.Insert(c.rest, 0, c.first)
		c.first = r
	case !c.rest.Add(r):
		return false
	}
	if c.acks && !ack || c.acks == ack && sentLater(r, c.newest) > 0 {
		c.newest = r
	}
	c.status = c.status && r.Msg.Type == mail.Status
	c.acks = c.acks && ack
	return true
}

// waits notes a reason for which the conversation needs the user.
func (c *conversation) waits(oldest **Record, r *Record) {
	if *oldest == nil || sentLater(r, *oldest) < 0 {
		*oldest = r
	}
	c.alarms = c.alarms || r.Msg.Priority == mail.Urgent
}

// acknowledges reports whether r is no more than an "Understood" to an answer of the user: a status or an answer, not
// urgent, in reply to the message by which the user settled a question. It is part of that conversation and never
// draws attention to it. If the question was trimmed, it is not known that it was answered, and r counts as any other
// message.
func (s *State) acknowledges(r *Record) bool {
	if r.Msg.Type != mail.Status && r.Msg.Type != mail.Answer || r.Msg.Priority == mail.Urgent {
		return false
	}
	a := s.Records[r.Msg.ReplyTo()]
	if a == nil || !a.Sender.IsUser() {
		return false
	}
	q := s.Records[a.Msg.ReplyTo()]
	return q != nil && q.Settled != nil && q.Settled.Answer == a.Msg.ID
}

// Conversations are the user's in one place of the mailbox.
type Conversations struct {
	Seq            mail.Seq  // of the state from which they follow
	At, Until      mail.Time // they are valid from At until before Until
	needs, updates []*conversation
}

// Conversations returns the user's conversations in a place.
func (s *State) Conversations(place mail.Place, now mail.Time) *Conversations {
	d := &Conversations{Seq: s.Seq, At: now, Until: 1<<63 - 1}
	m := s.Members[mail.User]
	var asked List
	if place == mail.InInbox {
		asked = d.asked(s, m)
	}
	there := d.inPlace(s, m, place)
	g := newGroups(there, asked)
	for _, r := range there {
		c := g.of(r)
		ack := s.acknowledges(r)
		c.add(r, ack)
		if r.SettledBy(m) || r.Withdrawn() {
			continue
		}
		if !ack {
			c.unread++
		}
		if place == mail.InInbox && r.Msg.Priority == mail.Urgent {
			c.waits(&c.urgent, r)
		}
	}
	for _, r := range asked {
		c := g.of(r)
		if c.add(r, false) && !r.SettledBy(m) {
			c.unread++
		}
		c.asks++
		c.waits(&c.ask, r)
	}
	d.sort(g.all, place)
	return d
}

// groups finds the conversation of a message.
type groups struct {
	all    []conversation
	byRoot map[mail.ID]int // of threads that may have several messages; none yet: none
}

const none = -1

// newGroups prepares for the messages of a place and questions, which may be elsewhere. Most threads are one message,
// which needs no entry.
func newGroups(there, asked List) *groups {
	replies := 0
	for _, r := range there {
		if r.Msg.ThreadRoot() != r.Msg.ID {
			replies++
		}
	}
	g := &groups{make([]conversation, 0, len(there)+len(asked)), make(map[mail.ID]int, replies+len(asked))}
	for _, r := range there {
		if root := r.Msg.ThreadRoot(); root != r.Msg.ID {
			g.byRoot[root] = none
		}
	}
	for _, r := range asked {
		g.byRoot[r.Msg.ThreadRoot()] = none
	}
	return g
}

func (g *groups) of(r *Record) *conversation {
	root := r.Msg.ThreadRoot()
	i, several := g.byRoot[root]
	if several && i != none {
		return &g.all[i]
	}
	if several {
		g.byRoot[root] = len(g.all)
	}
	g.all = append(g.all, conversation{})
	return &g.all[len(g.all)-1]
}

// asked returns the open questions to m that are not put off.
func (d *Conversations) asked(s *State, m *Member) (out List) {
	for r := range merged([]List{m.Asked, s.index.many}, false) {
		if r.Reaches(m) && !d.snoozed(r, m) {
			out = append(out, r)
		}
	}
	return out
}

// snoozed reports whether m has put r off, and limits Until accordingly.
func (d *Conversations) snoozed(r *Record, m *Member) bool {
	until := r.SnoozedBy(m, d.At)
	if until != 0 {
		d.Until = min(d.Until, until)
	}
	return until != 0
}

// inPlace returns m's messages in a place of the mailbox, and limits Until accordingly.
func (d *Conversations) inPlace(s *State, m *Member, place mail.Place) (out List) {
	switch place {
	case mail.InArchived:
		for _, r := range m.Rest {
			if k := r.MarksOf(m); k != nil && k.Archived != 0 {
				out = append(out, r)
			}
		}
		return out
	case mail.InSnoozed:
		for _, r := range m.Snoozed {
			if d.snoozed(r, m) && s.Lasts(r, m, d.At) {
				out = append(out, r)
			}
		}
		return out
	}
	return d.inInbox(m)
}

// inInbox returns the messages that are neither archived nor put off.
func (d *Conversations) inInbox(m *Member) (out List) {
	out = make(List, 0, len(m.All))
	unread := 0 // index in the list of unread mail, which is in the same order
	for _, r := range m.All {
		if !r.SettledBy(m) {
			for unread < len(m.Unread.List) && m.Unread.List[unread].Seq < r.Seq {
				unread++
			}
			if unread == len(m.Unread.List) || m.Unread.List[unread] != r {
				continue // it lost the tag by which it came
			}
			if end := m.Unread.ends[unread]; end > 0 && end <= d.At {
				continue
			} else if end > 0 {
				d.Until = min(d.Until, end)
			}
		}
		if !d.snoozed(r, m) {
			out = append(out, r)
		}
	}
	return out
}

// sort divides conversations into those that need the user and updates, each in its order. In the inbox,
// acknowledgements alone are no conversation: the conversation that they acknowledge was put away.
func (d *Conversations) sort(all []conversation, place mail.Place) {
	d.updates = make([]*conversation, 0, len(all))
	for i := len(all) - 1; i >= 0; i-- { // so that updates are nearly in order
		c := &all[i]
		switch {
		case c.needsUser():
			d.needs = append(d.needs, c)
		case place != mail.InInbox || !c.acks:
			d.updates = append(d.updates, c)
		}
	}
	slices.SortFunc(d.needs, func(a, b *conversation) int {
		switch {
		case a.alarms && !b.alarms:
			return -1
		case b.alarms && !a.alarms:
			return 1
		}
		return sentLater(a.shows(), b.shows())
	})
	slices.SortFunc(d.updates, func(a, b *conversation) int { return sentLater(b.newest, a.newest) })
}

// DeskFilter is a prepared DeskQuery.
type DeskFilter struct {
	Q     mail.DeskQuery
	From  mail.Address
	After mail.DeskSpot
}

func (f *DeskFilter) accepts(c *conversation) bool {
	if f.Q.Unread && c.unread == 0 && !c.needsUser() {
		return false
	}
	if f.From == "" {
		return true
	}
	for r := range c.messages {
		if SameAddress(f.From, r.Msg.From) {
			return true
		}
	}
	return false
}

// Fill puts into out the conversations that a filter accepts.
func (d *Conversations) Fill(out *mail.Desk, s Sight, f *DeskFilter, room mail.RoomName, now mail.Time) {
	if f.Q.Part != mail.Updates && !f.Q.Status {
		d.fillNeeds(out, s, f, room, now)
	}
	if f.Q.Part != mail.NeedsYou {
		d.fillUpdates(out, s, f, room, now)
	}
}

func (d *Conversations) fillNeeds(out *mail.Desk, s Sight, f *DeskFilter, room mail.RoomName, now mail.Time) {
	for _, c := range d.needs {
		if !f.accepts(c) {
			continue
		}
		if out.Waiting++; out.Waiting <= f.Q.Limit {
			out.Needs = append(out.Needs, s.row(c, room, now))
		}
	}
}

func (d *Conversations) fillUpdates(out *mail.Desk, s Sight, f *DeskFilter, room mail.RoomName, now mail.Time) {
	var folded *mail.Conversation
	rows := 0
	for _, c := range d.updates {
		folds := c.status && f.Q.Place == mail.InInbox
		if f.Q.Status && !folds || !f.accepts(c) {
			continue
		}
		out.Unread += int(c.unread)
		switch {
		case folds && !f.Q.Status:
			folded = s.fold(folded, c, room, now)
		case f.Q.After != "" && f.After.Compare(mail.DeskSpot{Sent: c.newest.Msg.Sent, Room: room,
			Seq: c.newest.Seq}) >= 0:
		case rows == f.Q.Limit:
			if out.Next == "" {
				out.Next = out.Updates[rows-1].Spot().String()
			}
		default:
			rows++
			out.Updates = append(out.Updates, s.row(c, room, now))
		}
	}
	if folded != nil && f.Q.After == "" {
		i, _ := slices.BinarySearchFunc(out.Updates, folded.Spot(), func(c mail.Conversation, at mail.DeskSpot) int {
			return c.Spot().Compare(at)
		})
		out.Updates = slices.Insert(out.Updates, i, *folded)
	}
}

// fold adds a conversation to the row that stands for those with only status messages, which begins with the newest.
func (s Sight) fold(row *mail.Conversation, c *conversation, room mail.RoomName, now mail.Time) *mail.Conversation {
	if row == nil {
		row = new(s.row(c, room, now))
		row.Folded = 1
		return row
	}
	row.Folded++
	row.Messages += 1 + len(c.rest)
	row.Unread += int(c.unread)
	row.IDs = nil
	return row
}

// row shows a conversation, without text.
func (s Sight) row(c *conversation, room mail.RoomName, now mail.Time) mail.Conversation {
	out := mail.Conversation{Room: room, Item: s.Item(c.shows(), s.Members[mail.User], now), Asks: int(c.asks),
		Urgent: c.alarms, Messages: 1 + len(c.rest), Unread: int(c.unread)}
	if out.Messages <= mail.MaxLimit {
		for r := range c.messages {
			out.IDs = append(out.IDs, r.Msg.ID)
		}
	}
	return out
}

// Due returns when the first message that the user has put off comes back, zero if none does.
func (s *State) Due(now mail.Time) (first mail.Time) {
	m := s.Members[mail.User]
	for _, r := range m.Snoozed {
		if t := r.SnoozedBy(m, now); t != 0 && (first == 0 || t < first) {
			first = t
		}
	}
	return first
}

// CountNeeds returns how many conversations need the user.
func (s *State) CountNeeds(now mail.Time) int {
	m := s.Members[mail.User]
	needs := make(map[mail.ID]bool)
	for r := range merged([]List{m.Asked, s.index.many}, false) {
		if r.Reaches(m) && r.SnoozedBy(m, now) == 0 {
			needs[r.Msg.ThreadRoot()] = true
		}
	}
	for r := range m.Urgent.Alive(false, now) {
		if !r.Withdrawn() && r.SnoozedBy(m, now) == 0 {
			needs[r.Msg.ThreadRoot()] = true
		}
	}
	return len(needs)
}
