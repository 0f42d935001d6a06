package inbox

import (
	"cmp"
	"html/template"
	"slices"

	"pennypost/internal/mail"
	"pennypost/internal/mail/triage"
	"pennypost/internal/office/web/page"
	"pennypost/internal/office/web/undo"
	"pennypost/internal/office/web/words"
)

// letter is a message in full, with all that belongs to it.
type letter struct {
	page.Post
	Sender     *mail.Agent     // as the roster has it now; nil if it is not there
	Workspace  *mail.Workspace // in which the sender works, if that is known
	Docs       []document      // instead of their names in Item
	Options    []mail.Option   // of a question that offers answers
	Answers    []page.Post     // the user's, with what became of them
	Before     []page.Post     // what else was said in the conversation, earlier
	After      []page.Post     // and later
	Messages   int             // in the conversation
	All        string          // what of it the user has beside this message, as forms name it: see messageLines
	Pending    *undo.Answer    // is on its way
	TakeBack   string          // the key to take that back; "": it is too late
	Unsent     *undo.Answer    // could not be sent
	Recipients []mail.Address  // whom an answer is for; none if nobody can be answered
}

// nearby is how many messages of a conversation stand with a letter; the whole is a page of its own.
const nearby = 20

// showLetter is the letter as it is now. It is how an open letter is kept true, so it marks nothing.
func showLetter(v *page.View) error {
	id := mail.ID(v.R.URL.Query().Get("m"))
	if !v.Scripted() {
		return v.Redirect(page.LetterPath(id))
	}
	l, err := letterOf(v, id)
	if mail.CodeOf(err) == mail.NotFound {
		return v.Part("inbox", "letter-gone", v)
	} else if err != nil {
		return err
	}
	return v.Part("inbox", "letter", l)
}

// opened marks the letter that the page has opened read, and what else of the conversation stood with it, and answers
// with the letter as it is then. To open is to read, and nothing else is; and to open is what a person does: whatever
// looks ahead gets pages, and runs none.
func opened(v *page.View) error {
	list, err := chosen(v)
	if err != nil {
		return err
	}
	ids := make([]mail.ID, len(list))
	for i, f := range list {
		ids[i] = f.ID
	}
	_, err = v.Svc.Mark(v.Ctx(), mail.Marking{IDs: ids, Mark: mail.MarkRead})
	// retention has taken it to the archive, where nothing is marked
	if err != nil && mail.CodeOf(err) != mail.NotFound {
		return err
	}
	l, err := letterOf(v, ids[0])
	if err != nil {
		return err
	}
	return v.Part("inbox", "letter", l)
}

// letterOf gathers a message and what belongs to it.
func letterOf(v *page.View, id mail.ID) (*letter, error) {
	if v.Hides(id) {
		return nil, mail.Errorf(mail.NotFound, "this message has just been deleted")
	}
	it, err := v.Svc.Message(v.Ctx(), id)
	if err != nil {
		return nil, err
	}
	l := &letter{Post: page.Post{View: v, Item: it}, Unsent: v.Site.Undo.Failed(v.Target(id))}
	l.Pending, l.TakeBack = v.Site.Undo.Answering(v.Target(id))
	if l.Recipients, err = v.Reachable(it.AnswerTo(mail.User)); err != nil {
		return nil, err
	}
	if it.Type.Asks() && len(l.Recipients) > 0 {
		l.Options = it.Metadata.Options()
	}
	if l.Workspace, err = workspaceOf(v, it.From); err != nil {
		return nil, err
	}
	l.Docs = documentsOf(v, &it.Message, l.Workspace)
	sender, ok, err := mail.OneAgent(v.Ctx(), v.Svc, it.From.Signer())
	if err != nil {
		return nil, err
	}
	if ok {
		l.Sender = &sender
	}
	return l, l.conversation()
}

// conversation gathers what belongs to the thread: the user's answers, and what else was said before and after.
func (l *letter) conversation() error {
	l.All = messageLine(l.Room, l.ID)
	got, err := l.Svc.History(l.Ctx(), mail.HistoryQuery{Thread: l.ID, Deliveries: true, Limit: mail.MaxLimit})
	if mail.CodeOf(err) == mail.NotFound { // an archived one, whose thread has gone from the room's memory
		return nil
	} else if err != nil {
		return err
	}
	items := l.Undeleted(got.Messages)
	slices.SortStableFunc(items, func(a, b mail.Item) int { return page.SpotOf(&a).Compare(page.SpotOf(&b)) })
	l.Messages = len(items)
	at := page.SpotOf(&l.Item)
	for _, it := range items {
		p := page.Post{View: l.View, Item: it}
		switch place := page.SpotOf(&it).Compare(at); {
		case it.ReplyTo == l.ID && it.From == mail.ToUser:
			l.Answers = append(l.Answers, p)
		case place < 0:
			l.Before = append(l.Before, p)
		case place > 0:
			l.After = append(l.After, p)
		}
		if it.ID != l.ID && it.State != "" && l.sameShelf(&it) {
			l.All += "\n" + messageLine(l.Room, it.ID)
		}
	}
	l.Before = l.Before[max(0, len(l.Before)-nearby):]
	l.After = l.After[:min(nearby, len(l.After))]
	return l.followUp()
}

// sameShelf reports whether it stands in the part of the mailbox in which the letter is.
func (l *letter) sameShelf(it *mail.Item) bool {
	return (it.State == mail.Archived) == l.Archived() && (it.Snoozed != 0) == (l.Snoozed != 0)
}

// Opens names what is read when the letter is opened: it, and what of the conversation stands with it unread.
func (l *letter) Opens() string {
	lines := messageLine(l.Room, l.ID)
	for _, list := range [][]page.Post{l.Before, l.After} {
		for _, p := range list {
			if p.Unopened() {
				lines += "\n" + messageLine(l.Room, p.ID)
			}
		}
	}
	return lines
}

// lately is how many earlier letters are shown in a line each.
const lately = 3

// Lately are the last of what was said before.
func (l *letter) Lately() []page.Post { return l.Before[max(0, len(l.Before)-lately):] }

// Began is when the first of what was said before was sent.
func (l *letter) Began() mail.Time { return l.Before[0].Sent }

// EarlierFresh reports whether something stands before the letter that was not read.
func (l *letter) EarlierFresh() bool { return slices.ContainsFunc(l.Before, page.Post.Unopened) }

// followUp says what became of the user's answers.
func (l *letter) followUp() error {
	if len(l.Answers) == 0 {
		return nil
	}
	items := make([]mail.Item, len(l.Answers))
	for i := range l.Answers {
		items[i] = l.Answers[i].Item
	}
	receipts, err := l.Receipts(items)
	for i := range l.Answers {
		l.Answers[i].Notes = l.DeliveryNotes(&items[i], receipts[items[i].ID])
	}
	return err
}

// Heading is the label of the workspace, or what the letter is about.
func (l *letter) Heading() string { return cmp.Or(label(&l.Message), l.Post.Heading()) }

// ReplyType is the type of what the person answers.
func (l *letter) ReplyType() mail.Type { return l.AnswerType(mail.User) }

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

// Mine reports whether the message is in the user's mailbox, so that the user can mark it.
func (l *letter) Mine() bool { return l.State != "" || triage.ToUser(&l.Message) }

// Archived reports whether the user has put it away.
func (l *letter) Archived() bool { return l.State == mail.Archived }

// LaterFresh reports whether something stands behind the letter that was to the user: what agents said to each other
// is folded.
func (l *letter) LaterFresh() bool {
	return slices.ContainsFunc(l.After, func(p page.Post) bool { return p.State != "" })
}

// Fresh reports whether opening it marks anything read.
func (l *letter) Fresh() bool {
	return !l.Read && l.Mine() || slices.ContainsFunc(slices.Concat(l.Before, l.After), page.Post.Unopened)
}

// Words are the text of a suggestion, which may stand on the page a second time, as a letter.
func (l *letter) Words(s mail.Suggestion) template.HTML {
	return words.Markdown(s.Body, "suggested-"+s.ID)
}

// InFocus reports whether questions are shown one by one: there is no other button then.
func (l *letter) InFocus() bool { return l.R.URL.Query().Has("focus") }

// Newest reports whether a suggestion is the last.
func (l *letter) Newest(i int) bool { return i == len(l.Suggestions)-1 }

// Self is where the letter is to be had again.
func (l *letter) Self() string { return page.Query(l.Base+"/letter", "m", string(l.ID)) }

// Here is where a browser without script comes back to.
func (l *letter) Here() string { return page.LetterPath(l.ID) }

// Others are the deliveries to recipients other than the user, in words.
func (l *letter) Others() []words.Note {
	others := slices.DeleteFunc(slices.Clone(l.Deliveries), func(d mail.Delivery) bool { return d.Agent == mail.User })
	return words.Notes(l.Now, others)
}

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
	return page.Resume(l.Sender, dir)
}
