package web

import (
	"net/url"

	"pennypost/internal/mail"
	"pennypost/internal/office/web/words"
)

// row is a message in a list.
type row struct {
	*view
	mail.Item
	Href string
}

// Heading is the subject, or what serves as one.
func (r row) Heading() string { return words.Subject(&r.Message) }

// post is a message in a conversation: an agent's page, a channel, a thread.
type post struct {
	*view
	mail.Item
	Reply       string       // where an answer to it is written; "": not here
	ManyReaders bool         // it is for so many that they are only counted
	Notes       []words.Note // what happened to it, one thing after the other; none: Deliveries say how it stands
}

// ThreadHref is the address of the conversation, at this message.
func (p post) ThreadHref() string {
	return p.Base + "/t/" + url.PathEscape(string(p.ThreadRoot())) + "#m-" + string(p.ID)
}

// Mine reports whether the user wrote it.
func (p post) Mine() bool { return p.From == mail.ToUser }

// Heading is the subject, or what serves as one.
func (p post) Heading() string { return words.Subject(&p.Message) }

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
