package cli

import (
	"bytes"
	"io"
	"os"
	"strings"

	"pennypost/internal/fence"
	"pennypost/internal/mail"
)

// A ModelWriter is standard output. What a command of an agent prints is read by a model, so everything that is not a
// fence goes through package fence line by line; what a person or a file gets is exact.
type ModelWriter struct {
	To      io.Writer
	reading bool // a model reads
	json    bool // what is written is JSON
	begun   bool
	line    []byte // not ended yet: a tag may be cut between two writes
}

// forModel has what is written made harmless from now on, unless it goes into a file.
func (m *ModelWriter) forModel() {
	file, ok := m.To.(*os.File)
	if ok {
		info, err := file.Stat()
		ok = err == nil && info.Mode().IsRegular()
	}
	m.reading = !ok
}

// Write implements io.Writer.
func (m *ModelWriter) Write(p []byte) (int, error) {
	if !m.reading {
		return m.To.Write(p)
	}
	m.line = append(m.line, p...)
	end := bytes.LastIndexByte(m.line, '\n') + 1
	text := string(m.line[:end])
	m.line = append(m.line[:0], m.line[end:]...)
	return len(p), m.pass(text)
}

// flush writes what is left of a line without an end.
func (m *ModelWriter) flush() error {
	text := string(m.line)
	m.line = nil
	return m.pass(text)
}

// pass writes lines. Some verbs write JSON without being asked to, which has to stay JSON.
func (m *ModelWriter) pass(text string) error {
	if text == "" {
		return nil
	}
	if !m.begun && (text[0] == '{' || strings.HasPrefix(text, "[\n") || strings.HasPrefix(text, "[{")) {
		m.json = true
	}
	m.begun = true
	if m.json {
		text = fence.EscapeJSON(text)
	} else {
		text = fence.Text(text)
	}
	_, err := io.WriteString(m.To, text)
	return err
}

// A FencedWriter is standard output for what package fence has rendered.
type FencedWriter struct{ To *ModelWriter }

// Write implements io.Writer.
func (f FencedWriter) Write(p []byte) (int, error) {
	if err := f.To.flush(); err != nil {
		return 0, err
	}
	return f.To.To.Write(p)
}

// handOver prints messages for a model, each in a fence, with what became of them below.
func (a *App) handOver(items []mail.Item) {
	f := fence.New()
	a.Out.Line("%s", f.Notice(items))
	for i := range items {
		if a.Out.err == nil {
			_, a.Out.err = io.WriteString(FencedWriter{a.Stdout}, "\n"+f.Message(&items[i])+"\n")
		}
		a.showDelivery(&items[i])
	}
}
