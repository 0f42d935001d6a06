package web

import "pennypost/internal/mail"

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
