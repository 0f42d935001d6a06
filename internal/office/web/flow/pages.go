package flow

import (
	"embed"

	"pennypost/internal/office/web/page"
)

//go:embed templates
var templates embed.FS

// Pages are the pictures.
func Pages() page.Part {
	return page.Part{Templates: templates, Routes: map[string]page.Handler{"GET /flow": flow}}
}
