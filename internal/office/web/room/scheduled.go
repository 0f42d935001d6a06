package room

import (
	"cmp"
	"slices"
	"strings"

	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
	"pennypost/internal/office/web/page"
	"pennypost/internal/office/web/words"
)

// scheduledPage is the mail to be sent later, next due first.
type scheduledPage struct {
	*page.View
	Waiting []waitingMail
	Kept    []mail.Kept // in the outbox, until the room can be reached
	Missing page.Missing
}

// waitingMail is a message to be sent later.
type waitingMail struct {
	*page.View
	Mail mail.Scheduled
}

// Here is the address of the page.
func (p *scheduledPage) Here() string { return p.Scoped(p.Base + "/scheduled") }

// Heading is the subject, or the first line.
func (m waitingMail) Heading() string {
	return cmp.Or(m.Mail.Draft.Subject, words.FirstLine(m.Mail.Draft.Body))
}

// Whom names the recipients for the user.
func (m waitingMail) Whom() string {
	names := make([]string, len(m.Mail.Draft.To))
	for i, to := range m.Mail.Draft.To {
		names[i] = words.Who(to)
	}
	return strings.Join(names, ", ")
}

// Whose is the sender; "": the user.
func (m waitingMail) Whose() mail.Address {
	if m.Mail.From == mail.User {
		return ""
	}
	return mail.AgentAddress(m.Mail.From)
}

// Zone is the time zone of the form unless the browser sends one.
func (m waitingMail) Zone() string { return cmp.Or(m.Mail.Zone, page.OfficeZone()) }

// shows reports whether mail in the outbox is for a room on the page.
func (p *scheduledPage) shows(k *mail.Kept) bool {
	return k.Room == p.Room || p.AllRooms() && slices.ContainsFunc(p.Rooms, func(r mail.RoomStatus) bool {
		return r.Name == k.Room
	})
}

// scheduled shows the scheduled mail. A room with scheduled mail is always open.
func scheduled(v *page.View) error {
	v.Place, v.Title = "scheduled", "To be sent"
	p := &scheduledPage{View: v}
	if v.Site.Kept != nil {
		p.Kept = v.Site.Kept(p.shows).Letters
	}
	if v.Svc == nil {
		return v.Render("scheduled", p, "scheduled-list")
	}
	rooms := []*page.View{v}
	if v.Several() {
		rooms, _, p.Missing.Away = v.Apart()
	}
	for _, in := range rooms {
		list, err := in.Svc.Scheduled(v.Ctx())
		if err != nil && v.Several() && v.Ctx().Err() == nil {
			v.Site.Log.Warn("scheduled mail of a room left out", "room", in.Room, "err", err)
			p.Missing.Away = append(p.Missing.Away, in.Room)
			continue
		} else if err != nil {
			return err
		}
		for _, c := range list.Scheduled {
			p.Waiting = append(p.Waiting, waitingMail{in, c})
		}
	}
	slices.SortStableFunc(p.Waiting, func(a, b waitingMail) int { return cmp.Compare(a.Mail.At, b.Mail.At) })
	return v.Render("scheduled", p, "scheduled-list")
}

// move reschedules a message.
func move(v *page.View) error {
	l, err := v.LaterForm().Later(v.Now)
	if err != nil {
		return err
	}
	c, err := v.Svc.Reschedule(v.Ctx(), mail.Rescheduling{ID: mail.ID(v.R.PostForm.Get("id")), At: l.At})
	if err != nil {
		return err
	}
	return changedScheduled(v, "Scheduled for "+words.Moment(v.Now, c.At))
}

// cancel cancels scheduled messages.
func cancel(v *page.View) error {
	ids := v.R.PostForm["id"]
	for _, id := range ids {
		if err := v.Svc.Unschedule(v.Ctx(), mail.ID(id)); err != nil {
			return err
		}
	}
	return changedScheduled(v, wording.Plural(len(ids), "message")+" cancelled")
}

func changedScheduled(v *page.View, text string) error {
	return v.Changed("/scheduled", "pp-resolved", "toast-done", page.Toast{View: v, Text: text, MS: 6000})
}
