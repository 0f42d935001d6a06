package mailroom

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"

	"pennypost/internal/mail"
	"pennypost/internal/mail/find"
)

// limit checks a number of messages that was asked for.
func limit(n int) (int, error) {
	switch {
	case n < 0 || n > mail.MaxLimit:
		return 0, mail.Errorf(mail.Invalid, "a limit of %d is out of range; use 1 to %d", n, mail.MaxLimit)
	case n == 0:
		return mail.DefaultLimit, nil
	}
	return n, nil
}

// reached checks a place that was asked for.
func (s *state) reached(places ...mail.Seq) error {
	for _, p := range places {
		if p > s.seq {
			return mail.Errorf(mail.Invalid, "the cursor %d is in the future: the room is at %d. Start again from 0 "+
				"or from a cursor that this room gave out", p, s.seq)
		}
	}
	return nil
}

// Inbox implements mail.Reader.
func (v *view) Inbox(ctx context.Context, q mail.InboxQuery) (mail.Page, error) {
	started := time.Now()
	n, err := limit(q.Limit)
	if err != nil {
		return mail.Page{}, err
	}
	if _, err := mail.ParsePlace(string(q.Place)); err != nil {
		return mail.Page{}, err
	}
	v.touch(ctx)
	page := mail.Page{Messages: []mail.Item{}, Trouble: v.opts.Trouble()}
	v.read(func(s *state, now mail.Time) {
		var m *member
		var from mail.Address
		if m, err = v.mailbox(s, q.Agent); err == nil {
			err = s.reached(q.After, q.Before)
		}
		if err == nil && q.From != "" {
			from, err = v.address(s, q.From)
		}
		if err == nil {
			v.sight(s).fill(&page, m, q, from, n, now)
		}
	})
	if err == nil {
		page.Messages, err = v.complete(ctx, page.Messages)
	}
	v.opts.Observe.Inbox(time.Since(started))
	return page, err
}

// fill puts into page what a place of m's mailbox holds.
func (s sight) fill(page *mail.Page, m *member, q mail.InboxQuery, from mail.Address, n int, now mail.Time) {
	page.Unread = s.countUnread(m, now)
	s.showOpen(page, m)
	bytes := 0
	for r := range s.place(m, q, from, now) {
		if !hasType(q.Types, r.msg.Type) || from != "" && !sameAddress(from, r.msg.From) ||
			!q.BySent && !sentWithin(r.msg.Sent, q.Since, q.Until) || !s.isIn(r, m, q, now) {
			continue
		}
		bytes += int(r.size)
		if len(page.Messages) == n || q.Bytes > 0 && bytes > q.Bytes && len(page.Messages) > 0 {
			page.More = true
			return
		}
		page.Messages = append(page.Messages, s.item(r, m, now))
		page.Next = r.seq
	}
}

// place yields all that a place of m's mailbox holds, of a sender if there is one, and little more, between the places
// of q and in its order.
func (s *state) place(m *member, q mail.InboxQuery, from mail.Address, now mail.Time) iter.Seq[*record] {
	var lists []list
	switch {
	case q.Open:
		lists = []list{m.asked, s.index.many}
	case q.Place == mail.InArchived:
		lists = []list{m.rest}
	case q.Place == mail.InSnoozed:
		lists = []list{m.snoozed}
	case q.All:
		lists = []list{m.all}
	case q.BySent:
		lists = []list{m.unread.list}
	default:
		unread := m.unread.within(q.After, q.Before)
		return unread.alive(q.Newest, now)
	}
	if o := s.members[from.Signer()]; plain(from) && len(lists) == 1 && (o == nil || len(o.sent) < len(lists[0])) {
		return s.sentInto(lists[0], o, q)
	}
	return s.inOrderOf(q, lists...)
}

// inOrderOf yields the records of some lists between the places of q and in its order.
func (s *state) inOrderOf(q mail.InboxQuery, lists ...list) iter.Seq[*record] {
	if q.BySent {
		return s.bySent(lists, span{q.Since, q.Until, q.After, q.Before})
	}
	for i, l := range lists {
		lists[i] = l.after(q.After).before(q.Before)
	}
	return merged(lists, q.Newest)
}

// sentInto yields what a sender, who may be nobody that is known, has sent of a list, as place does.
func (s *state) sentInto(l list, sender *member, q mail.InboxQuery) iter.Seq[*record] {
	return func(yield func(*record) bool) {
		if sender == nil {
			return
		}
		for r := range s.inOrderOf(q, sender.sent) {
			if _, in := l.search(r.seq); in && !yield(r) {
				return
			}
		}
	}
}

// isIn reports whether a record of that list belongs there.
func (s *state) isIn(r *record, m *member, q mail.InboxQuery, now mail.Time) bool {
	if q.Open {
		return r.reaches(m)
	}
	switch q.Place {
	case mail.InArchived:
		k := r.marksOf(m)
		return k != nil && k.archived != 0
	case mail.InSnoozed:
		return r.snoozedBy(m, now) != 0 && s.lasts(r, m, now)
	}
	return s.visible(r, m, now) || q.All && r.settledBy(m)
}

func hasType(types []mail.Type, t mail.Type) bool {
	return len(types) == 0 || slices.Contains(types, t)
}

// History implements mail.Reader.
func (v *view) History(ctx context.Context, q mail.HistoryQuery) (mail.Page, error) {
	trouble := v.opts.Trouble()
	page, err := v.history(ctx, q)
	page.Trouble = trouble
	return page, err
}

func (v *view) history(ctx context.Context, q mail.HistoryQuery) (mail.Page, error) {
	n, err := limit(q.Limit)
	if err != nil {
		return mail.Page{}, err
	}
	for _, s := range q.States {
		if _, err := mail.ParseDeliveryState(string(s)); err != nil {
			return mail.Page{}, err
		}
	}
	if q.BySent && (q.Archive || q.Search != "") {
		return mail.Page{}, mail.Errorf(mail.Invalid,
			"by_sent goes neither with archive nor with search: leave it out, "+
				"and messages come in order of arrival")
	}
	if q.Conversations && q.BySent {
		return mail.Page{}, mail.Errorf(mail.Invalid, "conversations does not go with by_sent: leave that out, "+
			"and conversations come in order of the newest message that fits")
	}
	v.touch(ctx)
	f, err := v.filter(ctx, q)
	if err != nil {
		return mail.Page{}, err
	}
	v.read(func(s *state, _ mail.Time) { err = s.reached(q.After, q.Before) })
	if err != nil {
		return mail.Page{}, err
	}
	search := v.scan
	if !f.words.Empty() && !q.Open { // what is open is little
		search = v.searchWords
	}
	if q.Conversations {
		return v.byConversation(ctx, f, n, search)
	}
	items, err := search(ctx, f, n)
	if err != nil {
		return mail.Page{}, err
	}
	order := bySeq
	if q.BySent {
		order = bySentTime
	}
	return pageOf(items, n, !f.newest, order), nil
}

// scan returns the messages that f accepts: the newest n and one more or, behind a cursor, the first; and others, in
// no order.
func (v *view) scan(ctx context.Context, f *filter, n int) ([]mail.Item, error) {
	items, err := v.searchHot(ctx, f, n)
	if err == nil && f.archive() {
		var cold []mail.Item
		cold, err = v.searchArchive(ctx, f, n) // after the hot ones, or what leaves them meanwhile would be in neither
		items = append(items, cold...)
	}
	return items, err
}

// searchBatch is how many messages are read at once of which only their text tells whether they are looked for.
const searchBatch = 512

// searchHot returns the hot messages that f accepts, as its reader sees them: the newest n and one more or, behind a
// cursor, the first.
func (v *view) searchHot(ctx context.Context, f *filter, n int) (items []mail.Item, err error) {
	from := f.after
	if f.newest {
		from = f.before
	}
	for more := true; more && len(items) <= n; {
		most := n + 1 - len(items)
		if !f.words.Empty() {
			most = max(most, searchBatch)
		}
		var some []mail.Item
		v.read(func(s *state, now mail.Time) {
			some, from, more = v.sight(s).search(f, from, most, now)
		})
		if some, err = v.complete(ctx, some); err != nil {
			return nil, err
		}
		items = append(items, f.found(some)...)
	}
	return items[:min(len(items), n+1)], nil
}

// search returns the next hot messages, up to most, that f accepts but for their texts, without those. More says that
// there may be others behind next or, where the newest come first, before it.
func (s sight) search(f *filter, from mail.Seq, most int, now mail.Time) (items []mail.Item, next mail.Seq,
	more bool) {
	for r := range s.candidates(f, from) {
		if it, ok := s.accept(f, r, now); ok {
			items = append(items, it)
		}
		if len(items) == most {
			return items, r.seq, true
		}
	}
	return items, 0, false
}

// accept returns a hot message as f's reader sees it, without its text. ok is false if f does not accept it.
func (s sight) accept(f *filter, r *record, now mail.Time) (it mail.Item, ok bool) {
	if !f.matches(&r.msg, r.seq) || !f.about(s.state, r) {
		return it, false
	}
	if len(f.q.States) > 0 && !f.stands(s.deliveries(r, now)) {
		return it, false
	}
	it = s.item(r, f.reader, now)
	if f.q.Deliveries || len(f.q.States) > 0 {
		s.showDeliveries(&it, r, now)
	}
	return it, true
}

// pageOf makes a page of the newest n messages or, behind a cursor, of the first n. Hot ones may be older than
// archived ones, and what was archived meanwhile is among both.
func pageOf(items []mail.Item, n int, onwards bool, order func(a, b mail.Item) int) mail.Page {
	slices.SortStableFunc(items, order)
	items = slices.CompactFunc(items, func(a, b mail.Item) bool { return a.Seq == b.Seq })
	page := mail.Page{Messages: []mail.Item{}}
	switch page.More = len(items) > n; {
	case page.More && onwards:
		items = items[:n]
		page.Next = items[n-1].Seq
	case page.More:
		items = items[len(items)-n:]
		page.Next = items[0].Seq
	}
	page.Messages = append(page.Messages, items...)
	return page
}

// filter is a HistoryQuery made ready.
type filter struct {
	q        mail.HistoryQuery
	from, to mail.Address
	agent    *member
	reader   *member // as whom messages are shown: the agent of the query, else the caller
	root     mail.ID // of the thread
	words    find.Query
	text     []byte // of the message that was last looked at
	span     span   // of what is asked for by time of sending
	reach
}

// reach is a range of places, and the direction in which it is gone through.
type reach struct {
	after, before mail.Seq // neither is in it; a before of 0 is the end of the journal
	newest        bool     // the newest first
}

// archive reports whether what is looked for may be in the archive. What is open never leaves the hot messages.
func (f *filter) archive() bool { return f.q.Archive && !f.q.Open }

// rootOf returns the message that began the thread of a message. A message that nobody knows may have been erased, and
// still have replies.
func (v *view) rootOf(ctx context.Context, id mail.ID) (mail.ID, error) {
	var root mail.ID
	v.read(func(s *state, _ mail.Time) {
		if r := s.records[id]; r != nil {
			root = r.msg.ThreadRoot()
		}
	})
	if root != "" {
		return root, nil
	}
	it, err := v.archived(ctx, id)
	if mail.CodeOf(err) == mail.NotFound {
		return id, nil
	}
	return it.ThreadRoot(), err
}

func (v *view) filter(ctx context.Context, q mail.HistoryQuery) (*filter, error) {
	f := &filter{q: q, words: find.Parse(q.Search), reach: reach{q.After, q.Before, q.After == 0 || q.Conversations}}
	if q.BySent {
		f.span, f.reach = span{q.Since, q.Until, q.After, q.Before}, reach{newest: true}
		f.q.Since, f.q.Until = 0, 0
	}
	var err error
	if q.Thread != "" {
		if f.root, err = v.rootOf(ctx, q.Thread); err != nil {
			return nil, err
		}
	}
	v.read(func(s *state, _ mail.Time) {
		if q.From != "" {
			if f.from, err = v.address(s, q.From); err != nil {
				return
			}
		}
		if q.To != "" {
			if f.to, err = v.address(s, q.To); err != nil {
				return
			}
		}
		if f.reader = v.me(s); q.Agent != "" {
			f.agent, err = v.mailbox(s, q.Agent)
			f.reader = f.agent
		}
	})
	return f, err
}

// address resolves an address of a query. A name that nobody bears any more is taken as it is.
func (v *view) address(s *state, typed string) (mail.Address, error) {
	t := norm.NFC.String(strings.TrimSpace(typed))
	if t == string(mail.FromSystem) {
		return mail.FromSystem, nil
	}
	if mail.Address(t).Kind() == mail.FromFar {
		return mail.Address(t), nil
	}
	found, err := v.resolveOne(s, t)
	if err == nil && found.room == "" {
		return found.local, nil
	}
	name := mail.Name(strings.TrimPrefix(t, "agent:"))
	if s.members[name] != nil {
		return mail.AgentAddress(name), nil
	}
	if found.room != "" {
		return mail.FarAddress(mail.AgentAddress(mail.Name(strings.TrimPrefix(found.rest, "agent:"))), found.room), nil
	}
	return "", err
}

// accepts is matches and finds.
func (f *filter) accepts(h *header, seq mail.Seq, m *mail.Message) bool {
	return f.matches(h, seq) && f.finds(m)
}

// finds reports whether the text has what is looked for.
func (f *filter) finds(m *mail.Message) bool {
	if f.words.Empty() {
		return true
	}
	f.text = find.Text(f.text[:0], m.Subject, m.Body)
	return f.words.In(f.text)
}

// found keeps those items whose text has what is looked for.
func (f *filter) found(items []mail.Item) []mail.Item {
	return slices.DeleteFunc(items, func(it mail.Item) bool { return !f.finds(&it.Message) })
}

// matches checks what the header of a message tells.
func (f *filter) matches(m *header, seq mail.Seq) bool {
	q := &f.q
	switch {
	case seq <= f.after, seq >= f.before && f.before > 0:
		return false
	case !hasType(q.Types, m.Type):
		return false
	case f.from != "" && !sameAddress(f.from, m.From), f.to != "" &&
		!slices.ContainsFunc(m.To, func(a mail.Address) bool { return sameAddress(f.to, a) }):
		return false
	case f.root != "" && f.root != m.ThreadRoot():
		return false
	case q.Issue != "" && q.Issue != m.issue():
		return false
	case !strings.HasPrefix(string(m.ID), q.ID) &&
		!strings.HasPrefix(strings.TrimPrefix(string(m.ID), "msg_"), q.ID):
		return false
	case !sentWithin(m.Sent, q.Since, q.Until):
		return false
	}
	return true
}

// sameAddress also holds between an agent called orchestrator and the role of that name, and between the present
// spelling of a sender of another room and the one of older journals.
func sameAddress(asked, b mail.Address) bool {
	if agent, room, far := asked.Far(); far && b == mail.Address("agent:"+string(agent.Signer())+"@"+string(room)) {
		return true
	}
	return asked == b || asked.Value() == "orchestrator" && b.Value() == "orchestrator"
}

// about reports whether r was sent by or delivered to the agent of the query.
func (f *filter) about(s *state, r *record) bool {
	return f.agent == nil || r.sender == f.agent || r.reaches(f.agent) || r.marksOf(f.agent) != nil
}

// stands reports whether one of a message's deliveries is in a state that the query asks for.
func (f *filter) stands(ds []mail.Delivery) bool {
	return len(f.q.States) == 0 || slices.ContainsFunc(ds, func(d mail.Delivery) bool {
		return slices.Contains(f.q.States, d.State)
	})
}

// Message implements mail.Reader.
func (v *view) Message(ctx context.Context, id mail.ID) (mail.Item, error) {
	v.touch(ctx)
	var hot *mail.Item
	v.read(func(s *state, now mail.Time) {
		if r := s.records[id]; r != nil {
			hot = new(v.sight(s).item(r, v.me(s), now))
			hot.Deliveries = v.sight(s).deliveries(r, now)
		}
	})
	if it, err := v.completeOne(ctx, hot); it != nil {
		return *it, v.quote(ctx, it.Suggestions)
	} else if err != nil {
		return mail.Item{}, err
	}
	return v.archived(ctx, id)
}
