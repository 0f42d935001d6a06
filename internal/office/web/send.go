package web

import (
	"pennypost/internal/mail"
	"pennypost/internal/office/web/words"
)

// sends sends a draft. Its key is that of the form, which says no two things: a second press says nothing more.
func sends(v *view, d mail.Draft) (mail.Sent, error) {
	sent, err := v.svc.Send(v.ctx(), d)
	if d.Key != "" && mail.CodeOf(err) == mail.Conflict {
		err = mail.Errorf(mail.Conflict, "this form was sent before with other words, and these were not sent. Load "+
			"the page again to see what was")
	}
	return sent, err
}

// sentPage tells what became of what the user sent.
type sentPage struct {
	*view
	Sent mail.Sent
}

// Notes says for each recipient what became of it.
func (p sentPage) Notes() []words.Note { return words.Notes(p.Now, p.Sent.Recipients) }

// sendMail sends what the user wrote. Every form for writing posts here; the field next says where a browser without
// script goes on.
func sendMail(v *view) error {
	sent, err := sends(v, v.draft())
	if err != nil {
		return err
	}
	return v.changed(v.next(), "pp-sent", "toast-sent", sentPage{v, sent})
}
