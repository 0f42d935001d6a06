package web

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/office/web/page"
)

// zipped marks a request as accepting compressed responses.
func zipped(r *http.Request) { r.Header.Set("Accept-Encoding", "gzip, br") }

func TestAssets(t *testing.T) {
	b := newFixture(t)
	for path, a := range b.site.core.Assets {
		text, hash := a.Load()
		kept := b.Get(path+"?"+hash, stranger, zipped).Want(t, http.StatusOK)
		if kept.Body != string(text) || kept.Header.Get("Cache-Control") != "public, max-age=31536000, immutable" ||
			kept.Header.Get("Content-Encoding") != "gzip" || kept.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s by its hash: %v", path, kept.Header)
		}
		plain := b.Get(path, stranger).Want(t, http.StatusOK)
		tagged := plain.Header.Get("ETag")
		if plain.Body != string(text) || plain.Header.Get("Cache-Control") != "no-cache" || tagged == "" ||
			plain.Header.Get("Content-Encoding") != "" ||
			plain.Header.Get("Content-Length") != strconv.Itoa(len(text)) {
			t.Errorf("%s: %v", path, plain.Header)
		}
		again := b.Get(path, stranger, func(r *http.Request) { r.Header.Set("If-None-Match", tagged) })
		if again.Code != http.StatusNotModified || again.Body != "" {
			t.Errorf("%s, which the browser has: %d", path, again.Code)
		}
		if kind := plain.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/") &&
			!strings.HasPrefix(kind, "image/") && !strings.HasPrefix(kind, "font/") {
			t.Errorf("%s is sent as %q: with nosniff a browser would not use it", path, kind)
		}
	}
	for _, path := range []string{"/static/", "/static/none.js", "/static/../web.go", "/static/%2e%2e/web.go",
		"/static/vendor"} {
		if got := b.Get(path); got.Code == http.StatusOK {
			t.Errorf("%s: %d %s", path, got.Code, got.Body)
		}
	}
	if got := b.Do(http.MethodPost, "/static/app.css", nil); got.Code == http.StatusOK {
		t.Errorf("POST of an asset: %d", got.Code)
	}
	if _, err := b.site.core.Assets.Address("none.css"); err == nil {
		t.Error("an asset that is not there has an address")
	}
}

// TestModulesAreOne tests that the modules are joined into one script, each once and after its imports.
func TestModulesAreOne(t *testing.T) {
	b := newFixture(t)
	text := b.Get("/static/app.js").Want(t, http.StatusOK).Body
	if regexp.MustCompile(`(?m)^(import|export) |\bimport\(`).MatchString(text) {
		t.Error("the script asks for another")
	}
	if n := len(regexp.MustCompile(`(?m)^const \{.*\} = \(\(\) => \{$`).FindAllString(text, -1)); n < 16 {
		t.Errorf("%d modules were found", n)
	}
	if n := strings.Count(text, "function announce("); n != 1 {
		t.Errorf("a module that others import is there %d times", n)
	}
	made, used := strings.Index(text, "function announce("), strings.Index(text, "announce(text);")
	if made < 0 || made > used {
		t.Error("a module stands before one that it imports")
	}
}

func TestFavicon(t *testing.T) {
	b := newFixture(t)
	for query, want := range map[string]string{"": "", "?n=0": "", "?n=3": ">3</text>", "?n=99": ">99</text>",
		"?n=100": ">99+</text>", "?n=-1": "", "?n=</text><script>": "", "?n=99999999999999999999": ">99+</text>"} {
		got := b.Get("/favicon.svg"+strings.NewReplacer("<", "%3C", ">", "%3E").Replace(query), stranger).Want(t,
			http.StatusOK, want)
		if got.Header.Get("Content-Type") != "image/svg+xml" || want == "" && strings.Contains(got.Body, "<text") ||
			strings.Contains(got.Body, "script") {
			t.Errorf("%s: %v %s", query, got.Header, got.Body)
		}
	}
}

// TestWorker tests that the service worker is public, the same for everyone, and revalidated, and that its page can
// run only its own script.
func TestWorker(t *testing.T) {
	b := newFixture(t)
	got := b.Get("/worker.js", stranger).Want(t, http.StatusOK, "Post office offline")
	if h := got.Header; h.Get("Content-Type") != "text/javascript; charset=utf-8" ||
		h.Get("Cache-Control") != "no-cache" || h.Get("Set-Cookie") != "" || h.Get("Service-Worker-Allowed") != "" {
		t.Errorf("%v", h)
	}
	if again := b.Get("/worker.js"); again.Body != got.Body {
		t.Error("who is logged in is sent another worker")
	}
	for _, s := range []string{"PAGE", "POLICY", "caches", "shop"} {
		if strings.Contains(got.Body, s) {
			t.Errorf("the worker says %q", s)
		}
	}
	if n := strings.Count(got.Body, "'sha256-"); n != 2 || strings.Contains(got.Body, "unsafe") {
		t.Errorf("%d hashes allow what stands in the page", n)
	}
}

// mostWeight limits the first view of the inbox, in bytes on the wire.
const mostWeight = 90_000

// TestWeight sums up everything a browser fetches to show the inbox for the first time.
func TestWeight(t *testing.T) {
	b := newFixture(t)
	for range 3 * page.Rows {
		b.Send("builder-1", mail.Draft{Subject: "The parser is done", Type: "question",
			Body: strings.Repeat("A sentence of some length. ", 40)})
	}
	total := 0
	fetch := func(path string) string {
		var length int
		got := b.Get(path, zipped).Want(t, http.StatusOK)
		length, err := strconv.Atoi(got.Header.Get("Content-Length"))
		if err != nil {
			length = len(got.Body)
		}
		t.Logf("%6d %s", length, path)
		total += length
		return got.Body
	}
	page := fetch("/@shop/")
	for _, m := range regexp.MustCompile(`(?:<script[^>]* src|<link[^>]* href)="([^"]+)"`).FindAllStringSubmatch(page,
		-1) {
		fetch(m[1])
	}
	t.Logf("%6d in all", total)
	if total > mostWeight || total < 20_000 {
		t.Errorf("the first view weighs %d bytes; at most %d are allowed", total, mostWeight)
	}
}
