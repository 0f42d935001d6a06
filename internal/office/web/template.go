package web

import (
	"embed"
	"html/template"
	"io/fs"
	"path"
	"strings"
	"sync"

	"pennypost/internal/office/web/words"
)

//go:embed templates
var templates embed.FS

// shared are the templates that every page may use; of the others, each is a page of its own.
var shared = []string{"templates/layout.html", "templates/parts.html", "templates/icons.html"}

// pageTemplates parses every page once, when the first is asked for: commands and hooks must not pay for it.
var pageTemplates = sync.OnceValues(func() (map[string]*template.Template, error) {
	base, err := template.New("").Funcs(words.Functions()).ParseFS(templates, shared...)
	if err != nil {
		return nil, err
	}
	names, err := fs.Glob(templates, "templates/*.html")
	if err != nil {
		return nil, err
	}
	pages := make(map[string]*template.Template)
	for _, name := range names {
		t, err := base.Clone()
		if err == nil {
			_, err = t.ParseFS(templates, name)
		}
		if err != nil {
			return nil, err
		}
		pages[strings.TrimSuffix(path.Base(name), ".html")] = t
	}
	return pages, nil
})

func pageTemplate(name string) (*template.Template, error) {
	pages, err := pageTemplates()
	if err != nil {
		return nil, err
	}
	return pages[name], nil
}
