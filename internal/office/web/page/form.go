package page

import (
	"crypto/rand"
	"mime"
	"net/http"
	"strings"
	"unicode"

	"pennypost/internal/mail"
)

// maxForm bounds what a browser may post: a message of the largest size, in the spelling of forms, and its address.
const maxForm = 1 << 20

// Form reads what the browser posted.
func (v *View) Form() error {
	v.R.Body = http.MaxBytesReader(v.W, v.R.Body, maxForm)
	kind, _, _ := mime.ParseMediaType(v.R.Header.Get("Content-Type"))
	var err error
	if kind == "multipart/form-data" {
		err = v.R.ParseMultipartForm(maxForm)
	} else {
		err = v.R.ParseForm()
	}
	if err != nil {
		return mail.Errorf(mail.TooLarge,
			"the browser's form could not be read, or is larger than 1 MiB; nothing was done: %w", err)
	}
	return nil
}

// Draft makes a message of the form's fields. Browsers end lines in the way of the network.
func (v *View) Draft() mail.Draft {
	field := func(name string) string { return strings.ReplaceAll(v.R.PostForm.Get(name), "\r\n", "\n") }
	return mail.Draft{
		To:   Trimmed(v.R.PostForm["to"]),
		Type: field("type"), Subject: field("subject"), Body: field("body"), ReplyTo: mail.ID(field("reply_to")),
		Priority: field("priority"), Issue: field("issue"),
		Key: field("key"),
	}
}

// Once is the key of a form, so that what is in it is sent once however often it is posted.
func (v *View) Once() string { return rand.Text() }

// Trimmed returns the texts that are not blank. As addresses, the room takes them apart at commas where no agent is
// called so.
func Trimmed(texts []string) []string {
	var out []string
	for _, t := range texts {
		if t = strings.Trim(t, ", \r\n\t"); t != "" {
			out = append(out, t)
		}
	}
	return out
}

// Next is the path in this room at which a browser without script goes on after a change: one that the form names,
// else the inbox.
func (v *View) Next() string {
	if next := v.R.PostForm.Get("next"); OurPath(next) {
		return next
	}
	return "/"
}

// OurPath reports whether a browser that is sent to text stays at this post office. Browsers take a backslash for a
// slash and leave out tabs and line ends, so that either could make it the address of another host.
func OurPath(text string) bool {
	return strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "//") &&
		!strings.ContainsFunc(text, func(r rune) bool { return r == '\\' || unicode.IsControl(r) })
}
