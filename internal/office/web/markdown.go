package web

import (
	"html/template"

	render "pennypost/internal/office/markdown"
)

// markdown is what an agent wrote as HTML that can do nothing.
func markdown(text string) template.HTML { return template.HTML(render.HTML(text)) }
