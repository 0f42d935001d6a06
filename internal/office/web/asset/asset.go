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

// asset is one of our own files. One whose address has its hash, as our pages name it, is kept by the
// browser for good; others are asked for again.
type asset struct {
	name   string
	Load   func() (text []byte, hash string)
	zipped func() []byte
}

// Set is all of our files, by their paths.
type Set map[string]*asset

// New returns our files. None is read before it is asked for.
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

// sheets has the parts of the one stylesheet, in the order of their names.
const sheets = "static/css"

// urls finds what the stylesheet names.
var urls = regexp.MustCompile(`url\("([^"]+)"\)`)

// stylesheet is all of the parts. What it names has its hash.
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

// idle finds what a browser does not need: indentation, lines that are nothing but a comment, and the comments of the
// stylesheet, each of which ends in its line.
var idle = regexp.MustCompile(`(?m)^\s*//.*\n|/\* .*? \*/\n?|^\s+`)

// light is one of our files as it is sent.
func light(text []byte) []byte { return idle.ReplaceAll(text, nil) }

// read returns what reads a file.
func read(name string) func() []byte {
	return func() []byte {
		text, _ := files.ReadFile(name)
		if path.Dir(name) == "static" && path.Ext(name) == ".js" {
			text = light(joined(name, make(map[string]bool)))
		}
		return text
	}
}

// imports finds a line that imports a module, and exports a name that a module exports.
var (
	imports = regexp.MustCompile(`(?m)^import (?:\{.*\} from )?"\./([a-z]+\.js)";\n`)
	exports = regexp.MustCompile(`(?m)^export ((?:async )?(?:const|function) (\w+))`)
)

// joined is a module after those that it imports and that are not in had yet: one request, and zipped as one they are
// two thirds as long. The names of a module are its own, as in its file, but for what it exports: two modules
// that export the same name do not load, nor does one that awaits outside a function.
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

// Address returns where the file called name below static is got.
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
	if r.URL.RawQuery != hash { // of another version, or typed
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

// smallest is the length from which a page is worth compressing: what is shorter fits into one packet anyhow.
const smallest = 1400

// Send answers with text, compressed if that is worth it.
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
		return nil // the browser left; there is nobody to tell
	}
	return nil
}

func acceptsGzip(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept-Encoding"), "gzip")
}

func zip(text []byte, level int) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, level) // the levels are constants that it knows
	_, _ = w.Write(text)                   // a buffer takes everything
	_ = w.Close()
	return b.Bytes()
}

// Favicon is a stamp, with the number of unread messages if there are any.
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
