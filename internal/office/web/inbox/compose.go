package inbox

import (
	"cmp"
	"strings"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
	"pennypost/internal/office/web/page"
	"pennypost/internal/office/web/words"
)

// ComposePage is a letter being written, on a page of its own or in a dialog over another page.
type ComposePage struct {
	*page.View
	To       []string // the addresses chosen so far
	Kind     mail.Type
	Urgent   bool
	Subject  string
	Issue    string
	Body     string
	Verdict  string
	Answered *page.Post // the message it answers
	Key      string
	Failure  string
	Preview  bool // the body is shown rendered
	Later    page.LaterForm
	Unfolded bool // the form asks for the time to send

	Addresses []choice
}

// choice is an address to write to.
type choice struct {
	Address mail.Address
	Note    string
	There   string // the base path of its room, if that is another room
}

// Types lists the types of message.
func (p *ComposePage) Types() []mail.TypeRule { return mail.TypeRules() }

// Verdicts are the verdicts of a review.
func (p *ComposePage) Verdicts() []string { return mail.Verdicts() }

// compose shows a new letter. The query may prefill its fields.
func compose(v *page.View) error {
	p, err := letterTo(v, mail.ID(v.R.URL.Query().Get("reply_to")))
	if err == nil && p.Answered == nil && v.Several() {
		err = p.choicesElsewhere()
	}
	if err != nil {
		return err
	}
	q := v.R.URL.Query()
	p.Urgent = q.Get("priority") == string(mail.Urgent)
	p.Body = q.Get("body")
	p.Subject, p.Issue = cmp.Or(q.Get("subject"), p.Subject), cmp.Or(q.Get("issue"), p.Issue)
	p.Kind = cmp.Or(mail.Type(q.Get("type")), p.Kind)
	if to := page.Trimmed(q["to"]); len(to) > 0 {
		p.To = to
	}
	return v.Render("compose", p, "dialog")
}

// letterTo returns a letter that answers a message, or an empty letter without one.
func letterTo(v *page.View, answers mail.ID) (*ComposePage, error) {
	v.Title = "Write"
	p := &ComposePage{View: v, Kind: mail.Custom, Key: v.Once(), Later: page.LaterForm{Zone: page.OfficeZone()}}
	if err := p.Choices(""); err != nil || answers == "" {
		return p, err
	}
	it, err := v.Svc.Message(v.Ctx(), answers)
	if err != nil {
		return nil, err
	}
	p.Answered = &page.Post{View: v, Item: it}
	p.To = page.Texts(it.AnswerTo(mail.User))
	p.Kind = it.AnswerType(mail.User)
	if s := it.Subject; s != "" {
		p.Subject = "Re: " + strings.TrimPrefix(s, "Re: ")
	}
	p.Issue = it.Issue
	return p, nil
}

// mostAddresses limits the addresses offered: that many are a page of 10 kB.
const mostAddresses = 300

// maxNote is when to stop adding names beside a role or tag, in bytes.
const maxNote = 200

// Choices lists the addresses that match text, as the roster implies them: agents first, then roles and tags.
func (p *ComposePage) Choices(text string) error {
	list, err := p.SomeAgents(text)
	if err != nil {
		return err
	}
	found := make(map[mail.Address]int) // index in others
	var others []choice
	add := func(a mail.Address, name mail.Name) {
		if i, ok := found[a]; ok {
			if len(others[i].Note) < maxNote {
				others[i].Note += ", " + string(name)
			}
			return
		}
		found[a] = len(others)
		others = append(others, choice{Address: a, Note: string(name)})
	}
	for _, a := range list {
		note := standing(&a)
		if a.Task != "" {
			note += " · " + words.FirstLine(a.Task)
		}
		p.Addresses = append(p.Addresses, choice{Address: mail.AgentAddress(a.Name), Note: note})
		for _, r := range a.Roles {
			add(mail.RoleAddress(r), a.Name)
		}
		for _, t := range a.Tags {
			add(mail.Address(t), a.Name)
		}
	}
	p.Addresses = append(append(p.Addresses, others...), choice{Address: mail.ToAll, Note: "everybody"})
	return nil
}

// choicesElsewhere adds agents of the page's other rooms. A letter to one is sent in its room.
func (p *ComposePage) choicesElsewhere() error {
	fleet, err := p.Site.Office.Fleet(p.Ctx(), mail.FleetQuery{Part: mail.FleetAgents, Limit: page.MaxChoices})
	for i := range fleet.Rooms {
		r := &fleet.Rooms[i]
		if r.Room == p.Room {
			continue
		}
		for k := range r.Agents.Agents {
			if len(p.Addresses) >= mostAddresses {
				return err
			}
			a := &r.Agents.Agents[k]
			p.Addresses = append(p.Addresses, choice{Address: mail.AgentAddress(a.Name),
				Note: string(r.Room) + " · " + standing(a), There: page.RoomBase(r.Room)})
		}
	}
	return err
}

// standing describes an agent's state, and says so if it reads nothing until the person answers its client.
func standing(a *mail.Agent) string {
	if a.State != mail.Asking {
		return string(a.State)
	}
	return "has been asking you since " + words.Clock(a.Since) + " and reads mail once you have answered"
}

// Asks returns the client dialogs of the letter's recipients.
func (p *ComposePage) Asks() (list []*mail.Card) {
	for _, to := range p.To {
		if a := mail.Address(to); a.Kind() == mail.ToAgent {
			if c := p.CardOf(a.Signer()); c != nil {
				list = append(list, c)
			}
		}
	}
	return list
}

// posted returns the letter in the form.
func posted(v *page.View) (*ComposePage, mail.Draft, error) {
	d := v.Draft()
	p, err := letterTo(v, d.ReplyTo)
	// it was erased meanwhile: the room will say so, and the typed text must stay
	if mail.CodeOf(err) == mail.NotFound && d.ReplyTo != "" {
		p, err = letterTo(v, "")
	}
	if err != nil {
		return nil, d, err
	}
	p.To, p.Kind, p.Subject, p.Issue, p.Body, p.Urgent, p.Key = d.To, mail.Type(d.Type), d.Subject, d.Issue, d.Body,
		d.Priority == string(mail.Urgent), d.Key
	p.Later = v.LaterForm()
	p.Unfolded = p.Later.Says()
	if p.Verdict = v.R.PostForm.Get("verdict"); p.Kind.Rule().Verdict && p.Verdict != "" {
		d.Metadata, err = jsonx.Marshal(map[string]string{"verdict": p.Verdict})
	}
	return p, d, err
}

// sendComposed sends a letter. If the room refuses it, the error is shown beside the typed text.
func sendComposed(v *page.View) error {
	p, d, err := posted(v)
	if err != nil {
		return err
	}
	var sent mail.Sent
	if d.Later, err = p.Later.Later(v.Now); err == nil {
		sent, err = sends(v, d)
	}
	if err != nil {
		return p.refused(err)
	}
	if sent.Due != 0 {
		return v.Changed("/scheduled", "pp-sent, pp-resolved", "toast-done", page.Toast{View: v, MS: 6000,
			Text: "Scheduled for " + words.Moment(v.Now, sent.Due)})
	}
	return v.Changed(page.ThreadPath(sent.ID), "pp-sent", "toast-sent", sentPage{v, sent})
}

// later copies the text of another form into a letter and asks when to send it. The other form keeps its text.
func later(v *page.View) error {
	p, _, err := posted(v)
	if err != nil {
		return err
	}
	p.Key, p.Unfolded = v.Once(), true
	return v.Render("compose", p, "dialog")
}

// refused shows the letter again, with the reason why it was not sent.
func (p *ComposePage) refused(err error) error {
	status, message := page.Told(err)
	if status == 0 {
		return err
	}
	p.Failure = message
	part := "layout"
	if p.Scripted() {
		part = "compose-error"
	}
	return p.Answer(status, "compose", part, p)
}

// preview shows the rendered body of a letter.
func preview(v *page.View) error {
	if !v.Scripted() {
		p, _, err := posted(v)
		if err != nil {
			return err
		}
		p.Preview = true
		return v.Render("compose", p)
	}
	return v.Part("compose", "compose-preview", &ComposePage{View: v, Body: v.Draft().Body, Preview: true})
}
