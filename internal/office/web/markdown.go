package web

import (
	"html/template"

	render "pennypost/internal/office/markdown"
)

// markdown is the text of a message as HTML that can do nothing.
func markdown(text string) template.HTML { return template.HTML(render.Message(text)) }

// Rendered is Markdown as HTML that can do nothing.
func (d document) Rendered() template.HTML { return template.HTML(render.Document(d.Text)) }
