package web

import "embed"

// flowPages are the pictures.
func flowPages() Part {
	return Part{Templates: embed.FS{}, Routes: map[string]handler{"GET /flow": flow}}
}
