// Package export writes messages to a file, for programs or for people.
package export

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
)

// Format is an output format. The JSON formats can be imported.
type Format string

// The formats.
const (
	JSONL    Format = "jsonl"    // one object per line
	JSON     Format = "json"     // one array of objects
	Markdown Format = "markdown" // a document: a heading for each day, and below it one for each message
)

// Heading is the head of a document.
type Heading struct {
	Title string
	Notes []string
	Now   time.Time // its zone is used for all times
}

// Writer writes messages, oldest first. It is buffered: Close it after the last message, or Flush it if there is no
// last one.
type Writer struct {
	w      *bufio.Writer
	format Format
	head   Heading
	n      int    // messages so far
	day    string // of the latest message
}

// New returns a Writer. Only a document needs a heading.
func New(w io.Writer, format Format, head Heading) *Writer {
	return &Writer{w: bufio.NewWriterSize(w, 64<<10), format: format, head: head}
}

// Add writes a message.
func (x *Writer) Add(it *mail.Item) error {
	x.n++
	if x.format == Markdown {
		return x.document(it)
	}
	b, err := jsonx.Marshal(it)
	if err != nil {
		return err
	}
	switch {
	case x.format == JSONL:
		b = append(b, '\n')
	case x.n == 1:
		b = append([]byte("[\n"), b...)
	default:
		b = append([]byte(",\n"), b...)
	}
	_, err = x.w.Write(b)
	return err
}

// Close ends the file.
func (x *Writer) Close() error {
	switch {
	case x.format == JSON && x.n == 0:
		x.line("[]")
	case x.format == JSON:
		x.line("\n]")
	case x.format == Markdown && x.n == 0:
		x.begin()
		x.line("\nNo messages.")
	}
	return x.Flush()
}

// Flush writes out the buffered text.
func (x *Writer) Flush() error { return x.w.Flush() }

// line writes a line. The buffer keeps the first error until Close or Flush.
func (x *Writer) line(format string, args ...any) {
	_, _ = fmt.Fprintf(x.w, format+"\n", args...)
}

// begin writes the head of a document.
func (x *Writer) begin() {
	x.line("# %s, as of %s", escape(x.head.Title), x.head.Now.Format("Monday, 2 January 2006, 15:04"))
	for i, note := range x.head.Notes {
		if i == 0 {
			x.line("")
		}
		x.line("- %s", escape(note))
	}
}

func unproven(it *mail.Item) string {
	if it.Doubt() == "" {
		return ""
	}
	return " (" + it.Doubt() + ")"
}

// document writes a message for people. Its body is Markdown already, and is quoted, so that its headings and
// fences, even unclosed ones, stay out of the document's structure.
func (x *Writer) document(it *mail.Item) error {
	if x.n == 1 {
		x.begin()
	}
	at := it.Sent.Std().In(x.head.Now.Location())
	if day := at.Format("Monday, 2 January 2006"); day != x.day {
		x.day = day
		x.line("\n## %s", day)
	}
	title := escape(it.Subject)
	if title == "" {
		title = string(it.Type)
	}
	x.line("\n### %s %s\n", at.Format("15:04"), title)
	to := make([]string, len(it.To))
	for i, a := range it.To {
		to[i] = name(a)
	}
	x.line("- %s from **%s**%s to %s", it.Type, name(it.From), unproven(it), strings.Join(to, ", "))
	x.line("- id %s", escape(string(it.ID)))
	for _, one := range []struct{ name, value string }{
		{"answers", string(it.ReplyTo)}, {"thread", string(it.Thread)}, {"issue", it.Issue},
		{"priority", string(it.Priority)},
	} {
		if one.value != "" {
			x.line("- %s %s", one.name, escape(one.value))
		}
	}
	for _, doc := range it.Docs {
		x.line("- document %s", escape(doc.Path))
	}
	for _, d := range it.Deliveries {
		x.line("- %s", x.delivery(d))
	}
	_, err := fmt.Fprintf(x.w, "\n> %s\n", strings.ReplaceAll(strings.TrimRight(tame(it.Body), "\n"), "\n", "\n> "))
	return err
}

// delivery describes the state of a delivery.
func (x *Writer) delivery(d mail.Delivery) string {
	who := escape(string(d.Agent))
	if who == "" {
		who = name(d.Address)
	}
	text := who + ": " + string(d.State)
	if d.Door != "" {
		text += " through " + escape(d.Door)
	}
	if d.At != 0 {
		text += ", " + d.At.Std().In(x.head.Now.Location()).Format("2006-01-02 15:04")
	}
	return text
}

// name returns an address as a person reads it.
func name(a mail.Address) string { return escape(strings.TrimPrefix(string(a), "agent:")) }

// escape returns Markdown that shows text literally, on one line.
func escape(text string) string {
	var b strings.Builder
	for _, r := range strings.Join(strings.Fields(tame(text)), " ") {
		if strings.ContainsRune("\\`*_[]<>#|~&", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// tame removes control characters from text: a terminal that shows the file must neither obey them nor reorder its
// lines.
func tame(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' ||
			r == '\u2029' {
			return -1
		}
		return r
	}, text)
}
