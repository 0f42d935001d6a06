package inbox

import (
	"pennypost/internal/mail"
	"pennypost/internal/office/web/page"
	"pennypost/internal/office/web/words"
)

// sends sends a draft. Its key is the form's, so pressing twice sends once, and another text under the same key is a
// conflict.
func sends(v *page.View, d mail.Draft) (mail.Sent, error) {
	sent, err := v.Svc.Send(v.Ctx(), d)
	if d.Key != "" && mail.CodeOf(err) == mail.Conflict {
		err = mail.Errorf(mail.Conflict, "this form was already sent with another text, and this text was not sent. "+
			"Reload the page to see what was sent")
	}
	return sent, err
}

// sentPage shows the result of a send.
type sentPage struct {
	*page.View
	Sent mail.Sent
}

// Notes describes the delivery to each recipient.
func (p sentPage) Notes() []words.Note { return words.Notes(p.Now, p.Sent.Recipients) }

// sendMail sends the user's message. Every form for writing posts here; the field next says where a browser without
// script continues.
func sendMail(v *page.View) error {
	sent, err := sends(v, v.Draft())
	if err != nil {
		return err
	}
	return v.Changed(v.Next(), "pp-sent", "toast-sent", sentPage{v, sent})
}
