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

// stamp is a time as the document writes it: RFC 3339 in UTC and whole seconds.
type stamp mail.Time

// MarshalText implements encoding.TextMarshaler.
func (s stamp) MarshalText() ([]byte, error) {
	return mail.Time(s).Std().Truncate(time.Second).AppendFormat(nil, time.RFC3339), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *stamp) UnmarshalText(b []byte) error { return (*mail.Time)(s).UnmarshalText(b) }

// sent answers send_agent_message.
type sent struct {
	ID        mail.ID   `json:"msg_id"`
	To        mail.Name `json:"to"`
	From      mail.Name `json:"from"`
	Subject   string    `json:"subject"`
	Delivered bool      `json:"delivered"` // always true: what is not delivered is an error
	At        stamp     `json:"timestamp"`
}

// listing answers check_agent_mailbox.
type listing struct {
	Unread   int     `json:"unread"`
	Total    int     `json:"total"`
	Messages []entry `json:"messages"`
	// More is how many messages that were asked for are not among them, and Note how to see those, and bodies that
	// were cut, whole.
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
	// Body is missing in the document's example. But no tool of it returns one message, so without it nobody could
	// read mail.
	Body string `json:"body"`
}

// marked answers mark_message, and archived archive_message. The document does not show their answers.
type marked struct {
	ID   mail.ID `json:"msg_id"`
	Read bool    `json:"read"`
}

type archived struct {
	ID       mail.ID `json:"msg_id"`
	Archived bool    `json:"archived"`
}

// presence answers agent_heartbeat.
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

// letter is a message in a mailbox. Its State and Read are as they are there.
type letter struct {
	mail.Item
	fresh bool // it is not known yet that the text reached the owner
}

// letterOf shows a message of a history as it stands in owner's mailbox; ok is false if it was never delivered there.
func letterOf(it mail.Item, owner mail.Name, now mail.Time) (l letter, ok bool) {
	fresh := it.State == mail.Queued || it.State == mail.Notified
	if it.State == "" {
		if it.State, ok = coldState(it, owner, now); !ok {
			return letter{}, false
		}
		it.Read = it.State == mail.Read || it.State == mail.Archived // the archive does not tell them apart
	}
	return letter{it, fresh}, true
}

// archived reports whether the mailbox shows it only if archived mail is asked for.
func (l *letter) archived() bool { return l.State == mail.Archived || l.State == mail.Expired }

func (l *letter) unread() bool { return !l.Read && !l.archived() }

// entryOf shows a letter, or what an answer holds of it.
func entryOf(it *mail.Item, signs signer) entry {
	l := letter{Item: *it}
	return entry{
		ID: it.ID, From: signs.bare(it.From), To: recipients(it.To, signs), Subject: it.Subject,
		Priority: priority(it.Priority), Read: it.Read, Archived: l.archived(), At: stamp(it.Sent),
		Body: body(it.Message),
	}
}

// coldState returns the state that a message of the archive had: whoever left a mark was its reader, and whom it
// names. The archive knows no expiry, so the usual ones are taken.
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

// recipients writes addresses as this protocol would: identities bare. Mail of other dialects may have several, or be
// for a role.
func recipients(to []mail.Address, signs signer) string {
	return wording.Join(to, ", ", func(a mail.Address) string { return string(signs.bare(a)) })
}

// body is a message's text. What other dialects keep beside it is named at its end, which is where the document has
// its people name the message that they answer, and files.
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
