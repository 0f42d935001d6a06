package fold

import (
	"iter"
	"slices"
	"strings"

	"pennypost/internal/mail"
	"pennypost/internal/mail/find"
)

// Reached checks the sequence numbers in a request.
func (s *State) Reached(places ...mail.Seq) error {
	for _, p := range places {
		if p > s.Seq {
			return mail.Errorf(mail.Invalid, "the cursor %d is in the future: the room is at %d. Start again from "+
				"0 or from a cursor that this room returned", p, s.Seq)
		}
	}
	return nil
}

// Fill fills page from a place of m's mailbox.
func (s Sight) Fill(page *mail.Page, m *Member, q mail.InboxQuery, from mail.Address, n int, now mail.Time) {
	page.Unread = s.CountUnread(m, now)
	s.showOpen(page, m)
	page.Messages = slices.Grow(page.Messages, min(n, page.Unread))
	bytes := 0
	for r := range s.Place(m, q, from, now) {
		if !hasType(q.Types, r.Msg.Type) || from != "" && !SameAddress(from, r.Msg.From) ||
			!q.BySent && !sentWithin(r.Msg.Sent, q.Since, q.Until) || !s.isIn(r, m, q, now) {
			continue
		}
		bytes += int(r.size)
		if len(page.Messages) == n || q.Bytes > 0 && bytes > q.Bytes && len(page.Messages) > 0 {
			page.More = true
			return
		}
		page.Messages = append(page.Messages, s.Item(r, m, now))
		page.Next = r.Seq
	}
}

// Place yields all that a place of m's mailbox has, of a sender if there is one, and little more, between the
// sequence numbers of q and in its order.
func (s *State) Place(m *Member, q mail.InboxQuery, from mail.Address, now mail.Time) iter.Seq[*Record] {
	var lists []List
	switch {
	case q.Open:
		lists = []List{m.Asked, s.index.many}
	case q.Place == mail.InArchived:
		lists = []List{m.Rest}
	case q.Place == mail.InSnoozed:
		lists = []List{m.Snoozed}
	case q.All:
		lists = []List{m.All}
	case q.BySent:
		lists = []List{m.Unread.List}
	default:
		unread := m.Unread.Within(q.After, q.Before)
		return unread.Alive(q.Newest, now)
	}
	if o := s.Members[from.Signer()]; plain(from) && len(lists) == 1 && (o == nil || len(o.Sent) < len(lists[0])) {
		return s.sentInto(lists[0], o, q)
	}
	return s.inOrderOf(q, lists...)
}

// inOrderOf yields the records of some lists between the sequence numbers of q and in its order.
func (s *State) inOrderOf(q mail.InboxQuery, lists ...List) iter.Seq[*Record] {
	if q.BySent {
		return s.bySent(lists, Span{q.Since, q.Until, q.After, q.Before})
	}
	for i, l := range lists {
		lists[i] = l.After(q.After).Before(q.Before)
	}
	return merged(lists, q.Newest)
}

// sentInto yields the records of a list that a sender, which may be nil, has sent, as Place does.
func (s *State) sentInto(l List, sender *Member, q mail.InboxQuery) iter.Seq[*Record] {
	return func(yield func(*Record) bool) {
		if sender == nil {
			return
		}
		for r := range s.inOrderOf(q, sender.Sent) {
			if _, in := l.Search(r.Seq); in && !yield(r) {
				return
			}
		}
	}
}

// isIn reports whether a record of that list belongs there.
func (s *State) isIn(r *Record, m *Member, q mail.InboxQuery, now mail.Time) bool {
	if q.Open {
		return r.Reaches(m)
	}
	switch q.Place {
	case mail.InArchived:
		k := r.MarksOf(m)
		return k != nil && k.Archived != 0
	case mail.InSnoozed:
		return r.SnoozedBy(m, now) != 0 && s.Lasts(r, m, now)
	}
	return s.Visible(r, m, now) || q.All && r.SettledBy(m)
}

func hasType(types []mail.Type, t mail.Type) bool {
	return len(types) == 0 || slices.Contains(types, t)
}

// Search returns the next hot messages, up to most, that f accepts by all but their texts, and without texts. more
// says that there may be others after next or, if the newest come first, before it.
func (s Sight) Search(f *Filter, from mail.Seq, most int, now mail.Time) (items []mail.Item, next mail.Seq,
	more bool) {
	for r := range s.Candidates(f, from) {
		if it, ok := s.Accept(f, r, now); ok {
			items = append(items, it)
		}
		if len(items) == most {
			return items, r.Seq, true
		}
	}
	return items, 0, false
}

// Accept returns a hot message as f's reader sees it, without its text. ok is false if f does not accept it.
func (s Sight) Accept(f *Filter, r *Record, now mail.Time) (it mail.Item, ok bool) {
	if !f.Matches(&r.Msg, r.Seq) || !f.About(s.State, r) {
		return it, false
	}
	if len(f.Q.States) > 0 && !f.HasState(s.Deliveries(r, now)) {
		return it, false
	}
	it = s.Item(r, f.Reader, now)
	if f.Q.Deliveries || len(f.Q.States) > 0 {
		s.showDeliveries(&it, r, now)
	}
	return it, true
}

// Filter is a prepared HistoryQuery.
type Filter struct {
	Q        mail.HistoryQuery
	From, To mail.Address
	// FromToo and ToToo are other names of From and To: their former names, or those of an agent that was the same.
	FromToo, ToToo []mail.Address
	Agent          *Member
	Reader         *Member // as whom messages are shown: the agent of the query, else the caller
	Root           mail.ID // of the thread
	Words          find.Query
	Text           []byte // of the message that was last looked at
	Span           Span   // of a query by time of sending
	Reach
}

// Reach is a range of sequence numbers, and the direction in which it is walked.
type Reach struct {
	After, Before mail.Seq // neither is in it; a before of 0 is the end of the journal
	Newest        bool     // the newest first
}

// Resolve sets the sender and the recipient to look for; "" for anyone.
func (f *Filter) Resolve(s *State, from, to mail.Address) {
	f.From, f.FromToo, f.To, f.ToToo = from, s.otherNames(from), to, s.otherNames(to)
}

// otherNames returns the other addresses, present and former, of the bearer of one.
func (s *State) otherNames(a mail.Address) (all []mail.Address) {
	k := a.Kind()
	m := s.Members[a.Signer()]
	if a == "" || k != mail.ToAgent && k != mail.ToPerson || m == nil {
		return nil
	}
	for _, n := range append([]mail.Name{m.Name}, m.Aliases...) {
		if o := mail.AgentAddress(n); o != a {
			all = append(all, o)
		}
	}
	return all
}

// Archive reports whether matches may be in the archive. Open questions never leave the hot messages.
func (f *Filter) Archive() bool { return f.Q.Archive && !f.Q.Open }

// Accepts combines Matches and finds.
func (f *Filter) Accepts(h *Header, seq mail.Seq, m *mail.Message) bool {
	return f.Matches(h, seq) && f.finds(m)
}

// finds reports whether the text has the words of the query.
func (f *Filter) finds(m *mail.Message) bool {
	if f.Words.Empty() {
		return true
	}
	f.Text = find.Text(f.Text[:0], m.Subject, m.Body)
	return f.Words.In(f.Text)
}

// Found keeps the items whose text has the words of the query.
func (f *Filter) Found(items []mail.Item) []mail.Item {
	return slices.DeleteFunc(items, func(it mail.Item) bool { return !f.finds(&it.Message) })
}

// Matches checks the header of a message.
func (f *Filter) Matches(m *Header, seq mail.Seq) bool {
	q := &f.Q
	switch {
	case seq <= f.After, seq >= f.Before && f.Before > 0:
		return false
	case !hasType(q.Types, m.Type):
		return false
	case f.From != "" && !f.isFrom(m), f.To != "" && !slices.ContainsFunc(m.To, f.isTo):
		return false
	case f.Root != "" && f.Root != m.ThreadRoot():
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

func (f *Filter) isFrom(m *Header) bool {
	return SameAddress(f.From, m.From) || slices.Contains(f.FromToo, m.From)
}

func (f *Filter) isTo(a mail.Address) bool {
	return SameAddress(f.To, a) || slices.Contains(f.ToToo, a)
}

// SameAddress also holds between an agent called orchestrator and the role of that name, and between the present
// spelling of a sender of another room and the one of older journals.
func SameAddress(asked, b mail.Address) bool {
	if agent, room, far := asked.Far(); far && b == mail.Address("agent:"+string(agent.Signer())+"@"+string(room)) {
		return true
	}
	return asked == b || asked.Value() == "orchestrator" && b.Value() == "orchestrator"
}

// About reports whether r was sent by or delivered to the agent of the query.
func (f *Filter) About(s *State, r *Record) bool {
	return f.Agent == nil || r.Sender == f.Agent || r.Reaches(f.Agent) || r.MarksOf(f.Agent) != nil
}

// HasState reports whether one of a message's deliveries is in a state that the query asks for.
func (f *Filter) HasState(ds []mail.Delivery) bool {
	return len(f.Q.States) == 0 || slices.ContainsFunc(ds, func(d mail.Delivery) bool {
		return slices.Contains(f.Q.States, d.State)
	})
}

// Awaited reports whether a wait is for r.
func Awaited(q mail.WaitQuery, r *Record) bool {
	return r.Seq > q.After && hasType(q.Types, r.Msg.Type) && (q.ReplyTo == "" || q.ReplyTo == r.Msg.ReplyTo())
}
