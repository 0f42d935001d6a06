package agenties

import (
	"strings"

	"pennypost/internal/mail"
)

// party is a kind of sender or recipient in the document's table of types. Several are or-ed together.
type party uint8

const (
	anAgent party = 1 << iota
	theOrchestrator
	aRole
	everybody
	theUser
)

// direction is an allowed combination of types, senders and recipients.
type direction struct {
	types    mail.Type
	from, to party
}

// directions are all allowed ways between agents and orchestrator. The person, who is in charge, may send anything
// to anyone.
//
// "Agent" as a recipient of work is an agent by id or the holders of a role; an answer or a cancel goes to one
// agent. Only the orchestrator writes to the user, whatever the type (A7).
func directions() []direction {
	return []direction{
		{mail.TaskAssigned, theOrchestrator, anAgent | aRole},
		{mail.TaskDone, anAgent, theOrchestrator},
		{mail.ReviewRequest, anAgent | theOrchestrator, anAgent | aRole},
		{mail.ReviewResult, anAgent, theOrchestrator},
		{mail.Question, anAgent, theOrchestrator},
		{mail.Question, theOrchestrator, theUser},
		{mail.Answer, theOrchestrator, anAgent},
		{mail.Cancel, theOrchestrator, anAgent},
		{mail.Status, anAgent, everybody},
		{mail.Custom, anAgent | theOrchestrator, anAgent | theOrchestrator | aRole | everybody},
		{mail.Custom, theOrchestrator, theUser},
	}
}

// partyOf returns the kind of an address.
func partyOf(a mail.Address) party {
	switch {
	case a == mail.ToOrchestrator:
		return theOrchestrator
	case a.Kind() == mail.ToRole:
		return aRole
	case a.Kind() == mail.ToAgent:
		return anAgent
	case a == mail.ToUser:
		return theUser
	}
	return everybody
}

// checkDirection returns an error if the sender must not send a message of type t to a.
func checkDirection(t mail.Type, from party, a mail.Address) error {
	to := partyOf(a)
	if from == theUser {
		return nil
	}
	if to == theUser && from != theOrchestrator {
		return mail.Errorf(mail.Denied,
			`only the orchestrator may write to the user: nothing was sent. Sub-agents route to orchestrator when `+
				`they need human input: send this to "orchestrator", which decides whether to pass it on or to `+
				`answer itself`)
	}
	var ways []string
	for _, d := range directions() {
		if d.types != t {
			continue
		}
		if d.from&from != 0 && d.to&to != 0 {
			return nil
		}
		ways = append(ways, "from "+d.from.String()+" to "+d.to.String())
	}
	return mail.Errorf(mail.Denied,
		`%s goes %s. You are %s and wrote to %q: nothing was sent. Choose another recipient, or type custom if no `+
			`other fits`,
		t, strings.Join(ways, ", and "), from, spell(a))
}

// String describes the parties in the words of an error.
func (p party) String() string {
	var words []string
	for _, w := range []struct {
		p    party
		word string
	}{
		{anAgent, "an agent (agent:<id>)"}, {theOrchestrator, "the orchestrator"}, {aRole, "a role (role:<role>)"},
		{everybody, "everyone (broadcast)"}, {theUser, "the user"},
	} {
		if p&w.p != 0 {
			words = append(words, w.word)
		}
	}
	return strings.Join(words, " or ")
}
