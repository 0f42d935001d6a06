package page

import (
	"pennypost/internal/mail"
	"pennypost/internal/office/web/words"
)

// Box is a form for writing, below a message or a conversation.
type Box struct {
	*View
	To      string   // an address, or several separated by commas
	Also    []string // more addresses, one each
	ReplyTo mail.ID  // the message it answers, if any
	Kind    string   // the message type; "": custom
	Label   string
	Answers string // describes the message it answers
	Plain   string // the address of the same box without a message to answer
	Next    string // the path in the room where a browser without script continues
}

// Field is the id of the text field. Where the answered message can change while the person types, the id stays the
// same.
func (b Box) Field() string {
	if b.Plain != "" {
		return "box"
	}
	return "box-" + string(b.ReplyTo)
}

// Answering makes b an answer to a message; nil if no one can be answered. An answer to the post office goes to the
// orchestrator.
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
