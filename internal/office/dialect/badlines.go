package dialect

import (
	"path/filepath"
	"strings"

	"pennypost/internal/base/lines"
	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
)

// BadLines collects malformed lines and files below a directory.
type BadLines struct {
	Dir  string
	List []mail.BadLine
}

// Add adds a piece of the file at an absolute path. Beyond mail.MaxBadLines it adds nothing.
func (b *BadLines) Add(path string, line int, why error, text []byte) {
	if len(b.List) >= mail.MaxBadLines {
		return
	}
	if rel, err := filepath.Rel(b.Dir, path); err == nil {
		path = rel
	}
	b.List = append(b.List, BadLine(filepath.ToSlash(path), line, why, text))
}

// Scan adds the lines of a file's present content that check refuses.
func (b *BadLines) Scan(f *lines.File, check func(line []byte) error) error {
	text, _, err := f.Again().Read()
	for i, line := range text {
		if why := check(line); why != nil {
			b.Add(f.Path(), i+1, why, line)
		}
	}
	return err
}

// maxWhy is the maximum length of a reason in bytes: it may quote its line.
const maxWhy = 400

// BadLine returns a malformed piece of a file, shortened.
func BadLine(file string, line int, why error, text []byte) mail.BadLine {
	return mail.BadLine{File: file, Line: line, Why: clip([]byte(why.Error()), maxWhy),
		Text: clip(text, mail.MaxExcerpt)}
}

// clip returns the beginning of a text: at most that many bytes and an ellipsis.
func clip(text []byte, most int) string {
	return wording.Clip(strings.ToValidUTF8(string(text), "\uFFFD"), most+len("…"))
}
