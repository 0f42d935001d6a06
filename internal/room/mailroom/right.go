package mailroom

import (
	"context"
	"slices"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
	"pennypost/internal/room/fold"
)

// Who may settle a question is found out when an answer is sent, and stands in the answer's line: apply, which may
// run again when the roster and the thread are long gone, only obeys it.

// weigh finds out whether a message, which may answer the question q by its type, has the right to settle it. If not,
// and q is open, it becomes a suggestion. From the user it is refused, if the user could settle q by other means.
func (v *View) weigh(q *fold.Record, m *mail.Message) (right bool, err error) {
	_, answers := policy.Settles(q.Msg.Type, q.Msg.ID, m)
	switch {
	case !answers:
		return false, nil
	case v.isUser() && !v.Means.Settles() && q.Open():
		return false, mail.Errorf(mail.Denied, "%s waits for an answer, and what a script sends settles no question: "+
			"nothing was sent. Answer it yourself, in a terminal or on the pages: pennypost open. What is no answer "+
			"can be sent with the type %s", q.Msg.ID, mail.Status)
	case !v.rightCounts():
		return true, nil
	case v.Foreign:
		_, home, _ := m.From.Far()
		right = v.Right && slices.Contains(q.OtherRooms(), home)
	default:
		right = v.MaySettle(q, m.From)
	}
	m.Suggests = !right && q.Open()
	return right, nil
}

// quote puts the texts into suggestions.
func (v *view) quote(ctx context.Context, list []mail.Suggestion) error {
	spots := make([]fold.Spot, len(list))
	v.read(func(s *fold.State, _ mail.Time) {
		for i := range list {
			spots[i].ID = list[i].ID // in the archive by now, else
			if r := s.Records[list[i].ID]; r != nil {
				spots[i] = r.Spot()
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

// rightCounts reports whether it counts who may settle a question: all machines have to know what a suggestion is.
func (v *View) rightCounts() bool {
	return v.Machine == "" || !slices.ContainsFunc(v.Machines, func(m mail.Machine) bool {
		return v.State.Rules[m] < mail.RulesOfRight
	})
}
