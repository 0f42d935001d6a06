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

// dialogCard is a dialog of an agent's client, in the list or in full. Its view is that of the agent's room.
type dialogCard struct {
	*page.View
	mail.Card
	Href      string
	Open      bool     // the page shows it in full
	Elsewhere bool     // the list covers several rooms
	Whole     bool     // the response includes the whole question; false: the page has it
	Mark      string   // the version of the question, from markOf
	Else      bool     // the page showed another question under the same id
	After     mail.Seq // the room's sequence number when the person first saw it; its end comes after that
}

// cards makes rows of the dialogs in this list. They are not mail: the person can only answer them.
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

// cardOf returns an open dialog in full, or how it ended.
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

// markOf identifies the question of a dialog by its sum and by the text to show, which may arrive after the sum.
func markOf(c *mail.Card) string {
	ask := c.Ask
	ask.Offers = nil // always sent in full
	text, _ := json.Marshal([]any{c.Tool, ask})
	hash := sha256.Sum256(text)
	return c.Sum + "-" + hex.EncodeToString(hash[:8])
}

// changed compares the dialog with the version on the page. Answers must be to the question shown, so the response
// includes the question unless the page has the same one.
func (c *dialogCard) changed(shown string, before bool) {
	c.Whole = shown != c.Mark
	sum, _, _ := strings.Cut(shown, "-")
	c.Else = before || shown != "" && sum != c.Sum
}

// seen returns the room's sequence number when the person first saw a dialog, which the query carries afterwards.
func seen(v *page.View) (mail.Seq, error) {
	st, err := v.Svc.Status(v.Ctx())
	if n, bad := strconv.ParseUint(v.R.URL.Query().Get("after"), 10, 63); bad == nil && mail.Seq(n) <= st.Seq {
		return mail.Seq(n), err
	}
	return st.Seq, err
}

// showDialog renders the current dialog, to refresh an open one.
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

// Title says what the dialog asks.
func (c dialogCard) Title() string {
	if n := len(c.Questions); n > 1 {
		return string(c.Agent) + " has " + wording.Plural(n, "question") + " for you"
	}
	return triage.DialogTitle(&c.Card)
}

// Line is the title on one line.
func (c dialogCard) Line() string {
	if len(c.Questions) > 1 {
		return c.Title()
	}
	return words.DialogTitle(&c.Card)
}

// Gist is the question on one line.
func (c dialogCard) Gist() string { return words.DialogGist(&c.Card) }

// Verbatim reports whether the gist is code or data, not prose.
func (c dialogCard) Verbatim() bool { return c.Kind == mail.AsksPermission && c.Card.Form != "" }

// At is when it was opened, in milliseconds.
func (c dialogCard) At() int64 { return int64(c.Since) }

// Sender is the agent's address.
func (c dialogCard) Sender() mail.Address { return mail.AgentAddress(c.Agent) }

// Lasts says how long it has been open.
func (c dialogCard) Lasts() string {
	long := c.Now.Sub(c.Since.Std())
	if long < time.Minute {
		return "just now"
	}
	return words.Lasting(long.Truncate(time.Minute))
}

// Project is the last element of the client's working directory.
func (c dialogCard) Project() string {
	if c.Dir == "" {
		return ""
	}
	if name := path.Base(c.Dir); name != string(c.Card.Room) && name != "/" && name != "." {
		return name
	}
	return ""
}

// Extent describes the length of the text, and how much of it is invisible.
func (c dialogCard) Extent() string { return triage.Extent(c.Text) }

// PlanExtent describes the plan in the same way.
func (c dialogCard) PlanExtent() string { return triage.Extent(c.Plan) }

// PlanText is the plan with invisible characters written out.
func (c dialogCard) PlanText() string {
	text, _ := triage.Exposed(c.Plan)
	return text
}

// Choices are the one-press answers, in the order of their keys.
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

// Formed reports whether answering takes a form: there are several questions, or one that takes several options or
// words.
func (c dialogCard) Formed() bool {
	asks, form := triage.DialogAsks(&c.Card)
	return c.Here && asks && (form || c.Questions[0].Free)
}

// FormOfWords reports whether the form takes only words, and options are pressed.
func (c dialogCard) FormOfWords() bool {
	asks, form := triage.DialogAsks(&c.Card)
	return asks && !form
}

// Thing names the subject of an answer.
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

// Self is the address that refreshes the dialog.
func (c dialogCard) Self() string {
	was := ""
	if c.Else {
		was = "1"
	}
	return c.Base + page.Address(c.at("/dialog"), "shown", c.Mark, "else", was)
}

// Key is the key that presses the n-th answer; none if the question changed on the page, as the person may mean the
// old one.
func (c dialogCard) Key(n int) string {
	if c.Else {
		return ""
	}
	return words.DigitKey(n)
}

// Back is where a browser without script continues.
func (c dialogCard) Back() string { return c.at("/") }

func (c dialogCard) at(path string) string {
	return page.Address(path, "d", string(c.ID), "after", strconv.FormatUint(uint64(c.After), 10))
}

// Unsure reports whether answering from here may become possible, or end, without an event to say so.
func (c dialogCard) Unsure() bool { return len(c.Offers) > 0 && !c.Here }

// dialogChoice is a one-press answer.
type dialogChoice struct {
	dialogCard
	triage.DialogChoice
	N      int
	Option string // the option's number in the only question; "": not an option
}

// Button labels the button that sends an answer with words.
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

// dialogEnd is how a dialog ended.
type dialogEnd struct {
	*page.View
	ID   mail.ID
	Mark string             // of the version on the page
	How  *mail.DialogChange // nil: no longer known
	Next *mail.Card         // the dialog that has waited longest
}

// mostEnds limits the events searched for the end of a dialog, and endTime the time. The page does not ask again, so
// a busy machine gets plenty.
const (
	mostEnds = 20_000
	endTime  = 5 * time.Second
)

// endOf finds how a dialog ended, after the sequence number in the query.
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
			return nil, v.Ctx().Err() // compaction removed the rest
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

// Heading says how it ended, and where.
func (e *dialogEnd) Heading() string {
	if e.How == nil {
		return "This dialog is no longer open"
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

// About gives details.
func (e *dialogEnd) About() string {
	switch {
	case e.How == nil:
		return "It was answered, or its agent has ended. The post office does not keep its text."
	case e.How.Outcome == mail.DialogEnded:
		return string(e.How.Agent) + " has continued or has ended; how it was answered is not known. The post " +
			"office does not keep its text."
	case e.How.Outcome == mail.DialogDenied:
		return string(e.How.Agent) + " has been told. The post office does not keep its text."
	}
	return string(e.How.Agent) + " continues. The post office does not keep its text."
}
