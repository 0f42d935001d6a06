package flow

import (
	"embed"

	"pennypost/internal/office/web/page"
)

//go:embed templates
var templates embed.FS

// Pages returns the flow page.
func Pages() page.Part {
	return page.Part{Templates: templates, Routes: map[string]page.Handler{"GET /flow": flow}}
}
