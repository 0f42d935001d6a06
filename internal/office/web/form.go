package web

import (
	"crypto/rand"
	"mime"
	"net/http"
	"strings"

	"pennypost/internal/mail"
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

// next is the path in this room at which a browser without script goes on after a change: one that the form names,
// else the inbox.
func (v *view) next() string {
	if next := v.r.PostForm.Get("next"); strings.HasPrefix(next, "/") && !strings.HasPrefix(next, "//") &&
		!strings.ContainsAny(next, "\\\r\n") {
		return next
	}
	return "/"
}
