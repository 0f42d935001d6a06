package page

import (
	"embed"
	"html/template"
	"io/fs"
	"path"
	"strings"
	"sync"

	"pennypost/internal/office/web/words"
)

// frame has the shared templates, and the pages that any request can end in.
//
//go:embed templates
var frame embed.FS

// shared are the templates available to every page; each other file is a page.
var shared = []string{"templates/layout.html", "templates/parts.html", "templates/icons.html",
	"templates/scope.html"}

// templates holds the pages by name.
type templates struct {
	Pages func() (map[string]*template.Template, error)
}

// NewTemplates returns the pages in some file systems. They are parsed on first use, so that commands and hooks do
// not pay for it.
func NewTemplates(files ...fs.FS) *templates {
	return &templates{sync.OnceValues(func() (map[string]*template.Template, error) {
		base, err := template.New("").Funcs(words.Functions()).ParseFS(frame, shared...)
		if err != nil {
			return nil, err
		}
		pages := make(map[string]*template.Template)
		for _, in := range append(files, frame) {
			if err := addPages(pages, base, in); err != nil {
				return nil, err
			}
		}
		return pages, nil
	})}
}

// addPages parses each file as a separate page.
func addPages(pages map[string]*template.Template, base *template.Template, in fs.FS) error {
	names, err := fs.Glob(in, "templates/*.html")
	for _, name := range names {
		t, err := base.Clone()
		if err == nil {
			_, err = t.ParseFS(in, name)
		}
		if err != nil {
			return err
		}
		pages[strings.TrimSuffix(path.Base(name), ".html")] = t
	}
	return err
}
