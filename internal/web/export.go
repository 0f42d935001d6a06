package web

import (
	"bufio"
	"io"
	"mime"
	"net/http"
	"strings"

	"pennypost/internal/jsonx"
	"pennypost/internal/mail"
)

// exportTypes are the formats in which a history is had as a file. JSON and JSONL are those of "pennypost export" and can be imported.
var exportTypes = map[string]string{"json": "application/json", "jsonl": "application/x-ndjson", "md": "text/markdown; charset=utf-8"}

// exportHistory sends everything that the filters let through as a file, oldest first, piece by piece.
func exportHistory(v *view) error {
	if v.svc == nil {
		return mail.Errorf(mail.NotFound, "there is no room yet, and nothing to export")
	}
	q := v.r.URL.Query()
	format := q.Get("format")
	if exportTypes[format] == "" {
		return mail.Errorf(mail.Invalid, "%q is no format of an export; use json, jsonl or md", format)
	}
	f := filtersOf(q)
	ask, err := f.query(v.Now)
	if err != nil {
		return err
	}
	ask.Deliveries = true
	first, err := v.oldest(&ask)
	if err != nil {
		return err
	}
	h := v.w.Header()
	h.Set("Content-Type", exportTypes[format])
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{
		"filename": string(v.Room) + "-" + v.Now.Format("2006-01-02-1504") + "." + format,
	}))
	out := bufio.NewWriterSize(pieces{v}, 64<<10)
	if err := v.export(newExporter(format, out, v, f), ask, first); err != nil {
		// What was sent must not be taken for the whole.
		v.site.opts.Log.Warn("export broken off", "room", v.Room, "err", err)
		panic(http.ErrAbortHandler)
	}
	if out.Flush() != nil {
		panic(http.ErrAbortHandler)
	}
	return nil
}

// pieces sends what is written to the browser at once.
type pieces struct{ *view }

func (p pieces) Write(b []byte) (int, error) { return len(b), p.piece(string(b)) }

// oldest returns the first part of a history, and has ask go on behind it. A history is asked for from its end unless it has a cursor, and a cursor
// cannot stand before the first place: what is there is asked for by itself.
func (v *view) oldest(ask *mail.HistoryQuery) (mail.Page, error) {
	ask.Limit = mail.MaxLimit
	only := *ask
	if v.At >= 2 {
		only.Before = 2
	}
	page, err := v.svc.History(v.ctx(), only)
	ask.After = 1
	return page, err
}

// export writes the messages of first and those behind them that were there when the request came.
func (v *view) export(x exporter, ask mail.HistoryQuery, page mail.Page) error {
	for {
		for i := range page.Messages {
			switch it := &page.Messages[i]; {
			case it.Seq > v.At:
				return x.end()
			case v.hides(it.ID):
				continue
			}
			if err := x.add(&page.Messages[i]); err != nil {
				return err
			}
		}
		if ask.After >= v.At {
			return x.end()
		}
		var err error
		if page, err = v.svc.History(v.ctx(), ask); err != nil {
			return err
		}
		if ask.After = page.Next; !page.More {
			ask.After = v.At
		}
	}
}

// exporter writes messages in a format.
type exporter interface {
	add(it *mail.Item) error
	end() error
}

func newExporter(format string, w *bufio.Writer, v *view, f filters) exporter {
	switch format {
	case "json":
		return &jsonExporter{w: w}
	case "jsonl":
		return linesExporter{w}
	}
	return &markdownExporter{w: w, view: v, filters: f}
}

type linesExporter struct{ w *bufio.Writer }

func (x linesExporter) add(it *mail.Item) error {
	b, err := jsonx.Marshal(it)
	if err == nil {
		_, err = x.w.Write(append(b, '\n'))
	}
	return err
}

func (x linesExporter) end() error { return nil }

// jsonExporter writes one array.
type jsonExporter struct {
	w *bufio.Writer
	n int
}

func (x *jsonExporter) add(it *mail.Item) error {
	between := ",\n"
	if x.n == 0 {
		between = "[\n"
	}
	x.n++
	b, err := jsonx.Marshal(it)
	if err == nil {
		_, err = x.w.Write(append([]byte(between), b...))
	}
	return err
}

func (x *jsonExporter) end() error {
	end := "\n]\n"
	if x.n == 0 {
		end = "[]\n"
	}
	_, err := io.WriteString(x.w, end)
	return err
}

// markdownExporter writes a document for people: a heading for each day, and below it one for each message. Bodies are Markdown already; they stand in
// quotations, which keep their headings and fences, even those that nobody closed, out of the document's.
type markdownExporter struct {
	w       *bufio.Writer
	view    *view
	filters filters
	day     string
	err     error
}

func (x *markdownExporter) line(parts ...string) {
	for _, part := range append(parts, "\n") {
		if x.err == nil {
			_, x.err = x.w.WriteString(part)
		}
	}
}

// head writes the title, and which filters hold.
func (x *markdownExporter) head() {
	x.day = "-"
	x.line("# ", escaped(string(x.view.Room)), ", as of ", x.view.Now.Format("Monday, 2 January 2006, 15:04"))
	p := historyPage{view: x.view, Filters: x.filters}
	for i, c := range p.Chips() {
		if i == 0 {
			x.line()
		}
		x.line("- ", escaped(strings.TrimSpace(c.Label+" "+c.Value)))
	}
}

func (x *markdownExporter) add(it *mail.Item) error {
	if x.day == "" {
		x.head()
	}
	at := it.Sent.Std().In(x.view.Now.Location())
	if day := at.Format("Monday, 2 January 2006"); day != x.day {
		x.day = day
		x.line("\n## ", day)
	}
	var to []string
	for _, a := range it.To {
		to = append(to, escaped(who(a)))
	}
	x.line("\n### ", at.Format("15:04"), " ", escaped(subject(&it.Message)))
	x.line("\n- ", string(it.Type), " from **", escaped(who(it.From)), "** to ", strings.Join(to, ", "))
	x.line("- id ", escaped(string(it.ID)))
	for _, one := range []struct{ name, value string }{{"answers", string(it.ReplyTo)}, {"thread", string(it.Thread)}, {"issue", it.Issue}, {"priority", string(it.Priority)}} {
		if one.value != "" {
			x.line("- ", one.name, " ", escaped(one.value))
		}
	}
	for _, doc := range it.Docs {
		x.line("- document ", escaped(doc.Path))
	}
	for _, d := range it.Deliveries {
		x.line("- ", escaped(recipient(d)+": "+became(x.view.Now, d)))
	}
	x.line()
	x.line("> ", strings.ReplaceAll(strings.TrimRight(tame(it.Body), "\n"), "\n", "\n> "))
	return x.err
}

func (x *markdownExporter) end() error {
	if x.day == "" {
		x.head()
		x.line("\nNo message fits.")
	}
	return x.err
}

// tame takes what is not text out of text: a terminal that shows the file must not obey it.
func tame(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
			return -1
		}
		return r
	}, text)
}

// escaped returns text as Markdown that shows it as it is, on one line.
func escaped(text string) string {
	var b strings.Builder
	for _, r := range strings.Join(strings.Fields(tame(text)), " ") {
		if strings.ContainsRune("\\`*_[]<>#|~&", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
