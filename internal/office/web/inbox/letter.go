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

// letter is a message in full, with its context.
type letter struct {
	page.Post
	Sender     *mail.Agent     // from the current roster; nil if not on it
	Workspace  *mail.Workspace // the sender's workspace, if known
	Docs       []document      // instead of their names in Item
	Options    []mail.Option   // the answers that a question offers
	Answers    []page.Post     // the user's, with their deliveries
	Before     []page.Post     // earlier messages of the conversation
	After      []page.Post     // later ones
	Messages   int             // in the conversation
	All        string          // the user's messages of the conversation, as forms name them: see messageLines
	Pending    *undo.Answer    // being sent
	TakeBack   string          // the key to undo that; "": it is too late
	Unsent     *undo.Answer    // failed to send
	Recipients []mail.Address  // recipients of an answer; none if no one can be answered
}

// nearby is how many earlier and later messages are shown with a letter. The whole conversation has its own page.
const nearby = 20

// showLetter renders the current letter, to refresh an open one, so it marks nothing.
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

// opened marks the opened letter read, with the unread messages shown beside it, and renders it again. Only opening a
// letter reads it, and only a person opens one: a prefetcher loads pages but runs no script.
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
	// retention moved it to the archive, where nothing can be marked
	if err != nil && mail.CodeOf(err) != mail.NotFound {
		return err
	}
	l, err := letterOf(v, ids[0])
	if err != nil {
		return err
	}
	return v.Part("inbox", "letter", l)
}

// letterOf loads a message and its context.
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

// conversation loads the thread: the user's answers, and the messages before and after.
func (l *letter) conversation() error {
	l.All = messageLine(l.Room, l.ID)
	got, err := l.Svc.History(l.Ctx(), mail.HistoryQuery{Thread: l.ID, Deliveries: true, Limit: mail.MaxLimit})
	if mail.CodeOf(err) == mail.NotFound { // an archived message whose thread is no longer in memory
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

// sameShelf reports whether a message is in the letter's part of the mailbox.
func (l *letter) sameShelf(it *mail.Item) bool {
	return (it.State == mail.Archived) == l.Archived() && (it.Snoozed != 0) == (l.Snoozed != 0)
}

// Opens names the messages read when the letter is opened: itself and the unread ones shown with it.
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

// lately is how many earlier messages are shown on one line each.
const lately = 3

// Lately are the latest of the earlier messages.
func (l *letter) Lately() []page.Post { return l.Before[max(0, len(l.Before)-lately):] }

// Began is when the first earlier message was sent.
func (l *letter) Began() mail.Time { return l.Before[0].Sent }

// EarlierFresh reports whether an earlier message is unread.
func (l *letter) EarlierFresh() bool { return slices.ContainsFunc(l.Before, page.Post.Unopened) }

// followUp adds the deliveries of the user's answers.
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

// Heading is the workspace's label, or the subject.
func (l *letter) Heading() string { return cmp.Or(label(&l.Message), l.Post.Heading()) }

// ReplyType is the type of the user's reply.
func (l *letter) ReplyType() mail.Type { return l.AnswerType(mail.User) }

// ReplyLabel labels the box below the letter.
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

// Archived reports whether the user has archived it.
func (l *letter) Archived() bool { return l.State == mail.Archived }

// LaterFresh reports whether a later message went to the user. Those between agents are folded.
func (l *letter) LaterFresh() bool {
	return slices.ContainsFunc(l.After, func(p page.Post) bool { return p.State != "" })
}

// Fresh reports whether opening it marks anything read.
func (l *letter) Fresh() bool {
	return !l.Read && l.Mine() || slices.ContainsFunc(slices.Concat(l.Before, l.After), page.Post.Unopened)
}

// Words are the text of a suggestion, which may also be on the page as a letter.
func (l *letter) Words(s mail.Suggestion) template.HTML {
	return words.Markdown(s.Body, "suggested-"+s.ID)
}

// InFocus reports whether questions are shown one by one, without other buttons.
func (l *letter) InFocus() bool { return l.R.URL.Query().Has("focus") }

// Newest reports whether a suggestion is the last.
func (l *letter) Newest(i int) bool { return i == len(l.Suggestions)-1 }

// Self is the address that refreshes the letter.
func (l *letter) Self() string { return page.Query(l.Base+"/letter", "m", string(l.ID)) }

// Here is where a browser without script returns to.
func (l *letter) Here() string { return page.LetterPath(l.ID) }

// Others are the deliveries to other recipients, in words.
func (l *letter) Others() []words.Note {
	others := slices.DeleteFunc(slices.Clone(l.Deliveries), func(d mail.Delivery) bool { return d.Agent == mail.User })
	return words.Notes(l.Now, others)
}

// Live reports whether the sender's session is running.
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
