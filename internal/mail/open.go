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
	Declined  Outcome = "declined"  // it was replied to, but whoever asked has to decide alone
	Withdrawn Outcome = "withdrawn" // whoever asked does not want to know any more
)

// Settlement says that what a message asks is settled. As an event it records a withdrawal, which no message tells of,
// and what became of a question whose answer is not in the journal.
type Settlement struct {
	Message ID      `json:"message"` // what asked
	By      Address `json:"by"`
	As      Outcome `json:"as"`
	Answer  ID      `json:"answer,omitempty"` // the message that settled it; none for a withdrawal
	At      Time    `json:"at,omitzero"`      // in an event only if that is not when it happened
}

// Asks reports whether messages of type t stay open until they are answered, declined or withdrawn.
func (t Type) Asks() bool { return t.Rule().AnsweredBy != "" }

// MayAnswer reports whether a reply of this type may settle what it replies to. Without a type it may become an
// answer.
func (t Type) MayAnswer() bool {
	return t == "" || t == Answer || slices.ContainsFunc(typeRules, func(r TypeRule) bool { return r.AnsweredBy == t })
}

// DeclinedKey is the member of an answer's metadata that makes it a refusal to answer. Any value but false, null and
// "" does; a text is the reason.
const DeclinedKey = "declined"

// Declines reports whether m, an answer, refuses to answer.
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

// Suggestion is an answer of somebody of whom the question was not asked. It settles nothing until somebody who may
// settle the question adopts it.
type Suggestion struct {
	ID   ID      `json:"id"`
	From Address `json:"from"`
	Sent Time    `json:"sent"`
	Body string  `json:"body,omitempty"` // of a question that was asked for by its id
	Via  string  `json:"via,omitempty"`  // likewise
}

// Suggestion says what became of an answer whose sender was not asked; "" if it was.
func (s *Sent) Suggestion() string {
	if len(s.AskedOf) == 0 {
		return ""
	}
	names := make([]string, len(s.AskedOf))
	for i, a := range s.AskedOf {
		names[i] = string(a)
	}
	return "a suggestion: the question stays open, it was asked of " + strings.Join(names, ", ")
}

// Waiting says that somebody waits for somebody: one open question and one of those who were asked.
type Waiting struct {
	Question ID     `json:"question"`
	Type     Type   `json:"type"`
	Subject  string `json:"subject,omitempty"`
	Since    Time   `json:"since"`
	Asker    Name   `json:"asker"`
	// Address is where the question went, and Asked who it reached there; nobody in particular if it went to a tag, to
	// all, or to a role without a holder.
	Address Address `json:"address"`
	Asked   Name    `json:"asked,omitempty"`
	// Chain begins with Asker and Asked. If Asked, or anybody that Asked waits for, waits for Asker, it is the
	// shortest way back. Else each next one is whom the one before waits for, and has longest. It ends with somebody
	// who waits for nobody or, in a Circle, with a name that it has already.
	Chain  []Name `json:"chain,omitempty"`
	Circle bool   `json:"circle,omitzero"`
	// Suggestions is how many answers it has, MaxSuggestions at most, of those who were not asked.
	Suggestions int `json:"suggestions,omitzero"`
}

// WaitingQuery says how much of who waits for whom to return.
type WaitingQuery struct {
	Limit int `query:"limit" about:"at most so many; 0 means 50, the most is 1000"`
}

// WaitingList answers Waiting: the longest waits, and how many others there are.
type WaitingList struct {
	Waiting []Waiting `json:"waiting"`
	Rest    int       `json:"rest,omitzero"`
}
