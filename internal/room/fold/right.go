package fold

import (
	"slices"

	"pennypost/internal/mail"
)

// MaySettle reports whether a sender of this room may settle q: the user, anyone who was asked, or to whom it was
// passed on, or who is registered below one of these. The asker withdraws it instead.
func (s *State) MaySettle(q *Record, from mail.Address) bool {
	m := s.Members[from.Signer()]
	switch {
	case from == mail.ToUser:
		return true
	case m == nil || m == q.Sender || from == mail.FromSystem:
		return false
	}
	return s.isAsked(q, m, nil) || s.isAsked(q, m, s.passedOn(q))
}

// isAsked reports whether m, or one above it, was asked q or is among others.
func (s *State) isAsked(q *Record, m *Member, others map[*Member]bool) bool {
	for range maxGenerations {
		if m == nil || m == q.Sender {
			return false
		}
		if others[m] || q.asks(m) {
			return true
		}
		m = s.Agent(m.Parent)
	}
	return false
}

// asks reports whether q is, or was, a question to m: it reached m, m has seen it when it carried the tag, or m has
// the role by now.
func (q *Record) asks(m *Member) bool {
	return q.Reaches(m) || len(q.dynamic) > 0 && q.MarksOf(m) != nil ||
		slices.ContainsFunc(q.Bound, func(b bound) bool { return b.IsRole() && m.HasRole(b.address.Value()) })
}

// passedOn returns the members to whom those who were asked q have passed it on, with a message in its thread. Their
// replies pass nothing on: anyone can write to them there.
func (s *State) passedOn(q *Record) map[*Member]bool {
	passed := make(map[*Member]bool)
	for _, r := range s.index.threads[q.Msg.ThreadRoot()].After(q.Seq) {
		to := s.Records[r.Msg.ReplyTo()]
		if to == nil || !r.Sender.IsUser() && !s.isAsked(q, r.Sender, passed) {
			continue
		}
		for i := range r.Bound {
			for _, m := range r.Bound[i].members {
				if m != to.Sender {
					passed[m] = true
				}
			}
		}
	}
	return passed
}

// suggestions returns the suggestions for r, which is open, from members that were not asked.
func (s *State) suggestions(r *Record) (out []mail.Suggestion) {
	if !r.Open() {
		return nil
	}
	for _, a := range s.index.threads[r.Msg.ThreadRoot()].After(r.Seq) {
		if a.suggests && a.Msg.ReplyTo() == r.Msg.ID {
			out = append(out, mail.Suggestion{ID: a.Msg.ID, From: a.Msg.From, Sent: a.Msg.Sent})
		}
	}
	return out[max(0, len(out)-mail.MaxSuggestions):]
}

// aboutOpen reports whether r is a reply to an open question: a suggestion, or the message that passed it on.
func (s *State) aboutOpen(r *Record) bool {
	q := s.Records[r.Msg.ReplyTo()]
	return q != nil && q.Open()
}
