package mail

import (
	"encoding/json"
	"slices"
)

// DeclinedBody is the body of a refusal to answer without a reason.
const DeclinedBody = "Declined: please decide yourself."

// AnswerType returns the type of a reply to m: an answer if m asks the replier something.
func (m *Message) AnswerType(by Name) Type {
	if m.Type.Asks() && m.From.Signer() != by {
		return Answer
	}
	return Custom
}

// AnswerTo returns the recipients of a reply to m: its sender or, if the replier sent m, the recipients of m; the
// post office if its own message asks, and no one if it only informs.
func (m *Message) AnswerTo(by Name) []Address {
	switch m.From.Signer() {
	case by:
		return slices.DeleteFunc(slices.Clone(m.To), func(a Address) bool { return a.Signer() == by })
	case System:
		if m.Type.Asks() {
			return []Address{FromSystem}
		}
		return nil
	}
	return []Address{m.From}
}

// Choices returns the answers that m offers: its options or, if a verdict answers it, the verdicts.
func (m *Message) Choices() []Option {
	options := m.Metadata.Options()
	if len(options) > 0 || !m.Type.Rule().AnsweredBy.Rule().Verdict {
		return options
	}
	for _, v := range Verdicts() {
		options = append(options, Option{Answer: v})
	}
	return options
}

// Reply returns a draft of a reply to m, without text. It has no recipient if the post office sent m and m asks
// nothing.
func (m *Message) Reply(by Name) Draft {
	d := Draft{Type: string(m.AnswerType(by)), ReplyTo: m.ID}
	for _, to := range m.AnswerTo(by) {
		d.To = append(d.To, string(to))
	}
	return d
}

// Choose returns the answer to m by one of its choices.
func (m *Message) Choose(by Name, choice string) Draft {
	d := m.Reply(by)
	d.Body = choice
	if t := m.Type.Rule().AnsweredBy; t.Rule().Verdict && len(m.Metadata.Options()) == 0 {
		d.Type = string(t)
		d.Metadata, _ = json.Marshal(map[string]string{"verdict": choice}) // strings always marshal
	}
	return d
}

// AdoptedKey is the member of an answer's metadata that names the suggestion whose words it adopts.
const AdoptedKey = "adopted"

// Adopt returns the answer to m in the words of a suggestion, to which it refers.
func (m *Message) Adopt(by Name, suggestion *Message) Draft {
	d := m.Reply(by)
	d.Type, d.Body, d.Docs = string(suggestion.Type), suggestion.Body, suggestion.Docs
	members := map[string]any{AdoptedKey: suggestion.ID}
	if v := suggestion.Metadata.Text("verdict"); v != "" {
		members["verdict"] = v
	}
	if suggestion.Declines() {
		members[DeclinedKey] = true
	}
	d.Metadata, _ = json.Marshal(members) // strings and booleans always marshal
	return d
}

// Decline returns the refusal to answer m.
func (m *Message) Decline(by Name, reason string) Draft {
	d := m.Reply(by)
	d.Type, d.Body, d.Metadata = string(Answer), reason, Metadata(`{"`+DeclinedKey+`":true}`)
	return d
}
