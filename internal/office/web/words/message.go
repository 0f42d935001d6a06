package words

import (
	"cmp"
	"html/template"

	"pennypost/internal/mail"
	render "pennypost/internal/office/markdown"
)

// Subject returns what a message is about: its subject, else its first line.
func Subject(m *mail.Message) string {
	if m.Subject != "" {
		return m.Subject
	}
	if line := Told(m); line != "" {
		return line
	}
	return "(" + string(m.Type) + ")"
}

// Told returns the first line of a message, or else the first document that it names.
func Told(m *mail.Message) string { return cmp.Or(FirstLine(m.Body), m.DocNames()) }

// Markdown is the text of a message as HTML that can do nothing. Of all that the page shows, the id is this text's.
func Markdown(text string, id mail.ID) template.HTML {
	return template.HTML(render.Message(text, string(id)))
}
