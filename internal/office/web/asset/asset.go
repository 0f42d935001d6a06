package asset

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

//go:embed static
var files embed.FS

// asset is an embedded file. The browser caches it forever if its address has its hash, as on our pages; otherwise it
// revalidates.
type asset struct {
	name   string
	Load   func() (text []byte, hash string)
	zipped func() []byte
}

// Set maps paths to our files.
type Set map[string]*asset

// New returns our files. Each is read on first use.
func New() Set {
	all := make(Set)
	// an embedded tree does not fail
	_ = fs.WalkDir(files, "static", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && path.Dir(name) != sheets {
			all["/"+name] = newAsset(name, read(name))
		}
		return nil
	})
	all["/static/app.css"] = newAsset("static/app.css", func() []byte { return stylesheet(all) })
	return all
}

// sheets is the directory of the stylesheet's parts, joined in name order.
const sheets = "static/css"

// urls matches the URLs in the stylesheet.
var urls = regexp.MustCompile(`url\("([^"]+)"\)`)

// stylesheet joins the parts, with hashes in their URLs.
func stylesheet(all Set) []byte {
	var sheet []byte
	parts, _ := fs.ReadDir(files, sheets) // an embedded tree does not fail
	for _, p := range parts {
		text, _ := files.ReadFile(path.Join(sheets, p.Name()))
		sheet = append(sheet, text...)
	}
	return urls.ReplaceAllFunc(light(sheet), func(quoted []byte) []byte {
		address, err := all.Address(string(urls.FindSubmatch(quoted)[1]))
		if err != nil {
			return quoted
		}
		return []byte(`url("` + address + `")`)
	})
}

// idle matches text that browsers do not need: indentation, lines with only a // comment, and the stylesheet's
// comments, each of which ends on its own line.
var idle = regexp.MustCompile(`(?m)^\s*//.*\n|/\* .*? \*/\n?|^\s+`)

// light returns a file as served.
func light(text []byte) []byte { return idle.ReplaceAll(text, nil) }

// read returns a function that reads a file.
func read(name string) func() []byte {
	return func() []byte {
		text, _ := files.ReadFile(name)
		if path.Dir(name) == "static" && path.Ext(name) == ".js" {
			text = light(joined(name, make(map[string]bool)))
		}
		return text
	}
}

// imports matches an import of a module, and exports the export of a name.
var (
	imports = regexp.MustCompile(`(?m)^import (?:\{.*\} from )?"\./([a-z]+\.js)";\n`)
	exports = regexp.MustCompile(`(?m)^export ((?:async )?(?:const|function) (\w+))`)
)

// joined returns a module after the imports that had lacks: one request instead of many, and two thirds of the bytes
// when compressed together. Only a module's exports are visible outside it: two modules that export the same name
// fail to load, as does a module with a top-level await.
func joined(name string, had map[string]bool) []byte {
	if had[name] {
		return nil
	}
	had[name] = true
	text, _ := files.ReadFile(name)
	var all []byte
	for _, m := range imports.FindAllSubmatch(text, -1) {
		all = append(all, joined(path.Join("static", string(m[1])), had)...)
	}
	var names []string
	for _, m := range exports.FindAllSubmatch(text, -1) {
		names = append(names, string(m[2]))
	}
	own := exports.ReplaceAll(imports.ReplaceAll(text, nil), []byte("$1"))
	list := "{ " + strings.Join(names, ", ") + " }"
	return fmt.Appendf(all, "const %s = (() => {\n%s\nreturn %s;\n})();\n", list, own, list)
}

func newAsset(name string, read func() []byte) *asset {
	load := sync.OnceValues(func() ([]byte, string) {
		text := read()
		sum := sha256.Sum256(text)
		return text, hex.EncodeToString(sum[:6])
	})
	return &asset{name: name, Load: load, zipped: sync.OnceValue(func() []byte {
		text, _ := load()
		return zip(text, gzip.BestCompression)
	})}
}

// Address returns the URL path of a file below static.
func (s Set) Address(name string) (string, error) {
	a := s["/static/"+name]
	if a == nil {
		return "", fmt.Errorf("there is no file static/%s", name)
	}
	_, hash := a.Load()
	return "/" + a.name + "?" + hash, nil
}

func (a *asset) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", mime.TypeByExtension(path.Ext(a.name)))
	if path.Ext(a.name) == ".LICENSE" {
		h.Set("Content-Type", "text/plain; charset=utf-8")
	}
	text, hash := a.Load()
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Vary", "Accept-Encoding")
	if r.URL.RawQuery != hash { // an old version, or typed by hand
		h.Set("Cache-Control", "no-cache")
		h.Set("ETag", `"`+hash+`"`)
		if r.Header.Get("If-None-Match") == `"`+hash+`"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	if acceptsGzip(r) {
		h.Set("Content-Encoding", "gzip")
		text = a.zipped()
	}
	h.Set("Content-Length", strconv.Itoa(len(text)))
	_, _ = w.Write(text)
}

// smallest is the size from which a page is compressed: a smaller one fits into one packet.
const smallest = 1400

// Send writes text as the response, compressed if that pays off.
func Send(w http.ResponseWriter, r *http.Request, status int, text []byte) error {
	if len(text) >= smallest && acceptsGzip(r) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Add("Vary", "Accept-Encoding")
		text = zip(text, gzip.DefaultCompression)
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(status)
	_, err := w.Write(text)
	if err != nil {
		return nil // the browser left
	}
	return nil
}

func acceptsGzip(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept-Encoding"), "gzip")
}

func zip(text []byte, level int) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, level) // the level is valid
	_, _ = w.Write(text)                   // a buffer accepts every write
	_ = w.Close()
	return b.Bytes()
}

// Favicon serves a stamp, with the number of unread messages if there are any.
func Favicon(w http.ResponseWriter, r *http.Request) {
	n, _ := strconv.Atoi(r.URL.Query().Get("n"))
	badge := ""
	if n > 0 {
		label := strconv.Itoa(n)
		if n > 99 {
			label = "99+"
		}
		badge =
			`<circle cx="22" cy="10" r="10" fill="#c2410c"/><text x="22" y="14.5" font-family="system-ui,` +
				`sans-serif" font-size="` +
				map[bool]string{true: "13", false: "9"}[len(label) < 3] +
				`" font-weight="700" text-anchor="middle" fill="#fff">` + html.EscapeString(label) + `</text>`
	}
	w.Header().Set("Content-Type", "image/svg+xml")
	w.Header().Set("Cache-Control", "public, max-age=86400")
	_, _ = w.Write(
		[]byte(
			`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect x="3" y="7" width="26" height="19" ` +
				`rx="3" fill="#1d4ed8"/>` +
				`<path d="M4 10l12 8 12-8" fill="none" stroke="#fff" stroke-width="2.4" stroke-linejoin="round"/>` +
				badge +
				`</svg>`))
}
