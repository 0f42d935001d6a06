package check

import (
	"strings"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
	"pennypost/internal/room/fold"
)

// CheckImport makes the checks of a sent message, and checks that id, time, sender and addresses are in canonical
// form.
func (v *Asker) CheckImport(it *mail.Item) error {
	if _, err := mail.ParseID(string(it.ID)); err != nil {
		return err
	}
	if it.Sent <= 0 {
		return mail.Errorf(mail.Invalid, "%s has no sent time", it.ID)
	}
	t, err := mail.ParseType(string(it.Type))
	if err != nil {
		return err
	}
	it.Type = t
	d := mail.Draft{Subject: it.Subject, Body: it.Body, Issue: it.Issue, Docs: it.Docs, Metadata: it.Metadata,
		TTLSeconds: it.TTLSeconds, Audience: it.Audience, Key: it.Key, Priority: string(it.Priority)}
	for _, a := range append([]mail.Address{it.From}, it.To...) {
		canonical, bare, err := mail.ParseAddress(string(a), v.Namespaces)
		switch {
		case err != nil:
			return err
		case a == mail.FromSystem:
		case bare || canonical != a:
			return mail.Errorf(mail.Invalid,
				"%s has the address %q; use agent:NAME, role:ROLE, a tag, orchestrator, all or user", it.ID, a)
		}
	}
	for _, a := range it.To {
		if a.Kind() == mail.FromFar && !t.Asks() {
			return mail.Errorf(mail.Invalid,
				"%s is addressed to %q, which has the form of an agent of another room", it.ID, a)
		}
		d.To = append(d.To, string(a))
	}
	if strings.TrimSpace(d.Body) == "" {
		d.Body = "-" // mail sent empty elsewhere is still mail; so is a review without a verdict
	}
	return d.CheckAccepted(v.MaxBody)
}

// WeighImported gives an imported message an audience that all machines know, and finds out whether it may settle the
// question that it answers, which is in the thread of root. If that depends on where the question was asked, asked is
// that spot.
func (v *View) WeighImported(m *mail.Message) (asked fold.Spot, root mail.ID) {
	if v.isPerson(m.From.Signer()) {
		m.From = mail.ToUser // whatever the file calls them
	}
	m.Audience = v.audience(m.Audience)
	if !v.rightCounts() {
		m.Suggests = false
		return asked, ""
	}
	q := v.Records[m.ReplyTo]
	if q == nil || !q.Open() {
		return asked, ""
	}
	switch _, answers := policy.Settles(q.Msg.Type, q.Msg.ID, m); {
	case !answers:
	case m.From != mail.ToUser:
		m.Suggests = !v.MaySettle(q, m.From)
	case m.Via == "":
		m.Suggests = !v.Means.Settles()
	default:
		asked = q.Spot()
	}
	return asked, q.Msg.ThreadRoot()
}

// ImportEvents returns the events that recreate an item: the message, and the acts of its readers.
func ImportEvents(it *mail.Item, now mail.Time) []mail.Event {
	m := it.Message
	m.Same, m.Checked, m.By = "", 0, "" // the writer of the file may claim anything about the person
	events := []mail.Event{{At: now, Message: &m}}
	add := func(reader mail.Name, mark mail.Mark, at mail.Time, door string) {
		if at == 0 {
			at = now
		}
		events = append(events, mail.Event{At: at,
			Receipt: &mail.Receipt{Message: m.ID, Reader: mail.AgentAddress(reader), Mark: mark, Door: door}})
	}
	for _, d := range it.Deliveries {
		switch {
		case d.Agent == "":
		case d.State == mail.Notified && d.Door == mail.InboxDoor:
			add(d.Agent, mail.MarkNotified, d.At, d.Door)
		case d.State == mail.Presented:
			add(d.Agent, mail.MarkPresented, d.At, d.Door)
		case d.State == mail.Read:
			add(d.Agent, mail.MarkRead, d.At, "")
		case d.State == mail.Archived:
			add(d.Agent, mail.MarkRead, d.At, "")
			add(d.Agent, mail.MarkArchived, d.At, "")
		}
	}
	if st := it.Settled; st != nil { // its answer may be an item before it, or none
		events = append(events, mail.Event{At: now, Settled: &mail.Settlement{Message: m.ID, By: st.By, As: st.As,
			Answer: st.Answer, At: st.At}})
	}
	if len(it.Deliveries) == 0 && it.Read && len(m.To) == 1 && m.To[0].Kind() == mail.ToAgent {
		add(mail.Name(m.To[0].Value()), mail.MarkRead, 0, "")
	}
	return events
}
