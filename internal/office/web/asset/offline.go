package asset

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"pennypost/internal/base/jsonx"
)

//go:embed offline
var offline embed.FS

// inline matches the style and the script of the worker's page.
var inline = regexp.MustCompile(`(?s)<(style|script)>(.*?)</`)

// worker is the service worker, with its page and that page's content security policy.
var worker = sync.OnceValue(func() []byte {
	page, _ := offline.ReadFile("offline/away.html") // an embedded tree does not fail
	text, _ := offline.ReadFile("offline/worker.js")
	policy := "default-src 'none'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	page = light(page)
	for _, part := range inline.FindAllSubmatch(page, -1) {
		sum := sha256.Sum256(part[2])
		policy += "; " + string(part[1]) + "-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	quote := func(s string) string { b, _ := jsonx.Marshal(s); return string(b) } // a string always encodes
	return []byte(strings.NewReplacer(`"PAGE"`, quote(string(page)), `"POLICY"`, quote(policy)).
		Replace(string(light(text))))
})

// Worker serves the service worker, which shows a page while the post office is away. It contains no private data, so
// it needs no login. Browsers check for a new version on every page load.
func Worker(w http.ResponseWriter, _ *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/javascript; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	h.Set("Content-Security-Policy", "default-src 'none'; connect-src 'self'")
	h.Set("Content-Length", strconv.Itoa(len(worker())))
	_, _ = w.Write(worker())
}
