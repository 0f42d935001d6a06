package room

import (
	"mime"
	"net/http"
	"strings"

	"pennypost/internal/mail"
	"pennypost/internal/mail/export"
	"pennypost/internal/office/web/page"
)

// exportForm is a file format for exported history.
type exportForm struct {
	export.Format
	mediaType string
}

// exportForms are the formats by file extension.
var exportForms = map[string]exportForm{
	"json": {export.JSON, "application/json"}, "jsonl": {export.JSONL, "application/x-ndjson"},
	"md": {export.Markdown, "text/markdown; charset=utf-8"},
}

// exportHistory streams every message that passes the filters as a file, oldest first.
func exportHistory(v *page.View) error {
	q := v.R.URL.Query()
	format := q.Get("format")
	form, ok := exportForms[format]
	if !ok {
		return mail.Errorf(mail.Invalid, "%q is not a format of an export; use json, jsonl or md", format)
	}
	f := page.FiltersOf(q)
	ask, err := f.Query(v.Now)
	if err != nil {
		return err
	}
	ask.Deliveries = true
	first, err := oldest(v, &ask)
	if err != nil {
		return err
	}
	h := v.W.Header()
	h.Set("Content-Type", form.mediaType)
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{
		"filename": string(v.Room) + "-" + v.Now.Format("2006-01-02-1504") + "." + format,
	}))
	var chips []string
	for _, c := range (&historyPage{View: v, Filters: f}).Chips() {
		chips = append(chips, strings.TrimSpace(c.Label+" "+c.Value))
	}
	file := export.New(pieces{v}, form.Format, export.Heading{Title: string(v.Room), Notes: chips, Now: v.Now})
	if err := exportAll(v, file, ask, first); err != nil {
		// A truncated file must not look complete.
		v.Site.Log.Warn("export aborted", "room", v.Room, "err", err)
		panic(http.ErrAbortHandler)
	}
	return nil
}

// pieces flushes each write to the browser.
type pieces struct{ *page.View }

func (p pieces) Write(b []byte) (int, error) { return len(b), p.Piece(string(b)) }

// oldest returns the first page of a history and sets ask to continue after it. A query without a cursor returns the
// end of the history, and no cursor precedes sequence number 1, so that message needs its own query.
func oldest(v *page.View, ask *mail.HistoryQuery) (mail.Page, error) {
	ask.Limit = mail.MaxLimit
	only := *ask
	if v.At >= 2 {
		only.Before = 2
	}
	got, err := v.Svc.History(v.Ctx(), only)
	ask.After = 1
	return got, err
}

// exportAll writes the messages of the first page and the later ones that existed when the request arrived.
func exportAll(v *page.View, x *export.Writer, ask mail.HistoryQuery, got mail.Page) error {
	for {
		for i := range got.Messages {
			switch it := &got.Messages[i]; {
			case it.Seq > v.At:
				return x.Close()
			case v.Hides(it.ID):
				continue
			}
			if err := x.Add(&got.Messages[i]); err != nil {
				return err
			}
		}
		if ask.After >= v.At {
			return x.Close()
		}
		var err error
		if got, err = v.Svc.History(v.Ctx(), ask); err != nil {
			return err
		}
		if ask.After = got.Next; !got.More {
			ask.After = v.At
		}
	}
}
