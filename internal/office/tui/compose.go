package tui

import (
	"strings"

	"pennypost/internal/mail"
)

// compose opens a box for a new conversation.
func (m *model) compose(to mail.Name) []effect {
	room := m.composeRoom()
	if room == "" {
		return m.say("No room to write in yet.")
	}
	text := composed(mail.Draft{To: mail.Recipients{string(to)}})
	if to == "" && m.drafts[""] != "" {
		text = m.draft("")
	}
	m.box = newBox("New message in "+string(room), text, toCompose)
	m.box.room = room
	m.box.at = len("To: ") + len(cells(string(to), 0))
	return m.say("")
}

// composeHere writes a new message, to the agent under the cursor if there is one.
func (m *model) composeHere() []effect {
	if e := m.pointed(); e != nil && m.talk == nil {
		return m.compose(e.who())
	}
	return m.compose("")
}

// composeRoom is the room of a new message: that of the current item, or the one shown.
func (m *model) composeRoom() mail.RoomName {
	if q := m.about(); q != nil {
		return q.room
	}
	if e := m.pointed(); e != nil {
		return e.room
	}
	if m.room != "" {
		return m.room
	}
	for i := range m.lists {
		if len(m.lists[i].rows) > 0 {
			return m.lists[i].rows[0].Room
		}
	}
	return ""
}

// composed is a draft as text, with a head of two lines.
func composed(d mail.Draft) string {
	return "To: " + strings.Join(d.To, ", ") + "\nSubject: " + d.Subject + "\n\n" + d.Body
}

// parseComposed parses the output of composed.
func parseComposed(text string) mail.Draft {
	head, body, _ := strings.Cut(text, "\n\n")
	d := mail.Draft{Body: strings.TrimSpace(body), Type: string(mail.Custom)}
	for l := range strings.SplitSeq(head, "\n") {
		if to, ok := strings.CutPrefix(l, "To:"); ok {
			for a := range strings.SplitSeq(to, ",") {
				if a = strings.TrimSpace(a); a != "" {
					d.To = append(d.To, a)
				}
			}
		}
		if s, ok := strings.CutPrefix(l, "Subject:"); ok {
			d.Subject = strings.TrimSpace(s)
		}
	}
	return d
}

// sendComposed sends the message of a new conversation.
func (m *model) sendComposed(text string) []effect {
	d := parseComposed(text)
	switch {
	case len(d.To) == 0:
		return m.say("Enter a recipient after To:. Nothing was sent.")
	case d.Body == "":
		return m.say("Write the message below the empty line. Nothing was sent.")
	}
	room := m.box.room
	m.box = nil
	return m.send(room, "", false, d, "Sent to "+cleanLine(strings.Join(d.To, ", ")))
}
