package web

import (
	"net/url"
	"slices"

	"pennypost/internal/mail"
)

// letter is a message in full, with all that belongs to it.
type letter struct {
	*view
	mail.Item
	Sender     *mail.Agent     // as the roster has it now; nil if it is not there
	Workspace  *mail.Workspace // in which the sender works, if that is known
	Docs       []document      // instead of their names in Item
	Options    []option        // of a question that offers answers
	Answers    []post          // the user's, with what became of them
	Messages   int             // in the conversation
	Recipients []mail.Address  // whom an answer is for; none if nobody can be answered
}

// showLetter is the letter as it is now. It is how an open letter is kept true, so it marks nothing.
func showLetter(v *view) error {
	id := mail.ID(v.r.URL.Query().Get("m"))
	if !v.scripted() {
		return v.redirect(letterPath(id))
	}
	l, err := v.letter(id)
	if mail.CodeOf(err) == mail.NotFound {
		return v.part("inbox", "letter-gone", v)
	} else if err != nil {
		return err
	}
	return v.part("inbox", "letter", l)
}

// opened marks the letter that the page has opened read, and answers with the letter as it is then. To open is to
// read, and nothing else is; and to open is what a person does: whatever looks ahead gets pages, and runs none.
func opened(v *view) error {
	id, err := v.named()
	if err != nil {
		return err
	}
	_, err = v.svc.Mark(v.ctx(), mail.Marking{IDs: []mail.ID{id}, Mark: mail.MarkRead})
	// retention has taken it to the archive, where nothing is marked
	if err != nil && mail.CodeOf(err) != mail.NotFound {
		return err
	}
	l, err := v.letter(id)
	if err != nil {
		return err
	}
	return v.part("inbox", "letter", l)
}

// letter gathers a message and what belongs to it.
func (v *view) letter(id mail.ID) (*letter, error) {
	if v.hides(id) {
		return nil, mail.Errorf(mail.NotFound, "this message has just been deleted")
	}
	it, err := v.svc.Message(v.ctx(), id)
	if err != nil {
		return nil, err
	}
	l := &letter{view: v, Item: it, Recipients: answerable(&it.Message)}
	if it.Type.Asks() {
		l.Options = options(it.Metadata)
	}
	if l.Workspace, err = v.workspace(it.From); err != nil {
		return nil, err
	}
	l.Docs = v.documents(&it.Message, l.Workspace)
	sender, ok, err := mail.OneAgent(v.ctx(), v.svc, it.From.Signer())
	if err != nil {
		return nil, err
	}
	if ok {
		l.Sender = &sender
	}
	return l, l.conversation()
}

// conversation counts what belongs to the thread, and finds the user's answers in it.
func (l *letter) conversation() error {
	page, err := l.svc.History(l.ctx(), mail.HistoryQuery{Thread: l.ID, Deliveries: true, Limit: mail.MaxLimit})
	if mail.CodeOf(err) == mail.NotFound { // an archived one, whose thread has gone from the room's memory
		return nil
	} else if err != nil {
		return err
	}
	l.Messages = len(page.Messages)
	for _, it := range page.Messages {
		if it.ReplyTo == l.ID && it.From == mail.ToUser {
			l.Answers = append(l.Answers, post{view: l.view, Item: it})
		}
	}
	return l.followUp()
}

// followUp says what became of the user's answers.
func (l *letter) followUp() error {
	if len(l.Answers) == 0 {
		return nil
	}
	items := make([]mail.Item, len(l.Answers))
	for i := range l.Answers {
		items[i] = l.Answers[i].Item
	}
	receipts, err := l.receipts(items)
	for i := range l.Answers {
		l.Answers[i].Notes = l.deliveryNotes(&items[i], receipts[items[i].ID], named)
	}
	return err
}

// answerable returns whom an answer to m is for: its sender, or, if that is the user, those to whom they wrote.
func answerable(m *mail.Message) []mail.Address {
	switch {
	case m.From == mail.ToUser:
		return slices.DeleteFunc(slices.Clone(m.To), func(a mail.Address) bool { return a == mail.ToUser })
	case m.From.Signer() == mail.System:
		return nil
	}
	return []mail.Address{m.From}
}

// replyType returns the type of what the user answers to m.
func replyType(m *mail.Message) mail.Type {
	if m.Type.Asks() && m.From != mail.ToUser {
		return mail.Answer
	}
	return mail.Custom
}

// ReplyType is the type of what the person answers.
func (l *letter) ReplyType() mail.Type { return replyType(&l.Message) }

// ReplyLabel says what writing below the letter is.
func (l *letter) ReplyLabel() string {
	switch {
	case l.From == mail.ToUser:
		return "Write again to"
	case l.ReplyType() != mail.Custom:
		return "Answer"
	}
	return "Reply to"
}

// Heading is the subject, or what serves as one.
func (l *letter) Heading() string { return subject(&l.Message) }

// Mine reports whether the message is in the user's mailbox, so that the user can mark it.
func (l *letter) Mine() bool { return l.State != "" || toUser(&l.Message) }

// Archived reports whether the user has put it away.
func (l *letter) Archived() bool { return l.State == mail.Archived }

// Fresh reports whether opening it marks it read.
func (l *letter) Fresh() bool { return !l.Read && l.Mine() }

// Asks reports whether it is a question to the user that waits for an answer.
func (l *letter) Asks() bool {
	return l.Open && toUser(&l.Message)
}

// Self is where the letter is to be had again.
func (l *letter) Self() string { return l.Base + "/letter?" + url.Values{"m": {string(l.ID)}}.Encode() }

// Here is where a browser without script comes back to.
func (l *letter) Here() string { return letterPath(l.ID) }

// letterPath is where a message is shown in full.
func letterPath(id mail.ID) string { return "/?" + url.Values{"m": {string(id)}}.Encode() }

// LetterHref is the address of a message in full, with its documents.
func (v *view) LetterHref(id mail.ID) string { return v.Base + letterPath(id) }

// ThreadHref is the address of the conversation.
func (l *letter) ThreadHref() string { return post{view: l.view, Item: l.Item}.ThreadHref() }

// AgentHref is the address of the sender's page.
func (l *letter) AgentHref() string { return l.Base + "/agents/" + url.PathEscape(who(l.From)) }

// Others are the deliveries to recipients other than the user, in words.
func (l *letter) Others() []deliveryNote {
	others := slices.DeleteFunc(slices.Clone(l.Deliveries), func(d mail.Delivery) bool { return d.Agent == mail.User })
	return deliveryNotesOf(l.Now, others)
}

// Due says when a message that was put off comes back.
func (l *letter) Due() string { return moment(l.Now, l.Snoozed) }

// Live reports whether the sender's session runs.
func (l *letter) Live() bool { return l.Sender != nil && l.Sender.State.Live() }

// Resume is the command that opens the sender's session, if it has one.
func (l *letter) Resume() string {
	if l.Sender == nil {
		return ""
	}
	dir := ""
	if l.Workspace != nil {
		dir = l.Workspace.Dir
	}
	return resume(l.Sender, dir)
}
