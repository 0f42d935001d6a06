package mailroom

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// open reports whether r asks something that is neither answered nor declined nor withdrawn. What readers mark, what
// expires and what retention does has no part in it.
func (r *record) open() bool { return r.settled == nil && r.msg.Type.Asks() }

// wakes reports whether r is worth waking somebody whom it reached through an address. What was withdrawn is not.
func (r *record) wakes(a mail.Address, orchestrator bool) bool {
	return !r.withdrawn() && policy.Wakes(r.msg.Type, r.msg.Priority, r.msg.From, a, orchestrator)
}

// withdrawn reports whether r asked something that nobody wants to know any more. It is shown as that where it was
// listed, but it waits for nobody to read it.
func (r *record) withdrawn() bool { return r.settled != nil && r.settled.As == mail.Withdrawn }

// track notes what a new message asks and what it answers.
func (s *state) track(r *record, m *mail.Message) {
	if r.open() {
		s.open.add(r)
	}
	s.fileOpen(r)
	q := s.records[r.msg.replyTo()]
	if q == nil || !q.open() {
		return
	}
	if as, ok := policy.Settles(q.msg.Type, q.msg.ID, m); ok {
		s.settleOpen(q, mail.Settlement{Message: q.msg.ID, By: r.msg.From, As: as, Answer: r.msg.ID, At: r.msg.Sent})
	}
}

func (s *state) settleOpen(q *record, st mail.Settlement) {
	was := q.withdrawn()
	q.settled = &st
	s.open.remove(q)
	s.answered.set(q, st.Answer != "")
	s.fileOpen(q)
	for i := range q.bound {
		for _, m := range q.bound[i].members {
			s.refile(q, m)
		}
	}
	if len(q.dynamic) > 0 && was != q.withdrawn() {
		s.deliver(q)
	}
}

// fileOpen puts r into the lists of what is open, or takes it out. Those of the asked are kept by refile.
func (s *state) fileOpen(r *record) {
	r.sender.asking.set(r, r.open())
	s.index.many.set(r, r.open() && len(r.dynamic) > 0)
}

// applySettled settles a question. A withdrawal of one that is settled comes too late. What names an answer repeats
// what the room knew when the answer left the journal, and goes before what later answers say.
func (s *state) applySettled(st mail.Settlement, at mail.Time) (counted bool) {
	q := s.records[st.Message]
	if q == nil || !q.msg.Type.Asks() {
		return true
	}
	if !q.open() && st.Answer == "" {
		return q.settled.As == st.As
	}
	if st.At == 0 {
		st.At = at
	}
	s.settleOpen(q, st)
	return true
}

// showOpen says on a page which questions to m, and which of m's, wait for an answer.
func (s *state) showOpen(page *mail.Page, m *member) {
	add := func(n *int, ids *[]mail.ID, id mail.ID) {
		if *n++; *n <= mail.MaxOpenIDs {
			*ids = append(*ids, id)
		}
	}
	for r := range merged([]list{m.asked, s.index.many}, false) {
		if r.reaches(m) {
			add(&page.Open, &page.OpenIDs, r.msg.ID)
		}
	}
	for _, r := range m.asking {
		add(&page.Own, &page.OwnIDs, r.msg.ID)
	}
}

// stillOpen says which of the messages that the caller wants to be done with, by marking them read or archived, it was
// asked and has not answered.
func (v *view) stillOpen(q mail.Marking, out *mail.Marked) {
	if q.Mark != mail.MarkRead && q.Mark != mail.MarkArchived {
		return
	}
	v.read(func(s *state, _ mail.Time) {
		var open list
		for _, id := range slices.Concat(out.Marked, out.Already) {
			if r := s.records[id]; r != nil && r.open() && r.reaches(v.me(s)) {
				open.add(r)
			}
		}
		for _, r := range open {
			out.Open = append(out.Open, r.msg.ID)
		}
	})
}

// settledByGone returns what became of questions that are kept while what answered them is not.
func (s *state) settledByGone() []mail.Settlement {
	var out []mail.Settlement
	for _, r := range s.answered {
		if s.records[r.settled.Answer] == nil {
			out = append(out, *r.settled)
		}
	}
	return out
}

// settledGoing returns events that say, of those of the given messages that somebody answered, how: in the archive
// their answers are not looked for.
func (s *state) settledGoing(going []mail.ID, now mail.Time) (events []mail.Event) {
	for _, id := range going {
		if r := s.records[id]; r != nil && r.settled != nil && r.settled.Answer != "" {
			events = append(events, mail.Event{At: now, Settled: r.settled})
		}
	}
	return events
}

// settlementsOf returns the event without which a question would be open again when its answer has been erased.
func (v *view) settlementsOf(answer mail.ID) (events []mail.Event) {
	v.read(func(s *state, now mail.Time) {
		r := s.records[answer]
		if r == nil {
			return
		}
		if q := s.records[r.msg.replyTo()]; q != nil && q.settled != nil && q.settled.Answer == answer {
			events = append(events, mail.Event{At: now, Settled: q.settled})
		}
	})
	return events
}

// asksOther reports whether a message is an open question of somebody else than m: a reply to it that does not say
// what it is, is the answer.
func (s *state) asksOther(id mail.ID, m *member) bool {
	q := s.records[id]
	return q != nil && q.open() && q.sender != m
}

// Withdraw implements mail.Tracker.
func (v *view) Withdraw(ctx context.Context, id mail.ID) error {
	var events []mail.Event
	var err error
	v.read(func(s *state, now mail.Time) {
		if events, err = v.withdrawal(s, id, now); err == nil && len(events) > 0 && v.me(s) != nil {
			events = append(v.pulse(s, now), events...)
		}
	})
	if err == nil {
		_, err = v.commit(ctx, events...)
	}
	if err != nil {
		return err
	}
	v.tell(context.WithoutCancel(ctx), id, "")
	v.read(func(s *state, _ mail.Time) { // an answer may have come first
		if q := s.records[id]; q != nil && q.settled != nil && q.settled.As != mail.Withdrawn {
			err = settledAs(q)
		}
	})
	return err
}

// withdrawal returns the event of a withdrawal; none if it was withdrawn before.
func (v *view) withdrawal(s *state, id mail.ID, now mail.Time) ([]mail.Event, error) {
	q := s.records[id]
	switch {
	case q == nil:
		return nil, mail.Errorf(mail.NotFound, "there is no open question %q in room %s; nothing was withdrawn. "+
			"What is open is listed by: pennypost history --open", id, v.name)
	case !q.msg.Type.Asks():
		return nil, mail.Errorf(mail.Invalid, "%s is a %s, which asks nothing; nothing was withdrawn", id, q.msg.Type)
	case !v.isUser() && q.sender != v.me(s):
		return nil, mail.Errorf(mail.Denied, "only whoever asked may withdraw %s, and the user; you are %s. Decline "+
			"it instead, with an answer", id, v.caller)
	case q.open() && v.isUser() && !v.means.Settles() && !q.sender.isUser():
		return nil, mail.Errorf(mail.Denied, "a script may withdraw what it asked, and settles no question of others: "+
			"nothing was withdrawn. Do it yourself, in a terminal or on the pages: pennypost open")
	case q.open():
		return []mail.Event{{At: now, Settled: &mail.Settlement{Message: id, By: v.signature(s),
			As: mail.Withdrawn}}}, nil
	case q.settled.As != mail.Withdrawn:
		return nil, settledAs(q)
	}
	return nil, nil
}

func settledAs(q *record) error {
	return mail.Errorf(mail.Conflict, "%s was %s by %s before; nothing was withdrawn", q.msg.ID, q.settled.As,
		q.settled.By.Signer())
}

// Waiting implements mail.Tracker.
func (v *view) Waiting(ctx context.Context, q mail.WaitingQuery) (mail.WaitingList, error) {
	n, err := limit(q.Limit)
	if err != nil {
		return mail.WaitingList{}, err
	}
	v.touch(ctx)
	out := mail.WaitingList{Waiting: []mail.Waiting{}}
	var spots []spot
	v.read(func(s *state, _ mail.Time) { spots = s.waits(&out, n) })
	texts, err := v.texts(ctx, spots)
	for i, m := range texts {
		if m != nil {
			out.Waiting[i].Subject = m.Subject
		}
	}
	return out, err
}

// waits puts into out the n longest waits, without the subjects, and how many others there are, and returns where the
// questions stand. Of what went to a role only its holder is asked.
func (s *state) waits(out *mail.WaitingList, n int) (spots []spot) {
	next := make(map[mail.Name][]mail.Name) // whom everybody waits for, the longest first
	open := slices.Clone(s.open)
	slices.SortStableFunc(open, func(a, b *record) int { return cmp.Compare(a.msg.Sent, b.msg.Sent) })
	for _, q := range open {
		suggestions := len(s.suggestions(q))
		for a, m := range q.asked() {
			w := mail.Waiting{Question: q.msg.ID, Type: q.msg.Type, Since: q.msg.Sent,
				Asker: q.sender.Name, Address: a, Suggestions: suggestions}
			if m != nil {
				w.Asked = m.Name
				next[w.Asker] = append(next[w.Asker], w.Asked)
			}
			if len(out.Waiting) < n {
				out.Waiting = append(out.Waiting, w)
				spots = append(spots, spot{q.msg.ID, q.seq})
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

// asked yields the addresses of a question, each with everybody whom it reached through it; with nil if that is
// nobody in particular.
func (r *record) asked() iter.Seq2[mail.Address, *member] {
	return func(yield func(mail.Address, *member) bool) {
		for i := range r.bound {
			b := &r.bound[i]
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
		for _, a := range r.msg.To {
			if a.Kind() == mail.FromFar && !yield(a, nil) {
				return
			}
		}
	}
}
