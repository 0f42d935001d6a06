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

// A ModelWriter is standard output. A model reads the output of an agent's command: it is put in a fence, and passed
// through package fence line by line, unless the command is listed as printing only our own words, or writes JSON. A
// person or a file gets the exact output.
type ModelWriter struct {
	To      io.Writer
	Reading bool // a model reads the output
	json    bool // the output is JSON
	ours    bool // the output is in our own words
	begun   bool
	open    *fence.Fence // the fence still open; nil: none
	line    []byte       // incomplete: a tag may be split between two writes
}

// forModel neutralises the output from now on, unless it goes into a file.
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

// flush writes the rest of an incomplete line, and closes the fence.
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

// pass writes lines. Some verbs write JSON without --json, which has to stay JSON.
func (m *ModelWriter) pass(text string) error {
	if text == "" {
		return nil
	}
	if !m.begun && (text[0] == '{' || text[0] == '[') { // or another's text begins like this
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

// OurWords is text without any words of strangers. Constants convert to it; any other conversion is the caller's
// promise.
type OurWords string

// Own writes a line that needs no fence, for an empty list.
func (a *App) Own(line OurWords) {
	was := a.Stdout.ours
	a.Stdout.ours = was || a.Stdout.open == nil
	a.Out.Line("%s", line)
	a.Stdout.ours = was
}

// A FencedWriter is standard output for text that package fence has rendered.
type FencedWriter struct{ To *ModelWriter }

// Write implements io.Writer.
func (f FencedWriter) Write(p []byte) (int, error) {
	if err := f.To.flush(); err != nil {
		return 0, err
	}
	return f.To.To.Write(p)
}

// HandOver prints messages for a model, each in a fence, and their deliveries in another fence.
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

// within puts the output of write into a fence that was announced before.
func (m *ModelWriter) within(f fence.Fence, write func()) {
	if !m.Reading || m.json {
		write()
		return
	}
	_, _ = io.WriteString(FencedWriter{m}, f.Begin()+"\n") // the next line returns the same error
	m.open = &f
	write()
	_ = m.flush()
}
