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

// frame has the templates that every page may use, and the pages that any request can end in.
//
//go:embed templates
var frame embed.FS

// shared are the templates that every page may use; each of the others is a page of its own.
var shared = []string{"templates/layout.html", "templates/parts.html", "templates/icons.html",
	"templates/scope.html"}

// templates are the pages by name.
type templates struct {
	Pages func() (map[string]*template.Template, error)
}

// NewTemplates returns the pages whose templates are in some file systems. They are parsed once, when the first is
// asked for: commands and hooks must not pay for it.
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

// addPages parses each file as a page of its own.
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
