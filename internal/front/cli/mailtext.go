package cli

import (
	"cmp"
	"fmt"
	"strings"

	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
)

// HeadlineWidth is how much of a body replaces a missing subject, in columns.
const HeadlineWidth = 72

// Heading is the subject of a message, the beginning of its body, or the documents that it names.
func Heading(it *mail.Item) string {
	if it.Subject != "" {
		return OneLine(it.Subject)
	}
	words := strings.Fields(wording.Beginning(it.Body, 8*HeadlineWidth)) // no character takes more than 4 bytes
	return Shorten(OneLine(cmp.Or(strings.Join(words, " "), it.DocNames())), HeadlineWidth)
}

// Sender shows who sent a message, the name cut to a width, and whether that is in doubt: a bridge has only a file's
// word for it, and a guest is from outside.
func Sender(m *mail.Message, width int) string {
	name := Shorten(Signer(m.From), width)
	if m.Doubt() != "" {
		name += " (" + m.Doubt() + ")"
	}
	return name
}

// Signer shows a sender's address in a person's form.
func Signer(a mail.Address) string { return OneLine(string(a.Signer())) }

// Addressees shows a message's recipients.
func Addressees(to []mail.Address) string {
	return Joined(to, ", ")
}

// Joined shows names, with a separator.
func Joined[S ~string](names []S, between string) string {
	words := make([]string, len(names))
	for i, n := range names {
		words[i] = OneLine(string(n))
	}
	return strings.Join(words, between)
}

// ShowDelivery prints a message's recipients, its deliveries, and the metadata not shown elsewhere.
func (a *App) ShowDelivery(it *mail.Item, metadata mail.Metadata) {
	p := a.Out
	p.Field("to", Addressees(it.To))
	if it.Expires != 0 && !it.Read {
		p.Field("expires", p.left(it.Expires))
	}
	if len(metadata) > 0 {
		data := wording.Clip(OneLine(string(metadata)), maxData)
		if len(metadata) > maxData {
			data += fmt.Sprintf(" [cut: %d bytes; --json has all]", len(metadata))
		}
		p.Field("data", data)
	}
	for _, d := range it.Deliveries {
		row := DeliveryRow(p, d)
		p.Field("state", strings.TrimSpace(row[0])+": "+strings.TrimSuffix(strings.Join(row[1:], ", "), ", "))
	}
}

// maxData limits the bytes of metadata shown to a person. Metadata from files may be 1 MiB.
const maxData = 4000

// DeliveryRow shows the state of a message's delivery to a recipient.
func DeliveryRow(p *Printer, d mail.Delivery) []string {
	who := string(d.Agent)
	switch {
	case who == "":
		who = string(d.Address)
	case string(d.Address) != "agent:"+who && string(d.Address) != who:
		who += " (" + string(d.Address) + ")"
	}
	return []string{"  " + OneLine(who), d.State.Word(), OneLine(d.Awaits())}
}
