package web

import (
	"html/template"

	"pennypost/internal/mail"
	render "pennypost/internal/office/markdown"
)

// markdown is the text of a message as HTML that can do nothing. Of all that the page shows, the id is this text's.
func markdown(text string, id mail.ID) template.HTML {
	return template.HTML(render.Message(text, string(id)))
}

// Rendered is Markdown as HTML that can do nothing.
func (d document) Rendered() template.HTML { return template.HTML(render.Document(d.Text, d.Href)) }
