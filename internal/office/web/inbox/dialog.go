package inbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
	"pennypost/internal/mail/triage"
	"pennypost/internal/office/web/page"
	"pennypost/internal/office/web/words"
)

// dialogCard is a dialog of an agent's client, in the list or in full. Its view is of the room in which the agent is.
type dialogCard struct {
	*page.View
	mail.Card
	Href      string
	Open      bool     // it is what the page shows in full
	Elsewhere bool     // the list is of several rooms
	Whole     bool     // all of what is asked goes with it; not: the page has it
	Mark      string   // of what is asked, as the page has it
	Else      bool     // the page has shown something else under the same id
	After     mail.Seq // the room's journal when the person first saw it: how it ends comes behind that
}

// cards makes rows of the dialogs that the list is about. They are no mail: nothing is done with them but answered.
func (p *inboxPage) cards() {
	if p.Shelf != "" && p.Shelf != "unread" {
		return
	}
	for _, c := range p.Cards() {
		if !p.All && c.Room != p.Room || p.Workspace != "" && c.Agent != p.Workspace {
			continue
		}
		in := p.In(c.Room, nil)
		p.Asked = append(p.Asked, dialogCard{View: in, Card: c, Elsewhere: p.All && len(p.Rooms) > 1,
			Href: in.Base + p.path("d", string(c.ID)), Open: p.Dialog != nil && p.Dialog.ID == c.ID})
	}
	p.Waiting += len(p.Asked)
	p.Total += len(p.Asked)
}

// cardOf returns a dialog with all that it asks or, if it is not open any more, what became of it.
func cardOf(v *page.View, id mail.ID) (*dialogCard, *dialogEnd, error) {
	list, err := v.Site.Office.Dialogs(v.Ctx(), mail.DialogQuery{ID: id})
	i := slices.IndexFunc(list.Cards, func(c mail.Card) bool { return c.ID == id })
	switch {
	case i < 0 && err != nil:
		return nil, nil, err
	case i < 0:
		end, err := endOf(v, id)
		return nil, end, err
	}
	c := &dialogCard{Card: list.Cards[i], Whole: true, Open: true, Mark: markOf(&list.Cards[i])}
	if c.View, err = v.Other(c.Card.Room); err != nil {
		return nil, nil, err
	}
	c.After, err = seen(c.View)
	return c, nil, err
}

// markOf tells what a dialog asks from whatever else it may ask: by its sum, and by what there is to be shown, which
// may come later than the sum.
func markOf(c *mail.Card) string {
	ask := c.Ask
	ask.Offers = nil // they are always as they are now
	text, _ := json.Marshal([]any{c.Tool, ask})
	hash := sha256.Sum256(text)
	return c.Sum + "-" + hex.EncodeToString(hash[:8])
}

// changed compares the dialog with what the page has of it. The answers that go to the page are to what it shows:
// what is asked goes along unless it has just that.
func (c *dialogCard) changed(shown string, before bool) {
	c.Whole = shown != c.Mark
	sum, _, _ := strings.Cut(shown, "-")
	c.Else = before || shown != "" && sum != c.Sum
}

// seen is where a room's journal was when the person first saw a dialog: the address says so, once it is known.
func seen(v *page.View) (mail.Seq, error) {
	st, err := v.Svc.Status(v.Ctx())
	if n, bad := strconv.ParseUint(v.R.URL.Query().Get("after"), 10, 63); bad == nil && mail.Seq(n) <= st.Seq {
		return mail.Seq(n), err
	}
	return st.Seq, err
}

// showDialog is the dialog as it is now. It is how an open one is kept true.
func showDialog(v *page.View) error {
	id := mail.ID(v.R.URL.Query().Get("d"))
	if !v.Scripted() {
		return v.Redirect(page.CardPath(id))
	}
	c, end, err := cardOf(v, id)
	if err != nil {
		return err
	}
	shown := v.R.URL.Query().Get("shown")
	if c == nil {
		end.Mark = shown
		return v.Part("inbox", "dialog-over", end)
	}
	c.changed(shown, v.R.URL.Query().Get("else") != "")
	return v.Part("inbox", "dialog", c)
}

// Title says what is asked.
func (c dialogCard) Title() string {
	if n := len(c.Questions); n > 1 {
		return string(c.Agent) + " has " + wording.Plural(n, "question") + " for you"
	}
	return triage.DialogTitle(&c.Card)
}

// Line is that in a line.
func (c dialogCard) Line() string {
	if len(c.Questions) > 1 {
		return c.Title()
	}
	return words.DialogTitle(&c.Card)
}

// Gist is what is asked in a line.
func (c dialogCard) Gist() string { return words.DialogGist(&c.Card) }

// Verbatim reports whether the gist is a text that a machine reads.
func (c dialogCard) Verbatim() bool { return c.Kind == mail.AsksPermission && c.Card.Form != "" }

// At is since when it is open, in milliseconds.
func (c dialogCard) At() int64 { return int64(c.Since) }

// Sender is how the agent signs.
func (c dialogCard) Sender() mail.Address { return mail.AgentAddress(c.Agent) }

// Lasts says for how long it has been open.
func (c dialogCard) Lasts() string {
	long := c.Now.Sub(c.Since.Std())
	if long < time.Minute {
		return "just now"
	}
	return words.Lasting(long.Truncate(time.Minute))
}

// Project is the last part of the directory in which the client works.
func (c dialogCard) Project() string {
	if c.Dir == "" {
		return ""
	}
	if name := path.Base(c.Dir); name != string(c.Card.Room) && name != "/" && name != "." {
		return name
	}
	return ""
}

// Extent says how much the text is, and how much of it nobody would see.
func (c dialogCard) Extent() string { return triage.Extent(c.Text) }

// PlanExtent is that of the plan.
func (c dialogCard) PlanExtent() string { return triage.Extent(c.Plan) }

// PlanText is the plan, in which what nobody would see is written out.
func (c dialogCard) PlanText() string {
	text, _ := triage.Exposed(c.Plan)
	return text
}

// Choices are the answers that one press gives, in the order of their keys.
func (c dialogCard) Choices() []dialogChoice {
	if !c.Here {
		return nil
	}
	var list []dialogChoice
	for i, o := range triage.DialogChoices(&c.Card) {
		d := dialogChoice{dialogCard: c, DialogChoice: o, N: i}
		if o.Answer.Verdict == mail.SayAnswer {
			d.Option = strconv.Itoa(i)
		}
		list = append(list, d)
	}
	return list
}

// Asks are its questions, for a form.
func (c dialogCard) Asks() []dialogQuestion {
	list := make([]dialogQuestion, len(c.Questions))
	for i, q := range c.Questions {
		list[i] = dialogQuestion{dialogCard: c, AskedQuestion: q, N: i}
	}
	return list
}

// Formed reports whether an answer takes more than one press: there are several questions, or one of which several
// options or words are an answer.
func (c dialogCard) Formed() bool {
	asks, form := triage.DialogAsks(&c.Card)
	return c.Here && asks && (form || c.Questions[0].Free)
}

// FormOfWords reports whether that form is only for words: the options are pressed.
func (c dialogCard) FormOfWords() bool {
	asks, form := triage.DialogAsks(&c.Card)
	return asks && !form
}

// Thing is what an answer is about.
func (c dialogCard) Thing() string {
	switch {
	case c.Kind == mail.AsksPlan:
		return "plan"
	case c.Kind == mail.AsksQuestion:
		return "question"
	case c.Card.Form == mail.FormCommand:
		return "command"
	}
	return "use"
}

// Self is where the dialog is to be had again by a page that shows it.
func (c dialogCard) Self() string {
	was := ""
	if c.Else {
		was = "1"
	}
	return c.Base + page.Address(c.at("/dialog"), "shown", c.Mark, "else", was)
}

// Key is the key that presses the n-th answer. There is none where it would answer what came under the finger.
func (c dialogCard) Key(n int) string {
	if c.Else {
		return ""
	}
	return words.DigitKey(n)
}

// Back is where a browser without script goes on.
func (c dialogCard) Back() string { return c.at("/") }

func (c dialogCard) at(path string) string {
	return page.Address(path, "d", string(c.ID), "after", strconv.FormatUint(uint64(c.After), 10))
}

// Unsure reports whether it may be answered from here soon, or not any more, without that an event tells of it.
func (c dialogCard) Unsure() bool { return len(c.Offers) > 0 && !c.Here }

// dialogChoice is an answer that one press gives.
type dialogChoice struct {
	dialogCard
	triage.DialogChoice
	N      int
	Option string // the number of the option of the one question; "": it is none
}

// Button is what presses an answer with words.
func (d dialogChoice) Button() string {
	switch d.Kind {
	case mail.AsksPlan:
		return "Send it back"
	case mail.AsksQuestion:
		return "Do not answer"
	}
	return "Deny"
}

// dialogQuestion is a question of a form.
type dialogQuestion struct {
	dialogCard
	mail.AskedQuestion
	N int
}

// dialogEnd is what became of a dialog.
type dialogEnd struct {
	*page.View
	ID   mail.ID
	Mark string             // of what the page has
	How  *mail.DialogChange // nil: that is not known any more
	Next *mail.Card         // the one that has waited longest now
}

// mostEnds is how many events are looked through for the end of a dialog, and endTime how long: the page is not told
// again, so a machine that is busy has time.
const (
	mostEnds = 20_000
	endTime  = 5 * time.Second
)

// endOf finds how a dialog ended that is not open, behind the place in the journal that the address names.
func endOf(v *page.View, id mail.ID) (*dialogEnd, error) {
	e := &dialogEnd{View: v, ID: id}
	if list := v.Cards(); len(list) > 0 {
		e.Next = &list[0]
	}
	st, err := v.Svc.Status(v.Ctx())
	if err != nil {
		return nil, err
	}
	n, bad := strconv.ParseUint(v.R.URL.Query().Get("after"), 10, 63)
	if after := mail.Seq(n); bad == nil && after < st.Seq && st.Seq-after <= mostEnds {
		e.How, err = ended(v, id, after, st.Seq)
	}
	return e, err
}

func ended(v *page.View, id mail.ID, after, last mail.Seq) (*mail.DialogChange, error) {
	w, err := v.Svc.Watch(v.Ctx(), after)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	ctx, cancel := context.WithTimeout(v.Ctx(), endTime)
	defer cancel()
	for at := after; at < last; {
		events, err := w.Next(ctx)
		if err != nil {
			return nil, v.Ctx().Err() // compaction has taken the rest
		}
		for i := range events {
			if d := events[i].Dialog; d != nil && d.ID == id && d.Outcome != "" {
				return d, nil
			}
		}
		at = events[len(events)-1].Seq
	}
	return nil, nil
}

// Heading says how it ended, and by whom.
func (e *dialogEnd) Heading() string {
	if e.How == nil {
		return "This dialog is not open any more"
	}
	how := map[mail.DialogOutcome]string{mail.DialogAllowed: "allowed", mail.DialogDenied: "denied",
		mail.DialogAnswered: "answered"}[e.How.Outcome]
	switch {
	case how == "":
		return "This dialog is over"
	case e.How.By == mail.User:
		return "You have " + how + " it" + whence[e.How.Where]
	}
	return "It was " + how + whence[e.How.Where]
}

// whence says where a dialog was answered.
var whence = map[string]string{
	mail.AtClient: " in its terminal", string(mail.ByPages): " here", string(mail.ByPhone): " on your phone",
	string(mail.ByTerminal): " in a terminal",
}

// About says more.
func (e *dialogEnd) About() string {
	switch {
	case e.How == nil:
		return "It was answered, or its agent has gone. The post office does not keep what it asked."
	case e.How.Outcome == mail.DialogEnded:
		return string(e.How.Agent) + " has gone on or has ended, and nothing tells how it was answered. The " +
			"post office does not keep what it asked."
	case e.How.Outcome == mail.DialogDenied:
		return string(e.How.Agent) + " has been told. The post office does not keep what it asked."
	}
	return string(e.How.Agent) + " goes on. The post office does not keep what it asked."
}
