package web

import (
	"net/http"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/office/web/page"
)

// manifest makes the pages an app that browsers can install at a trusted address: a name below localhost, or https.
// It contains no mail data, as browsers fetch it without the login.
func (s *Site) manifest(w http.ResponseWriter, _ *http.Request) {
	type icon struct {
		Src     string `json:"src"`
		Sizes   string `json:"sizes"`
		Type    string `json:"type"`
		Purpose string `json:"purpose"`
	}
	icons := []icon{
		{"icon.svg", "any", "image/svg+xml", "any"}, {"icon-192.png", "192x192", "image/png", "any"},
		{"icon-512.png", "512x512", "image/png", "any"}, {"icon-mask-192.png", "192x192", "image/png", "maskable"},
		{"icon-mask-512.png", "512x512", "image/png", "maskable"},
	}
	for i := range icons {
		icons[i].Src, _ = s.core.Assets.Address(icons[i].Src) // it is embedded
	}
	text, _ := jsonx.Marshal(map[string]any{
		"id": "/", "start_url": "/", "scope": "/", "name": "Pennypost", "short_name": "Pennypost",
		"description": "Mail between agents and to you", "display": "standalone", "icons": icons,
		"background_color": page.PanelLight, "theme_color": page.PanelLight,
	})
	w.Header().Set("Content-Type", "application/manifest+json")
	w.Header().Set("Cache-Control", "no-cache")
	_, _ = w.Write(text)
}
