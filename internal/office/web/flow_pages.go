package web

import (
	"embed"

	"pennypost/internal/office/web/page"
)

// flowPages are the pictures.
func flowPages() page.Part {
	return page.Part{Templates: embed.FS{}, Routes: map[string]page.Handler{"GET /flow": flow}}
}
