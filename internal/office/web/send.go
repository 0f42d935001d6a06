package web

import (
	"crypto/rand"
	"mime"
	"net/http"
	"strings"

	"pennypost/internal/mail"
	"pennypost/internal/office/web/words"
)

// maxForm bounds what a browser may post: a message of the largest size, in the spelling of forms, and its address.
const maxForm = 1 << 20

// form reads what the browser posted.
func (v *view) form() error {
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, maxForm)
	kind, _, _ := mime.ParseMediaType(v.r.Header.Get("Content-Type"))
	var err error
	if kind == "multipart/form-data" {
		err = v.r.ParseMultipartForm(maxForm)
	} else {
		err = v.r.ParseForm()
	}
	if err != nil {
		return mail.Errorf(mail.TooLarge,
			"the browser's form could not be read, or is larger than 1 MiB; nothing was done: %w", err)
	}
	return nil
}

// draft makes a message of the form's fields. Browsers end lines in the way of the network.
func (v *view) draft() mail.Draft {
	field := func(name string) string { return strings.ReplaceAll(v.r.PostForm.Get(name), "\r\n", "\n") }
	return mail.Draft{
		To:   trimmed(v.r.PostForm["to"]),
		Type: field("type"), Subject: field("subject"), Body: field("body"), ReplyTo: mail.ID(field("reply_to")),
		Priority: field("priority"), Issue: field("issue"),
		Key: field("key"),
	}
}

// sends sends a draft. Its key is that of the form, which says no two things: a second press says nothing more.
func (v *view) sends(d mail.Draft) (mail.Sent, error) {
	sent, err := v.svc.Send(v.ctx(), d)
	if d.Key != "" && mail.CodeOf(err) == mail.Conflict {
		err = mail.Errorf(mail.Conflict, "this form was sent before with other words, and these were not sent. Load "+
			"the page again to see what was")
	}
	return sent, err
}

// Once is the key of a form, so that what is in it is sent once however often it is posted.
func (v *view) Once() string { return rand.Text() }

// trimmed returns the texts that are not blank. As addresses, the room takes them apart at commas where no agent is
// called so.
func trimmed(texts []string) []string {
	var out []string
	for _, t := range texts {
		if t = strings.Trim(t, ", \r\n\t"); t != "" {
			out = append(out, t)
		}
	}
	return out
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
	sent, err := v.sends(v.draft())
	if err != nil {
		return err
	}
	return v.changed(v.next(), "pp-sent", "toast-sent", sentPage{v, sent})
}

// next is the path in this room at which a browser without script goes on after a change: one that the form names,
// else the inbox.
func (v *view) next() string {
	if next := v.r.PostForm.Get("next"); strings.HasPrefix(next, "/") && !strings.HasPrefix(next, "//") &&
		!strings.ContainsAny(next, "\\\r\n") {
		return next
	}
	return "/"
}

// aim has our script put the answer elsewhere than it meant to, and leave the address of the page as it is.
func (v *view) aim(target, swap string) {
	h := v.w.Header()
	h.Set("HX-Retarget", target)
	h.Set("HX-Reswap", swap)
	h.Set("HX-Push-Url", "false")
}

// changed answers a change: our script with a toast, and an event that tells the page; a browser with the path in this
// room that comes next.
func (v *view) changed(next, event, part string, data any) error {
	if !v.scripted() {
		return v.redirect(next)
	}
	v.aim("#toasts", "beforeend")
	v.w.Header().Set("HX-Trigger", event)
	return v.part("toasts", part, data)
}
