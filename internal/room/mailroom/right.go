package mailroom

import (
	"context"
	"slices"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// Who may settle a question is found out when an answer is sent, and stands in the answer's line: apply, which may
// run again when the roster and the thread are long gone, only obeys it.

// weigh finds out whether a message, which may answer the question q by its type, has the right to settle it. If not,
// and q is open, it becomes a suggestion. From the user it is refused, if the user could settle q by other means.
func (v *view) weigh(s *state, q *record, m *mail.Message) (right bool, err error) {
	_, answers := policy.Settles(q.msg.Type, q.msg.ID, m)
	switch {
	case !answers:
		return false, nil
	case v.isUser() && !v.means.Settles() && q.open():
		return false, mail.Errorf(mail.Denied, "%s waits for an answer, and what a script sends settles no question: "+
			"nothing was sent. Answer it yourself, in a terminal or on the pages: pennypost open. What is no answer can "+
			"be sent with the type %s", q.msg.ID, mail.Status)
	case !v.opts.rightCounts(s):
		return true, nil
	case v.foreign:
		_, home, _ := m.From.Far()
		right = v.right && slices.Contains(q.otherRooms(), home)
	default:
		right = s.maySettle(q, m.From)
	}
	m.Suggests = !right && q.open()
	return right, nil
}

// maySettle reports whether a sender of this room may settle q: the user may, and whoever was asked, or was passed it
// on to, or is registered below one of these. Whoever asked withdraws it instead.
func (s *state) maySettle(q *record, from mail.Address) bool {
	m := s.members[from.Signer()]
	switch {
	case from == mail.ToUser:
		return true
	case m == nil || m == q.sender || from == mail.FromSystem:
		return false
	}
	return s.isAsked(q, m, nil) || s.isAsked(q, m, s.passedOn(q))
}

// isAsked reports whether m, or one above it, was asked q or is among others.
func (s *state) isAsked(q *record, m *member, others map[*member]bool) bool {
	for range maxGenerations {
		if m == nil || m == q.sender {
			return false
		}
		if others[m] || q.asks(m) {
			return true
		}
		m = s.agent(m.Parent)
	}
	return false
}

// asks reports whether q is, or was, a question to m: it reached m, m has seen it when it carried the tag, or m has
// the role by now.
func (q *record) asks(m *member) bool {
	return q.reaches(m) || len(q.dynamic) > 0 && q.marksOf(m) != nil ||
		slices.ContainsFunc(q.bound, func(b bound) bool { return b.isRole() && m.hasRole(b.address.Value()) })
}

// passedOn returns to whom those who were asked q have passed it on, with a message in its thread. What they write
// back to somebody passes nothing on: anybody can write to them there.
func (s *state) passedOn(q *record) map[*member]bool {
	passed := make(map[*member]bool)
	for _, r := range s.index.threads[q.msg.ThreadRoot()].after(q.seq) {
		to := s.records[r.msg.replyTo()]
		if to == nil || !r.sender.isUser() && !s.isAsked(q, r.sender, passed) {
			continue
		}
		for i := range r.bound {
			for _, m := range r.bound[i].members {
				if m != to.sender {
					passed[m] = true
				}
			}
		}
	}
	return passed
}

// suggestions returns what those suggest of whom r, which is open, was not asked.
func (s *state) suggestions(r *record) (out []mail.Suggestion) {
	if !r.open() {
		return nil
	}
	for _, a := range s.index.threads[r.msg.ThreadRoot()].after(r.seq) {
		if a.suggests && a.msg.replyTo() == r.msg.ID {
			out = append(out, mail.Suggestion{ID: a.msg.ID, From: a.msg.From, Sent: a.msg.Sent})
		}
	}
	return out[max(0, len(out)-mail.MaxSuggestions):]
}

// quote puts the texts into suggestions.
func (v *view) quote(ctx context.Context, list []mail.Suggestion) error {
	spots := make([]spot, len(list))
	v.read(func(s *state, _ mail.Time) {
		for i := range list {
			spots[i].id = list[i].ID // in the archive by now, else
			if r := s.records[list[i].ID]; r != nil {
				spots[i] = spot{r.msg.ID, r.seq}
			}
		}
	})
	if len(spots) == 0 {
		return nil
	}
	texts, err := v.texts(ctx, spots)
	for i, m := range texts {
		if m != nil {
			list[i].Body, list[i].Via = m.Body, m.Via
		}
	}
	return err
}

// aboutOpen reports whether r is a reply to a question that is open: a suggestion, or by what it was passed on.
func (s *state) aboutOpen(r *record) bool {
	q := s.records[r.msg.replyTo()]
	return q != nil && q.open()
}

// rightCounts reports whether it counts who may settle a question: all machines have to know what a suggestion is.
func (o *Options) rightCounts(s *state) bool {
	return o.Machine == "" || !slices.ContainsFunc(s.machines, func(m mail.Machine) bool {
		return s.rules[m] < mail.RulesOfRight
	})
}
