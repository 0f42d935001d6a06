package inbox

import (
	"html/template"

	render "pennypost/internal/office/markdown"
)

// Rendered is the Markdown as harmless HTML.
func (d document) Rendered() template.HTML { return template.HTML(render.Document(d.Text, d.Href)) }
