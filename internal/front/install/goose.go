package install

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"pennypost/internal/mail"
)

// goose is Goose (block.github.io/goose/docs/guides/config-files, 2026).
func goose() Client {
	return Client{
		Name: "goose", Title: "Goose", Program: "goose", Scopes: []Scope{User},
		files: func(o *Options) []file {
			dir := filepath.Join(o.xdgConfig(), "goose")
			if o.GOOS == "windows" {
				dir = o.configDir("Block", "goose", "config")
			}
			return []file{{filepath.Join(dir, "config.yaml"), "extension", &gooseFile{o}}}
		},
		notes: func(*Options) []string { return nil },
	}
}

// gooseFile is Goose's config.yaml. No library was found that changes YAML and preserves the rest, so install tells
// the person what to write there, and reads the file line by line.
type gooseFile struct{ o *Options }

// gooseCommand matches a line, of an extension or part of one, that names the program.
var gooseCommand = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[^#]*\bcmd: *["']?([^"',]*\bpennypostd?(?:\.exe)?)["']?(?:[,\s].*)?$`)
})

// line is our extension, in one line so that it can be pasted.
func (f *gooseFile) line() string {
	return fmt.Sprintf("  %s: {enabled: true, type: stdio, name: %s, description: Mail between agents and with you, "+
		"cmd: %s, args: %s, envs: {}, timeout: %d}", serverName, serverName, raw(f.o.Binary), raw(mcpArgs(f.o)),
		ToolTimeout)
}

func (f *gooseFile) put(text []byte) ([]byte, error) {
	entries, _ := f.entries(text)
	switch {
	case len(entries) == 0:
		return nil, mail.Errorf(mail.Invalid, "this file is yours to edit. Nothing was changed. Add this line "+
			"below \"extensions:\", indented like the others there, and restart Goose:\n"+
			"%s", f.line())
	case entries[0].Binary == f.o.Binary && f.o.As == "", strings.Contains(string(text), strings.TrimSpace(f.line())):
		return text, nil
	}
	return nil, mail.Errorf(mail.Invalid, "line %d: this file is yours to edit. Nothing was changed. Replace the "+
		"extension %s with this line:\n"+
		"%s", entries[0].Line, serverName, f.line())
}

func (f *gooseFile) strip(text, _ []byte) ([]byte, []piece, error) {
	if entries, _ := f.entries(text); len(entries) > 0 {
		return nil, nil, mail.Errorf(mail.Invalid, "line %d: this file is yours to edit. Nothing was changed. "+
			"Remove the extension %s there", entries[0].Line, serverName)
	}
	return text, nil, nil
}

func (f *gooseFile) replay(base []byte, _ []piece) ([]byte, error) { return base, nil }

func (f *gooseFile) entries(text []byte) ([]Entry, error) {
	for i, line := range strings.Split(string(text), "\n") {
		if m := gooseCommand().FindStringSubmatch(line); m != nil {
			return []Entry{{"extension " + serverName, strings.ReplaceAll(m[1], `\\`, `\`), i + 1}}, nil
		}
	}
	return nil, nil
}

func (f *gooseFile) blank(text []byte) bool { return len(text) == 0 }
