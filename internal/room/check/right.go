package check

import (
	"slices"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
	"pennypost/internal/room/fold"
)

// Who may settle a question is decided when an answer is sent, and is in the answer's line: apply, which may run
// again when the roster and the thread are long gone, only obeys it.

// weigh finds out whether a message, which may answer the question q by its type, has the right to settle it. If not,
// and q is open, it becomes a suggestion. From the user it is refused, if the user could settle q by other means.
func (v *View) weigh(q *fold.Record, m *mail.Message) (right bool, err error) {
	_, answers := policy.Settles(q.Msg.Type, q.Msg.ID, m)
	switch {
	case !answers:
		return false, nil
	case v.IsUser() && !v.Means.Settles() && q.Open():
		return false, mail.Errorf(mail.Denied, "%s waits for an answer, and a script cannot settle a question: "+
			"nothing was sent. Answer it yourself, in a terminal or on the pages: pennypost open. To send "+
			"something other than an answer, use the type %s", q.Msg.ID, mail.Status)
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

// rightCounts reports whether the right to settle a question is checked: all machines must know what a suggestion is.
func (v *View) rightCounts() bool { return !v.anyLacks(mail.RulesOfRight) }

// anyLacks reports whether one of the machines that follow the room does not know some rules.
func (v *View) anyLacks(rules int) bool {
	return v.Machine != "" && slices.ContainsFunc(v.Machines, func(m mail.Machine) bool {
		return v.State.Rules[m] < rules
	})
}

// audience returns the requested audience, if all machines know it.
func (v *View) audience(asked string) string {
	if asked == mail.AudienceHolders && v.anyLacks(mail.RulesOfOffers) {
		return ""
	}
	return asked
}

// Withdraw returns the events of a withdrawal; none if the question was withdrawn before.
func (v *View) Withdraw(id mail.ID) ([]mail.Event, error) {
	q := v.Records[id]
	switch {
	case q == nil:
		return nil, mail.Errorf(mail.NotFound, "there is no open question %q in room %s; nothing was withdrawn. Open "+
			"questions: pennypost history --open", id, v.Room)
	case !q.Msg.Type.Asks():
		return nil, mail.Errorf(mail.Invalid, "%s is a %s, which needs no answer; nothing "+
			"was withdrawn", id, q.Msg.Type)
	case !v.IsUser() && q.Sender != v.Me():
		return nil, mail.Errorf(mail.Denied, "only its sender and the user may withdraw %s; you are %s. Decline it "+
			"instead, with an answer", id, v.Who)
	case q.Open() && v.IsUser() && !v.Means.Settles() && !q.Sender.IsUser():
		return nil, mail.Errorf(mail.Denied, "a script may withdraw only its own questions: nothing was withdrawn. "+
			"Do it yourself, in a terminal or on the pages: pennypost open")
	case q.Open():
		settled := mail.Event{At: v.Now, Settled: &mail.Settlement{Message: id, By: v.Signature(), As: mail.Withdrawn}}
		if v.Me() == nil {
			return []mail.Event{settled}, nil
		}
		return append(v.Pulse(), settled), nil
	case q.Settled.As != mail.Withdrawn:
		return nil, fold.SettledAs(q)
	}
	return nil, nil
}
