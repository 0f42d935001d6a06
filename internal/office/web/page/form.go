package page

import (
	"crypto/rand"
	"mime"
	"net/http"
	"strings"
	"unicode"

	"pennypost/internal/mail"
)

// maxForm limits a posted form: a message of the largest size, form-encoded, and its addresses.
const maxForm = 1 << 20

// Form parses the posted form.
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
			"the form could not be read or is larger than 1 MiB; nothing was done: %w", err)
	}
	return nil
}

// Draft makes a message of the form's fields, and turns the CRLF of browsers into LF.
func (v *View) Draft() mail.Draft {
	field := func(name string) string { return strings.ReplaceAll(v.R.PostForm.Get(name), "\r\n", "\n") }
	return mail.Draft{
		To:   Trimmed(v.R.PostForm["to"]),
		Type: field("type"), Subject: field("subject"), Body: field("body"), ReplyTo: mail.ID(field("reply_to")),
		Priority: field("priority"), Issue: field("issue"),
		Key: field("key"),
	}
}

// Once returns an idempotency key for a form, so that posting it again sends nothing more.
func (v *View) Once() string { return rand.Text() }

// Trimmed returns the texts that are not blank. The room splits addresses at commas unless an agent has that name.
func Trimmed(texts []string) []string {
	var out []string
	for _, t := range texts {
		if t = strings.Trim(t, ", \r\n\t"); t != "" {
			out = append(out, t)
		}
	}
	return out
}

// Next is the path in this room where a browser without script continues after a change: the form's, else the inbox.
func (v *View) Next() string {
	if next := v.R.PostForm.Get("next"); OurPath(next) {
		return next
	}
	return "/"
}

// OurPath reports whether a redirect to text stays at this post office. Browsers read a backslash as a slash and drop
// tabs and line ends, so either could turn it into the address of another host.
func OurPath(text string) bool {
	return strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "//") &&
		!strings.ContainsFunc(text, func(r rune) bool { return r == '\\' || unicode.IsControl(r) })
}
