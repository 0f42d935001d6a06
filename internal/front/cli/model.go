package cli

import (
	"bytes"
	"io"
	"os"
	"strings"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/fence"
	"pennypost/internal/mail"
)

// A ModelWriter is standard output. What a command of an agent prints is read by a model: it stands in a fence, and
// goes through package fence line by line, unless the command is listed as one that says nothing but our own words, or
// writes JSON. What a person or a file gets is exact.
type ModelWriter struct {
	To      io.Writer
	Reading bool // a model reads
	json    bool // what is written is JSON
	ours    bool // what is written is in our own words
	begun   bool
	open    *fence.Fence // that is not closed yet; nil: none is
	line    []byte       // not ended yet: a tag may be cut between two writes
}

// forModel has what is written made harmless from now on, unless it goes into a file.
func (m *ModelWriter) forModel() {
	file, ok := m.To.(*os.File)
	if ok {
		info, err := file.Stat()
		ok = err == nil && info.Mode().IsRegular()
	}
	m.Reading = !ok
}

// Write implements io.Writer.
func (m *ModelWriter) Write(p []byte) (int, error) {
	if !m.Reading {
		return m.To.Write(p)
	}
	m.line = append(m.line, p...)
	end := bytes.LastIndexByte(m.line, '\n') + 1
	text := string(m.line[:end])
	m.line = append(m.line[:0], m.line[end:]...)
	return len(p), m.pass(text)
}

// flush writes what is left of a line without an end, and closes the fence.
func (m *ModelWriter) flush() error {
	text := string(m.line)
	m.line = nil
	err := m.pass(text)
	if m.open == nil || err != nil {
		return err
	}
	end := m.open.End() + "\n"
	if text != "" && !strings.HasSuffix(text, "\n") {
		end = "\n" + end
	}
	m.open = nil
	_, err = io.WriteString(m.To, end)
	return err
}

// pass writes lines. Some verbs write JSON without being asked to, which has to stay JSON.
func (m *ModelWriter) pass(text string) error {
	if text == "" {
		return nil
	}
	if !m.begun && (text[0] == '{' || text[0] == '[') { // or somebody's text does
		_, err := jsonx.ReadValue(strings.NewReader(text))
		m.json = err == nil
	}
	m.begun = true
	switch {
	case m.json:
		text = fence.EscapeJSON(text)
	case m.ours || m.open != nil:
		text = fence.Text(text)
	default:
		f := fence.New()
		m.open = &f
		text = f.Notice(nil) + "\n" + f.Begin() + "\n" + fence.Text(text)
	}
	_, err := io.WriteString(m.To, text)
	return err
}

// OurWords is text that no stranger has written a word of. Constants convert to it; for anything else whoever writes
// the conversion says so.
type OurWords string

// Own writes a line that needs no fence, for a list that is empty.
func (a *App) Own(line OurWords) {
	was := a.Stdout.ours
	a.Stdout.ours = was || a.Stdout.open == nil
	a.Out.Line("%s", line)
	a.Stdout.ours = was
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

// HandOver prints messages for a model, each in a fence, and in another what became of them.
func (a *App) HandOver(items []mail.Item) {
	f := fence.New()
	if a.Out.err == nil {
		_, a.Out.err = io.WriteString(FencedWriter{a.Stdout}, f.Notice(items)+"\n")
	}
	for i := range items {
		it := items[i]
		if len(it.Metadata) > 0 {
			it.Body += "\n\ndata: " + string(it.Metadata)
			it.Metadata = nil
		}
		if a.Out.err == nil {
			_, a.Out.err = io.WriteString(FencedWriter{a.Stdout}, "\n"+f.Message(&it)+"\n")
		}
		a.Stdout.within(f, func() { a.ShowDelivery(&it, it.Metadata) })
	}
}

// within has what is written go into a fence that was introduced before.
func (m *ModelWriter) within(f fence.Fence, write func()) {
	if !m.Reading || m.json {
		write()
		return
	}
	_, _ = io.WriteString(FencedWriter{m}, f.Begin()+"\n") // an error comes again with the next line
	m.open = &f
	write()
	_ = m.flush()
}
