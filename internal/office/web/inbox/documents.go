package inbox

import (
	"errors"
	"fmt"
	"hash/fnv"
	"mime"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/office/dialect/openalice"
	"pennypost/internal/office/web/page"
	"pennypost/internal/office/web/words"
)

const (
	// bytes of a letter's documents shown in it; the rest can be downloaded
	maxInline   = 1 << 20
	maxColoured = 100 << 10 // bytes of code that a browser highlights without a noticeable delay
)

// document is a file named in a letter, in its current state.
type document struct {
	*page.View
	mail.Doc
	Kind     string // "markdown", "text", "image", "page" or "file"; "" if it cannot be shown
	Notice   string // the reason
	Text     string
	Language string // for code
	Size     int64
	Href     string // the address of its bytes
	// the version, part of its element's id: the browser leaves unchanged documents alone
	Sum string
}

// Download is the address that downloads the document.
func (d document) Download() string { return d.Href + "&as=file" }

// Weight is the document's size in words.
func (d document) Weight() string {
	switch {
	case d.Size < 1000:
		return strconv.FormatInt(d.Size, 10) + " B"
	case d.Size < 1_000_000:
		return strconv.FormatInt(d.Size/1000, 10) + " kB"
	}
	return fmt.Sprintf("%.1f MB", float64(d.Size)/1e6)
}

// documentsOf reads a message's documents from its sender's workspace. It returns no error: each document that cannot
// be shown says why.
func documentsOf(v *page.View, m *mail.Message, ws *mail.Workspace) []document {
	out := make([]document, 0, len(m.Docs))
	shown := 0
	for i, doc := range m.Docs {
		d := document{View: v, Doc: doc, Href: page.Address(v.Base+"/doc", "m", string(m.ID), "n", strconv.Itoa(i))}
		switch {
		case ws == nil:
			d.Notice = "No workspace of " + words.Who(m.From) +
				" is known, so its files cannot be shown. Add one: pennypost workspace add"
		case shown >= maxInline:
			d.Kind, d.Notice = "file", "This message names more documents than one page shows."
		default:
			shown += d.read(m, i, ws)
		}
		d.sum()
		out = append(out, d)
	}
	return out
}

// read loads the file at the document's path, and returns the number of bytes shown.
func (d *document) read(m *mail.Message, n int, ws *mail.Workspace) int {
	file, err := d.Site.Documents.Read(d.Ctx(), d.Room, m, n, ws)
	d.Size = file.Size
	if err != nil {
		if d.Notice = unshown(err, d.Path); file.Size > 0 { // it exists
			d.Kind = "file"
		}
		return 0
	}
	if d.Kind = kindOf(d.Path, &file); d.Kind == "file" {
		return 0
	}
	switch d.Kind {
	case "markdown", "text", "page":
		d.Text = string(file.Text)
	}
	if d.Kind == "text" && d.Size <= maxColoured {
		d.Language = language(d.Path)
	}
	return len(file.Text)
}

// sum fingerprints the shown content.
func (d *document) sum() {
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, d.Kind, d.Notice, d.Size, d.Text)
	d.Sum = strconv.FormatUint(h.Sum64(), 36)
}

// unshown explains to a person why a document is not shown.
func unshown(err error, name string) string {
	why, ok := errors.AsType[*openalice.DocumentError](err)
	if !ok {
		return "It could not be read."
	}
	switch why.Reason {
	case openalice.FileNotFound:
		return "The file is not in the workspace: it was moved, deleted, or not written yet."
	case openalice.FileTooLarge:
		return fmt.Sprintf("It is too large to show: %.1f MB; the limit is %d MiB.", float64(why.Size)/1e6,
			openalice.MaxDocument>>20)
	case openalice.InvalidPath, openalice.PathRequired:
		return "Its path is outside the workspace or is not a file, so it is not read."
	case openalice.Elsewhere:
		return "This document is on the machine " + string(why.Machine) + ", " + lastHeard(why.Heard)
	case openalice.NoWorkspace:
		return "The workspace's directory does not exist."
	}
	return "It could not be read: the post office is not allowed to, or the disk failed."
}

// lastHeard explains why another machine's documents are not shown.
func lastHeard(at mail.Time) string {
	switch t := at.Std().Local(); {
	case at == 0:
		return "which does not answer."
	case time.Since(t) < 12*time.Hour:
		return "which was last heard from at " + t.Format("15:04") + "."
	default:
		return "which was last heard from on " + t.Format("2006-01-02 at 15:04") + "."
	}
}

// kindOf returns how to show a file. Images are recognised by their content, and only in formats that cannot contain
// anything else.
func kindOf(name string, file *openalice.Document) string {
	if file.Large() {
		return "file"
	}
	if imageType(file.Text) != "" {
		return "image"
	}
	if file.Binary {
		return "file"
	}
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".markdown":
		return "markdown"
	case ".html", ".htm":
		return "page"
	}
	return "text"
}

// imageType returns the media type of an image that is safe to show, or "".
func imageType(text []byte) string {
	kind := http.DetectContentType(text)
	if slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, kind) {
		return kind
	}
	return ""
}

// languages maps file extensions to the highlighter's names where they differ.
var languages = map[string]string{
	"h": "c", "hpp": "cpp", "cc": "cpp", "js": "javascript", "mjs": "javascript", "ts": "typescript",
	"tsx": "typescript", "jsx": "javascript", "py": "python",
	"rb": "ruby", "rs": "rust", "sh": "bash", "yml": "yaml", "svg": "xml", "html": "xml", "htm": "xml", "kt": "kotlin",
	"patch": "diff", "toml": "ini", "txt": "", "log": "", "csv": "",
}

// language returns the highlighter's language for a file, or "" for none.
func language(name string) string {
	ext := strings.ToLower(strings.TrimPrefix(path.Ext(name), "."))
	if known, ok := languages[ext]; ok {
		return known
	}
	for _, r := range ext {
		if !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9') {
			return ""
		}
	}
	return ext
}

// workspaceOf returns the workspace of a message's sender, or nil.
func workspaceOf(v *page.View, from mail.Address) (*mail.Workspace, error) {
	list, err := v.Svc.Workspaces(v.Ctx())
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(list, func(ws mail.Workspace) bool { return ws.ID == from.Signer() }); i >= 0 {
		return &list[i], nil
	}
	return nil, nil
}

// The content security policies of documents: nothing is allowed, or only the layout of an HTML page.
const (
	inert   = "sandbox; default-src 'none'"
	laidOut = "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'; frame-ancestors 'self'"
)

// serveDocument serves a document's bytes. The browser shows only pictures and sandboxed pages, and downloads the
// rest.
func serveDocument(v *page.View) error {
	q := v.R.URL.Query()
	it, err := v.Svc.Message(v.Ctx(), mail.ID(q.Get("m")))
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(q.Get("n"))
	if err != nil || n < 0 || n >= len(it.Docs) || v.Hides(it.ID) {
		return mail.Errorf(mail.NotFound, "the message names no such document")
	}
	ws, err := workspaceOf(v, it.From)
	if err != nil {
		return err
	}
	if ws == nil {
		return mail.Errorf(mail.NotFound, "no workspace of %s is known", words.Who(it.From))
	}
	file, err := v.Site.Documents.Open(v.Ctx(), v.Room, &it.Message, n, ws)
	if err != nil {
		return mail.Errorf(mail.NotFound, "%s: %s", it.Docs[n].Path, unshown(err, it.Docs[n].Path))
	}
	defer file.Close()
	writeDocument(v, it.Docs[n].Path, &file, q.Get("as") == "file")
	return nil
}

func writeDocument(v *page.View, name string, file *openalice.Document, keep bool) {
	h := v.W.Header()
	h.Set("Content-Security-Policy", inert)
	h.Set("X-Content-Type-Options", "nosniff")
	kind := kindOf(name, file)
	switch {
	case kind == "image" && !keep:
		h.Set("Content-Type", imageType(file.Text))
	case kind == "page" && !keep:
		h.Set("Content-Security-Policy", laidOut)
		h.Set("Content-Type", "text/html; charset=utf-8")
	default:
		h.Set("Content-Type", "application/octet-stream")
		h.Set("Content-Disposition", disposition(file.Name))
	}
	file.Serve(v.W, v.R)
}

// disposition makes the browser download a file, under its name if a header can carry that.
func disposition(name string) string {
	if d := mime.FormatMediaType("attachment", map[string]string{"filename": name}); d != "" {
		return d
	}
	return "attachment"
}
