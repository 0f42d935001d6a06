package page

import (
	"pennypost/internal/mail"
	"pennypost/internal/office/web/words"
)

// Box is a form to write in, below a message or a conversation.
type Box struct {
	*View
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
func (b Box) Field() string {
	if b.Plain != "" {
		return "box"
	}
	return "box-" + string(b.ReplyTo)
}

// Answering makes b an answer to a message; nil if nobody can be answered. What answers the post office itself goes to
// whoever leads.
func (b *Box) Answering(it *mail.Item) (*Box, error) {
	to := it.AnswerTo(mail.User)
	if it.From == mail.FromSystem && !it.Type.Asks() {
		to = []mail.Address{mail.ToOrchestrator}
	}
	to, err := b.Reachable(to)
	if err != nil || len(to) == 0 {
		return nil, err
	}
	b.ReplyTo, b.Kind = it.ID, string(it.AnswerType(mail.User))
	b.To, b.Label = string(to[0]), "Reply to "+words.Who(to[0])
	b.Also = Texts(to[1:])
	return b, nil
}
