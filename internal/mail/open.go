package mail

import (
	"encoding/json"
	"slices"
	"strings"
)

// Outcome is how a question was settled.
type Outcome string

// The outcomes.
const (
	Answered  Outcome = "answered"
	Declined  Outcome = "declined"  // replied to, but the asker has to decide alone
	Withdrawn Outcome = "withdrawn" // the asker does not want to know any more
)

// Settlement says how an open message was settled. As an event it records a withdrawal, which has no message, or
// the outcome of a question whose answer is not in the journal.
type Settlement struct {
	Message ID      `json:"message"` // the question
	By      Address `json:"by"`
	As      Outcome `json:"as"`
	Answer  ID      `json:"answer,omitempty"` // the message that settled it; empty for a withdrawal
	At      Time    `json:"at,omitzero"`      // in an event only if it differs from the event's time
}

// Asks reports whether messages of type t stay open until they are answered, declined or withdrawn.
func (t Type) Asks() bool { return t.Rule().AnsweredBy != "" }

// MayAnswer reports whether a reply of this type may settle the message it replies to. A reply without a type may
// become an answer.
func (t Type) MayAnswer() bool {
	return t == "" || t == Answer || slices.ContainsFunc(typeRules, func(r TypeRule) bool { return r.AnsweredBy == t })
}

// DeclinedKey is the member of an answer's metadata that turns it into a refusal to answer. Any value except false,
// null and "" does; a text is the reason.
const DeclinedKey = "declined"

// Declines reports whether the answer m refuses to answer.
func (m *Message) Declines() bool {
	var members map[string]json.RawMessage
	if len(m.Metadata) == 0 || json.Unmarshal(m.Metadata, &members) != nil {
		return false
	}
	switch string(members[DeclinedKey]) {
	case "", "false", "null", `""`:
		return false
	}
	return true
}

// Suggestion is an answer by a sender that was not asked. It settles nothing until someone who may settle the
// question adopts it.
type Suggestion struct {
	ID   ID      `json:"id"`
	From Address `json:"from"`
	Sent Time    `json:"sent"`
	Body string  `json:"body,omitempty"` // only if the question was requested by its id
	Via  string  `json:"via,omitempty"`  // likewise
}

// Suggestion describes an answer whose sender was not asked; "" if the sender was.
func (s *Sent) Suggestion() string {
	if len(s.AskedOf) == 0 {
		return ""
	}
	names := make([]string, len(s.AskedOf))
	for i, a := range s.AskedOf {
		names[i] = string(a)
	}
	return "a suggestion: the question stays open, because it was put to " + strings.Join(names, ", ")
}

// Waiting is an open question from one agent to another: one entry for each of those asked.
type Waiting struct {
	Question ID     `json:"question"`
	Type     Type   `json:"type"`
	Subject  string `json:"subject,omitempty"`
	Since    Time   `json:"since"`
	Asker    Name   `json:"asker"`
	// Address is where the question went, and Asked the agent it reached there; empty if it went to a tag, to all,
	// or to a role without a holder.
	Address Address `json:"address"`
	Asked   Name    `json:"asked,omitempty"`
	// Chain begins with Asker and Asked. If Asked waits for Asker, directly or through others, the chain is the
	// shortest way back. Otherwise each next name is the one for whom the previous has waited longest. It ends with
	// an agent that waits for no one or, in a Circle, with a name already in it.
	Chain  []Name `json:"chain,omitempty"`
	Circle bool   `json:"circle,omitzero"`
	// Suggestions counts the answers by senders that were not asked, at most MaxSuggestions.
	Suggestions int `json:"suggestions,omitzero"`
}

// WaitingQuery limits the list of waits.
type WaitingQuery struct {
	Limit int `query:"limit" about:"at most this many; 0 means 50, the maximum is 1000"`
}

// WaitingList answers Waiting: the longest waits, and the number of others.
type WaitingList struct {
	Waiting []Waiting `json:"waiting"`
	Rest    int       `json:"rest,omitzero"`
}
