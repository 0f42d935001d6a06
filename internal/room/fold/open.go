package fold

import (
	"cmp"
	"iter"
	"slices"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// Open reports whether r is a question that is neither answered nor declined nor withdrawn. Readers' marks, expiry
// and retention do not matter.
func (r *Record) Open() bool { return r.Settled == nil && r.Msg.Type.Asks() }

// wakes reports whether r is worth waking someone whom it reached through an address. Withdrawn questions are not.
func (r *Record) wakes(a mail.Address, orchestrator bool) bool {
	return !r.Withdrawn() && policy.Wakes(r.Msg.Type, r.Msg.Priority, r.Msg.From, a, orchestrator)
}

// Withdrawn reports whether r is a question that was withdrawn. It is shown as that where it was listed, but no
// longer waits to be read.
func (r *Record) Withdrawn() bool { return r.Settled != nil && r.Settled.As == mail.Withdrawn }

// track records the question that a new message asks and the one it answers.
func (s *State) track(r *Record, m *mail.Message) {
	if r.Open() {
		s.Open.Add(r)
	}
	s.fileOpen(r)
	q := s.Records[r.Msg.ReplyTo()]
	if q == nil || !q.Open() {
		return
	}
	if as, ok := policy.Settles(q.Msg.Type, q.Msg.ID, m); ok {
		s.settleOpen(q, mail.Settlement{Message: q.Msg.ID, By: r.Msg.From, As: as, Answer: r.Msg.ID, At: r.Msg.Sent})
	}
}

func (s *State) settleOpen(q *Record, st mail.Settlement) {
	was := q.Withdrawn()
	q.Settled = &st
	s.Open.remove(q)
	s.answered.set(q, st.Answer != "")
	s.fileOpen(q)
	for i := range q.Bound {
		for _, m := range q.Bound[i].members {
			s.refile(q, m)
		}
	}
	if len(q.dynamic) > 0 && was != q.Withdrawn() {
		s.deliver(q)
	}
}

// fileOpen puts r into the lists of open questions, or takes it out. refile keeps the lists of those who were asked.
func (s *State) fileOpen(r *Record) {
	r.Sender.Asking.set(r, r.Open())
	s.index.many.set(r, r.Open() && len(r.dynamic) > 0)
}

// applySettled settles a question. A withdrawal of a settled one comes too late. An event that names an answer
// repeats the room's knowledge from when the answer left the journal, and takes precedence over later answers.
func (s *State) applySettled(st mail.Settlement, at mail.Time) (counted bool) {
	q := s.Records[st.Message]
	if q == nil || !q.Msg.Type.Asks() {
		return true
	}
	if !q.Open() && st.Answer == "" {
		return q.Settled.As == st.As
	}
	if st.At == 0 {
		st.At = at
	}
	s.settleOpen(q, st)
	return true
}

// showOpen says on a page which questions to m, and which of m's, wait for an answer.
func (s *State) showOpen(page *mail.Page, m *Member) {
	add := func(n *int, ids *[]mail.ID, id mail.ID) {
		if *n++; *n <= mail.MaxOpenIDs {
			*ids = append(*ids, id)
		}
	}
	for r := range merged([]List{m.Asked, s.index.many}, false) {
		if r.Reaches(m) {
			add(&page.Open, &page.OpenIDs, r.Msg.ID)
		}
	}
	for _, r := range m.Asking {
		add(&page.Own, &page.OwnIDs, r.Msg.ID)
	}
}

// settledByGone returns the settlements of questions that are kept while their answers are not.
func (s *State) settledByGone() []mail.Settlement {
	var out []mail.Settlement
	for _, r := range s.answered {
		if s.Records[r.Settled.Answer] == nil {
			out = append(out, *r.Settled)
		}
	}
	return out
}

// SettledGoing returns events that record how those of the given messages that were answered were settled: their
// answers are not looked for in the archive.
func (s *State) SettledGoing(going []mail.ID, now mail.Time) (events []mail.Event) {
	for _, id := range going {
		if r := s.Records[id]; r != nil && r.Settled != nil && r.Settled.Answer != "" {
			events = append(events, mail.Event{At: now, Settled: r.Settled})
		}
	}
	return events
}

// AsksOther reports whether a message is an open question of someone other than m: a reply to it that names no type
// is the answer.
func (s *State) AsksOther(id mail.ID, m *Member) bool {
	q := s.Records[id]
	return q != nil && q.Open() && q.Sender != m
}

// SettledAs is the refusal to withdraw a settled question.
func SettledAs(q *Record) error {
	return mail.Errorf(mail.Conflict, "%s was already %s by %s; nothing was withdrawn", q.Msg.ID, q.Settled.As,
		q.Settled.By.Signer())
}

// Waits puts into out the n longest waits, without the subjects, and how many others there are, and returns the spots
// of the questions. For mail to a role only its holder is asked.
func (s *State) Waits(out *mail.WaitingList, n int) (spots []Spot) {
	next := make(map[mail.Name][]mail.Name) // whom each member waits for, the longest first
	open := slices.Clone(s.Open)
	slices.SortStableFunc(open, func(a, b *Record) int { return cmp.Compare(a.Msg.Sent, b.Msg.Sent) })
	for _, q := range open {
		suggestions := len(s.suggestions(q))
		for a, m := range q.asked() {
			w := mail.Waiting{Question: q.Msg.ID, Type: q.Msg.Type, Since: q.Msg.Sent,
				Asker: q.Sender.Name, Address: a, Suggestions: suggestions}
			if m != nil {
				w.Asked = m.Name
				next[w.Asker] = append(next[w.Asker], w.Asked)
			}
			if len(out.Waiting) < n {
				out.Waiting = append(out.Waiting, w)
				spots = append(spots, q.Spot())
			} else {
				out.Rest++
			}
		}
	}
	for i := range out.Waiting {
		if w := &out.Waiting[i]; w.Asked != "" {
			w.Chain, w.Circle = policy.Chain(w.Asker, w.Asked, func(n mail.Name) []mail.Name { return next[n] })
		}
	}
	return spots
}

// asked yields the addresses of a question, each with every member whom it reached through it; with nil if it has no
// particular recipient.
func (r *Record) asked() iter.Seq2[mail.Address, *Member] {
	return func(yield func(mail.Address, *Member) bool) {
		for i := range r.Bound {
			b := &r.Bound[i]
			for _, m := range b.members {
				if !yield(b.address, m) {
					return
				}
			}
			if len(b.members) == 0 && !yield(b.address, nil) {
				return
			}
		}
		for _, a := range r.dynamic {
			if !yield(a, nil) {
				return
			}
		}
		for _, a := range r.Msg.To {
			if a.Kind() == mail.FromFar && !yield(a, nil) {
				return
			}
		}
	}
}

// OtherRooms returns the other rooms that have r.
func (r *Record) OtherRooms() (rooms []mail.RoomName) {
	for _, a := range append([]mail.Address{r.Msg.From}, r.Msg.To...) {
		if _, room, far := a.Far(); far && !slices.Contains(rooms, room) {
			rooms = append(rooms, room)
		}
	}
	return rooms
}
