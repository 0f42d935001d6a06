package web

import (
	"fmt"
	"net/url"

	"pennypost/internal/mail"
)

// row is a message in a list.
type row struct {
	*view
	mail.Item
	Href string
}

// Heading is the subject, or what serves as one.
func (r row) Heading() string { return subject(&r.Message) }

// post is a message in a conversation: an agent's page, a channel, a thread.
type post struct {
	*view
	mail.Item
	Reply       string         // where an answer to it is written; "": not here
	ManyReaders bool           // it is for so many that they are only counted
	Notes       []deliveryNote // what happened to it, one thing after the other; none: Deliveries say how it stands
}

// ThreadHref is the address of the conversation, at this message.
func (p post) ThreadHref() string {
	return p.Base + "/t/" + url.PathEscape(string(p.ThreadRoot())) + "#m-" + string(p.ID)
}

// Mine reports whether the user wrote it.
func (p post) Mine() bool { return p.From == mail.ToUser }

// subject returns what a message is about: its subject, else its first line.
func subject(m *mail.Message) string {
	if m.Subject != "" {
		return m.Subject
	}
	if line := told(m); line != "" {
		return line
	}
	return "(" + string(m.Type) + ")"
}

// told returns the first line of a message, or else the first document that it names.
func told(m *mail.Message) string {
	line := firstLine(m.Body)
	if line != "" || len(m.Docs) == 0 {
		return line
	}
	if n := len(m.Docs) - 1; n > 0 {
		return fmt.Sprintf("%s · +%d more", m.Docs[0].Path, n)
	}
	return m.Docs[0].Path
}

// Heading is the subject, or what serves as one.
func (p post) Heading() string { return subject(&p.Message) }

// box is a form to write in, below a message or a conversation.
type box struct {
	*view
	To      string   // an address, or several with commas between
	Also    []string // more addresses, each as it is
	ReplyTo mail.ID  // what is answered, if anything is
	Kind    string   // the type of what is sent; "": custom
	Label   string
	Answers string // what is answered, in words
	Plain   string // where the box is that answers nothing
	Next    string // where a browser without script goes on: a path in the room
}

// Field is the id of what one writes in. Where what is answered can change below the writing, the id does not.
func (b box) Field() string {
	if b.Plain != "" {
		return "box"
	}
	return "box-" + string(b.ReplyTo)
}
