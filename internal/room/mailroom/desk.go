package mailroom

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"pennypost/internal/mail"
)

// Desk implements mail.Reader.
func (v *view) Desk(ctx context.Context, q mail.DeskQuery) (mail.Desk, error) {
	if err := v.needUser("see what waits for the user"); err != nil {
		return mail.Desk{}, err
	}
	out, err := v.DeskRows(q)
	if err != nil {
		return mail.Desk{}, err
	}
	if out.Needs, err = v.Preview(ctx, out.Needs); err == nil {
		out.Updates, err = v.Preview(ctx, out.Updates)
	}
	return out, err
}

// DeskRows returns the desk of the room without what is in its texts. Of the desks of a thousand rooms few rows are
// shown, and Preview is asked for those.
func (r *Room) DeskRows(q mail.DeskQuery) (mail.Desk, error) {
	q, err := q.Checked()
	if err != nil {
		return mail.Desk{}, err
	}
	v := &view{Room: r, caller: mail.User}
	out := mail.Desk{Needs: []mail.Conversation{}, Updates: []mail.Conversation{}, Trouble: v.opts.Trouble()}
	v.read(func(s *state, now mail.Time) {
		f := deskFilter{q: q}
		f.after, _ = mail.ParseDeskSpot(q.After) // checked
		if q.From != "" {
			if f.from, err = v.address(s, q.From); err != nil {
				return
			}
		}
		v.desks.of(s, q.Place, now).fill(&out, v.sight(s), &f, v.name, now)
	})
	return out, err
}

// Preview completes rows but for their bodies, of which they show the beginning. What was erased meanwhile is left
// out.
func (r *Room) Preview(ctx context.Context, rows []mail.Conversation) ([]mail.Conversation, error) {
	items := make([]mail.Item, len(rows))
	for i := range rows {
		items[i] = rows[i].Item
	}
	items, err := r.complete(ctx, items)
	there := rows[:0]
	for _, c := range rows {
		if len(items) > 0 && items[0].Seq == c.Seq {
			c.Item, items = items[0], items[1:]
			c.Preview, c.Body = r.opts.Preview(c.Body), ""
			there = append(there, c)
		}
	}
	return there, err
}

// conversation is what the user has of a thread in one place of the mailbox.
type conversation struct {
	first       *record // of its messages, of which rest are the others
	rest        list
	newest      *record // by time of sending; an acknowledgement only if there is nothing else
	ask, urgent *record // what waits longest for an answer, or to be read
	asks        int32
	unread      int32
	alarms      bool // what needs the user is urgent
	status      bool // it has nothing but status messages
	acks        bool // it has nothing but acknowledgements
}

func (c *conversation) needsUser() bool { return c.ask != nil || c.urgent != nil }

// shows returns the message that the row is about.
func (c *conversation) shows() *record { return cmp.Or(c.ask, c.urgent, c.newest) }

// messages yields its messages in order of arrival.
func (c *conversation) messages(yield func(*record) bool) {
	if !yield(c.first) {
		return
	}
	for _, r := range c.rest {
		if !yield(r) {
			return
		}
	}
}

func sentLater(a, b *record) int {
	return cmp.Or(cmp.Compare(a.msg.Sent, b.msg.Sent), cmp.Compare(a.seq, b.seq))
}

// add adds a message that came behind the others, or in any order if it asks something. It reports whether it was not
// there.
func (c *conversation) add(r *record, ack bool) bool {
	switch {
	case c.first == nil:
		c.first, c.newest, c.status, c.acks = r, r, r.msg.Type == mail.Status, ack
		return true
	case c.first == r:
		return false
	case r.seq < c.first.seq:
		c.rest = slices.Insert(c.rest, 0, c.first)
		c.first = r
	case !c.rest.add(r):
		return false
	}
	if c.acks && !ack || c.acks == ack && sentLater(r, c.newest) > 0 {
		c.newest = r
	}
	c.status = c.status && r.msg.Type == mail.Status
	c.acks = c.acks && ack
	return true
}

// waits notes a reason for which the conversation needs the user.
func (c *conversation) waits(oldest **record, r *record) {
	if *oldest == nil || sentLater(r, *oldest) < 0 {
		*oldest = r
	}
	c.alarms = c.alarms || r.msg.Priority == mail.Urgent
}

// acknowledges reports whether r is no more than an "Understood" to what the user has answered: a status or an answer,
// not urgent, in reply to the message by which the user settled a question. It is part of that conversation and brings
// it back to nobody's attention. Of what was trimmed nobody knows that it was answered, and r counts as any other.
func (s *state) acknowledges(r *record) bool {
	if r.msg.Type != mail.Status && r.msg.Type != mail.Answer || r.msg.Priority == mail.Urgent {
		return false
	}
	a := s.records[r.msg.replyTo()]
	if a == nil || !a.sender.isUser() {
		return false
	}
	q := s.records[a.msg.replyTo()]
	return q != nil && q.settled != nil && q.settled.Answer == a.msg.ID
}

// conversations are those of the user in one place of the mailbox.
type conversations struct {
	seq            mail.Seq  // of the state that it follows from
	at, until      mail.Time // it holds from the one until before the other
	needs, updates []*conversation
}

// desks keeps desks until something happens. A large mailbox takes milliseconds to go through, and several pages may
// look at it again and again.
type desks struct {
	mu   sync.Mutex // taken after Room.mu
	last map[mail.Place]*conversations
}

// of returns the desk of a state, which is locked.
func (d *desks) of(s *state, place mail.Place, now mail.Time) *conversations {
	d.mu.Lock()
	defer d.mu.Unlock()
	if k := d.last[place]; k != nil && k.seq == s.seq && k.at <= now && now < k.until {
		return k
	}
	if d.last == nil {
		d.last = make(map[mail.Place]*conversations)
	}
	d.last[place] = s.conversations(place, now)
	return d.last[place]
}

// conversations returns the conversations of what the user has in a place.
func (s *state) conversations(place mail.Place, now mail.Time) *conversations {
	d := &conversations{seq: s.seq, at: now, until: 1<<63 - 1}
	m := s.members[mail.User]
	var asked list
	if place == mail.InInbox {
		asked = d.asked(s, m)
	}
	there := d.inPlace(s, m, place)
	g := newGroups(there, asked)
	for _, r := range there {
		c := g.of(r)
		ack := s.acknowledges(r)
		c.add(r, ack)
		if r.settledBy(m) || r.withdrawn() {
			continue
		}
		if !ack {
			c.unread++
		}
		if place == mail.InInbox && r.msg.Priority == mail.Urgent {
			c.waits(&c.urgent, r)
		}
	}
	for _, r := range asked {
		c := g.of(r)
		if c.add(r, false) && !r.settledBy(m) {
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
func newGroups(there, asked list) *groups {
	replies := 0
	for _, r := range there {
		if r.msg.ThreadRoot() != r.msg.ID {
			replies++
		}
	}
	g := &groups{make([]conversation, 0, len(there)+len(asked)), make(map[mail.ID]int, replies+len(asked))}
	for _, r := range there {
		if root := r.msg.ThreadRoot(); root != r.msg.ID {
			g.byRoot[root] = none
		}
	}
	for _, r := range asked {
		g.byRoot[r.msg.ThreadRoot()] = none
	}
	return g
}

func (g *groups) of(r *record) *conversation {
	root := r.msg.ThreadRoot()
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
func (d *conversations) asked(s *state, m *member) (out list) {
	for r := range merged([]list{m.asked, s.index.many}, false) {
		if r.reaches(m) && !d.snoozed(r, m) {
			out = append(out, r)
		}
	}
	return out
}

// snoozed reports whether m has put r off, and notes for how long that holds.
func (d *conversations) snoozed(r *record, m *member) bool {
	until := r.snoozedBy(m, d.at)
	if until != 0 {
		d.until = min(d.until, until)
	}
	return until != 0
}

// inPlace returns what m has in a place of the mailbox, and notes for how long that holds.
func (d *conversations) inPlace(s *state, m *member, place mail.Place) (out list) {
	switch place {
	case mail.InArchived:
		for _, r := range m.rest {
			if k := r.marksOf(m); k != nil && k.archived != 0 {
				out = append(out, r)
			}
		}
		return out
	case mail.InSnoozed:
		for _, r := range m.snoozed {
			if d.snoozed(r, m) && s.lasts(r, m, d.at) {
				out = append(out, r)
			}
		}
		return out
	}
	out = make(list, 0, len(m.all))
	unread := 0 // of the list of what is unread, which is in the same order
	for _, r := range m.all {
		if !r.settledBy(m) {
			for unread < len(m.unread.list) && m.unread.list[unread].seq < r.seq {
				unread++
			}
			if unread == len(m.unread.list) || m.unread.list[unread] != r {
				continue // it lost the tag by which it came
			}
			if end := m.unread.ends[unread]; end > 0 && end <= d.at {
				continue
			} else if end > 0 {
				d.until = min(d.until, end)
			}
		}
		if !d.snoozed(r, m) {
			out = append(out, r)
		}
	}
	return out
}

// sort parts conversations into what needs the user and updates, each in its order. In the inbox, acknowledgements
// alone are no conversation: what they acknowledge was put away.
func (d *conversations) sort(all []conversation, place mail.Place) {
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

// deskFilter is a DeskQuery made ready.
type deskFilter struct {
	q     mail.DeskQuery
	from  mail.Address
	after mail.DeskSpot
}

func (f *deskFilter) accepts(c *conversation) bool {
	if f.q.Unread && c.unread == 0 && !c.needsUser() {
		return false
	}
	if f.from == "" {
		return true
	}
	for r := range c.messages {
		if sameAddress(f.from, r.msg.From) {
			return true
		}
	}
	return false
}

// fill puts into out what a filter accepts.
func (d *conversations) fill(out *mail.Desk, s sight, f *deskFilter, room mail.RoomName, now mail.Time) {
	if f.q.Part != mail.Updates && !f.q.Status {
		for _, c := range d.needs {
			if f.accepts(c) {
				if out.Waiting++; out.Waiting <= f.q.Limit {
					out.Needs = append(out.Needs, s.row(c, room, now))
				}
			}
		}
	}
	if f.q.Part == mail.NeedsYou {
		return
	}
	var folded *mail.Conversation
	rows := 0
	for _, c := range d.updates {
		folds := c.status && f.q.Place == mail.InInbox
		if f.q.Status && !folds || !f.accepts(c) {
			continue
		}
		out.Unread += int(c.unread)
		switch {
		case folds && !f.q.Status:
			folded = s.fold(folded, c, room, now)
		case f.q.After != "" && f.after.Compare(mail.DeskSpot{Sent: c.newest.msg.Sent, Room: room,
			Seq: c.newest.seq}) >= 0:
		case rows == f.q.Limit:
			if out.Next == "" {
				out.Next = out.Updates[rows-1].Spot().String()
			}
		default:
			rows++
			out.Updates = append(out.Updates, s.row(c, room, now))
		}
	}
	if folded != nil && f.q.After == "" {
		i, _ := slices.BinarySearchFunc(out.Updates, folded.Spot(), func(c mail.Conversation, at mail.DeskSpot) int {
			return c.Spot().Compare(at)
		})
		out.Updates = slices.Insert(out.Updates, i, *folded)
	}
}

// fold adds a conversation to the row that stands for those of nothing but status messages, which begins with the
// newest.
func (s sight) fold(row *mail.Conversation, c *conversation, room mail.RoomName, now mail.Time) *mail.Conversation {
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
func (s sight) row(c *conversation, room mail.RoomName, now mail.Time) mail.Conversation {
	out := mail.Conversation{Room: room, Item: s.item(c.shows(), s.members[mail.User], now), Asks: int(c.asks),
		Urgent: c.alarms, Messages: 1 + len(c.rest), Unread: int(c.unread)}
	if out.Messages <= mail.MaxLimit {
		for r := range c.messages {
			out.IDs = append(out.IDs, r.msg.ID)
		}
	}
	return out
}

// due returns when the first of what the user has put off comes back, zero if nothing is.
func (s *state) due(now mail.Time) (first mail.Time) {
	m := s.members[mail.User]
	for _, r := range m.snoozed {
		if t := r.snoozedBy(m, now); t != 0 && (first == 0 || t < first) {
			first = t
		}
	}
	return first
}

// countNeeds returns how many conversations need the user.
func (s *state) countNeeds(now mail.Time) int {
	m := s.members[mail.User]
	needs := make(map[mail.ID]bool)
	for r := range merged([]list{m.asked, s.index.many}, false) {
		if r.reaches(m) && r.snoozedBy(m, now) == 0 {
			needs[r.msg.ThreadRoot()] = true
		}
	}
	for r := range m.urgent.alive(false, now) {
		if !r.withdrawn() && r.snoozedBy(m, now) == 0 {
			needs[r.msg.ThreadRoot()] = true
		}
	}
	return len(needs)
}
