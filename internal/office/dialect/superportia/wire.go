package superportia

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// stamp is a time in the document's form: RFC 3339 in UTC and whole seconds.
type stamp mail.Time

func (s stamp) MarshalText() ([]byte, error) {
	return mail.Time(s).Std().Truncate(time.Second).AppendFormat(nil, time.RFC3339), nil
}

func (s *stamp) UnmarshalText(b []byte) error { return (*mail.Time)(s).UnmarshalText(b) }

// sent is the answer of send_agent_message.
type sent struct {
	ID        mail.ID   `json:"msg_id"`
	To        mail.Name `json:"to"`
	From      mail.Name `json:"from"`
	Subject   string    `json:"subject"`
	Delivered bool      `json:"delivered"` // always true: a failed delivery is an error
	At        stamp     `json:"timestamp"`
}

// listing is the answer of check_agent_mailbox.
type listing struct {
	Unread   int     `json:"unread"`
	Total    int     `json:"total"`
	Messages []entry `json:"messages"`
	// More is the number of selected messages that are not listed; Note says how to get those, and how to get cut
	// bodies whole.
	More int    `json:"more,omitzero"`
	Note string `json:"note,omitempty"`
}

// entry is a message of a mailbox.
type entry struct {
	ID       mail.ID   `json:"msg_id"`
	From     mail.Name `json:"from"`
	To       string    `json:"to"`
	Subject  string    `json:"subject"`
	Priority string    `json:"priority"`
	Read     bool      `json:"read"`
	Archived bool      `json:"archived"`
	At       stamp     `json:"created_at"`
	// Body is missing in the document's example. But no tool of it returns a single message, so without it mail
	// could not be read.
	Body string `json:"body"`
}

// marked is the answer of mark_message, and archived that of archive_message. The document does not show them.
type marked struct {
	ID   mail.ID `json:"msg_id"`
	Read bool    `json:"read"`
}

type archived struct {
	ID       mail.ID `json:"msg_id"`
	Archived bool    `json:"archived"`
}

// presence is the answer of agent_heartbeat.
type presence struct {
	ID       mail.Name `json:"agent_id"`
	Ship     string    `json:"ship"`
	Platform string    `json:"platform"`
	Task     string    `json:"current_task"`
	Seen     stamp     `json:"last_seen"`
	Status   string    `json:"status"`
}

func presenceOf(a mail.Agent, now mail.Time) presence {
	id, _ := identityOf(a)
	return presence{ID: a.Name, Ship: id.Ship, Platform: id.Platform, Task: a.Task, Seen: stamp(a.Seen),
		Status: statusOf(a, now)}
}

// letter is a message in a mailbox, with the State and Read that it has there.
type letter struct {
	mail.Item
	fresh bool // the owner might not have got the text yet
}

// letterOf returns a message of a history as a letter in owner's mailbox; ok is false if it was never delivered
// there.
func letterOf(it mail.Item, owner mail.Name, now mail.Time) (l letter, ok bool) {
	fresh := it.State == mail.Queued || it.State == mail.Notified
	if it.State == "" {
		if it.State, ok = coldState(it, owner, now); !ok {
			return letter{}, false
		}
		it.Read = it.State == mail.Read || it.State == mail.Archived // the archive does not distinguish them
	}
	return letter{it, fresh}, true
}

// archived reports whether the mailbox shows the letter only with archived mail.
func (l *letter) archived() bool { return l.State == mail.Archived || l.State == mail.Expired }

func (l *letter) unread() bool { return !l.Read && !l.archived() }

// entryOf returns a letter, or the part of it that fits an answer, as an entry.
func entryOf(it *mail.Item, signs signer) entry {
	l := letter{Item: *it}
	return entry{
		ID: it.ID, From: signs.bare(it.From), To: recipients(it.To, signs), Subject: it.Subject,
		Priority: priority(it.Priority), Read: it.Read, Archived: l.archived(), At: stamp(it.Sent),
		Body: body(it.Message),
	}
}

// coldState returns the former state of an archived message, and whether it was owner's: its readers are the agents
// that left a mark and those that it names. The archive has no expiry, so the default ones apply.
func coldState(it mail.Item, owner mail.Name, now mail.Time) (state mail.DeliveryState, mine bool) {
	state = mail.Queued
	if i := slices.IndexFunc(it.Deliveries, func(d mail.Delivery) bool { return d.Agent == owner }); i >= 0 {
		state = it.Deliveries[i].State
	} else if !slices.ContainsFunc(it.To, func(a mail.Address) bool {
		return a == mail.AgentAddress(owner) || a == mail.Address("agent:"+owner)
	}) {
		return "", false
	}
	lives := func(a mail.Address) bool {
		return !policy.Past(policy.TTL{}.Expiry(it.Sent, it.TTLSeconds, a, nil), now)
	}
	if state != mail.Read && state != mail.Archived && !slices.ContainsFunc(it.To, lives) {
		return mail.Expired, true
	}
	return state, true
}

func priority(p mail.Priority) string {
	if p == mail.Urgent {
		return string(mail.Urgent)
	}
	return "normal"
}

// recipients writes addresses in this protocol's form: identities bare. Mail of other dialects may have several
// recipients, or a role.
func recipients(to []mail.Address, signs signer) string {
	return wording.Join(to, ", ", func(a mail.Address) string { return string(signs.bare(a)) })
}

// body returns a message's text, followed by the reply and documents of other dialects: the document puts references
// to messages and files in the body too.
func body(m mail.Message) string {
	var b strings.Builder
	b.WriteString(m.Body)
	lead := "\n\n"
	if m.Body == "" {
		lead = ""
	}
	if m.ReplyTo != "" {
		fmt.Fprintf(&b, "%sIn reply to %s", lead, m.ReplyTo)
		lead = "\n"
	}
	for _, doc := range m.Docs {
		fmt.Fprintf(&b, "%sDocument: %s", lead, doc.Path)
		lead = "\n"
	}
	return b.String()
}
