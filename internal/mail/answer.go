package mail

import (
	"encoding/json"
	"slices"
)

// DeclinedBody is what a refusal to answer says without a reason.
const DeclinedBody = "Declined: please decide yourself."

// AnswerType is the type of what somebody writes below m: an answer if m asks them something.
func (m *Message) AnswerType(by Name) Type {
	if m.Type.Asks() && m.From.Signer() != by {
		return Answer
	}
	return Custom
}

// AnswerTo returns whom it is for: the sender of m or, if they wrote that themselves, those to whom they did; nobody
// if the post office wrote it.
func (m *Message) AnswerTo(by Name) []Address {
	switch m.From.Signer() {
	case by:
		return slices.DeleteFunc(slices.Clone(m.To), func(a Address) bool { return a.Signer() == by })
	case System:
		return nil
	}
	return []Address{m.From}
}

// Choices are the answers that m offers: its options or, where a verdict answers it, the verdicts.
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

// Reply begins what somebody writes below m: it has no text, and is for nobody if the post office wrote m.
func (m *Message) Reply(by Name) Draft {
	d := Draft{Type: string(m.AnswerType(by)), ReplyTo: m.ID}
	for _, to := range m.AnswerTo(by) {
		d.To = append(d.To, string(to))
	}
	return d
}

// Choose is the answer to m by one of its choices.
func (m *Message) Choose(by Name, choice string) Draft {
	d := m.Reply(by)
	d.Body = choice
	if t := m.Type.Rule().AnsweredBy; t.Rule().Verdict && len(m.Metadata.Options()) == 0 {
		d.Type = string(t)
		d.Metadata, _ = json.Marshal(map[string]string{"verdict": choice}) // texts always can be
	}
	return d
}

// AdoptedKey is the member of an answer's metadata that names the suggestion whose words it takes over.
const AdoptedKey = "adopted"

// Adopt is the answer to m in the words of a suggestion, to which it refers.
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
	d.Metadata, _ = json.Marshal(members) // texts and truths always can be
	return d
}

// Decline is the refusal to answer m.
func (m *Message) Decline(by Name, reason string) Draft {
	d := m.Reply(by)
	d.Type, d.Body, d.Metadata = string(Answer), reason, Metadata(`{"`+DeclinedKey+`":true}`)
	return d
}
