package cli

import (
	"cmp"
	"fmt"
	"strings"

	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
)

// HeadlineWidth is how much of a body stands for a subject, in columns.
const HeadlineWidth = 72

// Heading is the subject of a message, the beginning of its body, or the documents that it names.
func Heading(it *mail.Item) string {
	if it.Subject != "" {
		return OneLine(it.Subject)
	}
	words := strings.Fields(wording.Beginning(it.Body, 8*HeadlineWidth)) // no character takes more than 4 bytes
	return Shorten(OneLine(cmp.Or(strings.Join(words, " "), it.DocNames())), HeadlineWidth)
}

// Sender shows who sent a message, the name cut to a width, and whether anybody has proven that: of what came over a
// bridge a file says so.
func Sender(m *mail.Message, width int) string {
	name := Shorten(Signer(m.From), width)
	if m.Via != "" {
		name += " (" + mail.Unproven(m.Via) + ")"
	}
	return name
}

// Signer shows an address that signs as a person would say it.
func Signer(a mail.Address) string { return OneLine(string(a.Signer())) }

// Addressees shows whom a message is for.
func Addressees(to []mail.Address) string {
	return Joined(to, ", ")
}

// Joined shows names, with something between them.
func Joined[S ~string](names []S, between string) string {
	words := make([]string, len(names))
	for i, n := range names {
		words[i] = OneLine(string(n))
	}
	return strings.Join(words, between)
}

// ShowDelivery prints whom a message is for, what became of it, and what of its metadata is not shown otherwise.
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

// maxData is how many bytes of metadata a person is shown. What came out of files may be 1 MiB.
const maxData = 4000

// DeliveryRow says where a message stands with a recipient.
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
