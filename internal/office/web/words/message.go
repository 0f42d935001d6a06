package words

import (
	"cmp"
	"html/template"

	"pennypost/internal/mail"
	render "pennypost/internal/office/markdown"
)

// Subject returns the subject of a message, else its first line.
func Subject(m *mail.Message) string {
	if m.Subject != "" {
		return m.Subject
	}
	if line := Told(m); line != "" {
		return line
	}
	return "(" + string(m.Type) + ")"
}

// Told returns the first line of a message, else the first document named in it.
func Told(m *mail.Message) string { return cmp.Or(FirstLine(m.Body), m.DocNames()) }

// Markdown is a message's text as harmless HTML. The id must be unique on the page.
func Markdown(text string, id mail.ID) template.HTML {
	return template.HTML(render.Message(text, string(id)))
}
