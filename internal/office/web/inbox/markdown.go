package inbox

import (
	"html/template"

	render "pennypost/internal/office/markdown"
)

// Rendered is Markdown as HTML that can do nothing.
func (d document) Rendered() template.HTML { return template.HTML(render.Document(d.Text, d.Href)) }
