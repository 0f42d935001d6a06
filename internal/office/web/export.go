package web

import (
	"mime"
	"net/http"
	"strings"

	"pennypost/internal/mail"
	"pennypost/internal/mail/export"
)

// exportForm is how a history is had as a file.
type exportForm struct {
	export.Format
	mediaType string
}

// exportForms are the forms by how their files end.
var exportForms = map[string]exportForm{
	"json": {export.JSON, "application/json"}, "jsonl": {export.JSONL, "application/x-ndjson"},
	"md": {export.Markdown, "text/markdown; charset=utf-8"},
}

// exportHistory sends everything that the filters let through as a file, oldest first, piece by piece.
func exportHistory(v *view) error {
	q := v.r.URL.Query()
	format := q.Get("format")
	form, ok := exportForms[format]
	if !ok {
		return mail.Errorf(mail.Invalid, "%q is no format of an export; use json, jsonl or md", format)
	}
	f := filtersOf(q)
	ask, err := f.query(v.Now)
	if err != nil {
		return err
	}
	ask.Deliveries = true
	first, err := oldest(v, &ask)
	if err != nil {
		return err
	}
	h := v.w.Header()
	h.Set("Content-Type", form.mediaType)
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{
		"filename": string(v.Room) + "-" + v.Now.Format("2006-01-02-1504") + "." + format,
	}))
	var chips []string
	for _, c := range (&historyPage{view: v, Filters: f}).Chips() {
		chips = append(chips, strings.TrimSpace(c.Label+" "+c.Value))
	}
	file := export.New(pieces{v}, form.Format, export.Heading{Title: string(v.Room), Notes: chips, Now: v.Now})
	if err := exportAll(v, file, ask, first); err != nil {
		// What was sent must not be taken for the whole.
		v.site.Log.Warn("export broken off", "room", v.Room, "err", err)
		panic(http.ErrAbortHandler)
	}
	return nil
}

// pieces sends what is written to the browser at once.
type pieces struct{ *view }

func (p pieces) Write(b []byte) (int, error) { return len(b), p.piece(string(b)) }

// oldest returns the first part of a history, and has ask go on behind it. A history is asked for from its end unless
// it has a cursor, and a cursor cannot stand before the first place: what is there is asked for by itself.
func oldest(v *view, ask *mail.HistoryQuery) (mail.Page, error) {
	ask.Limit = mail.MaxLimit
	only := *ask
	if v.At >= 2 {
		only.Before = 2
	}
	page, err := v.svc.History(v.ctx(), only)
	ask.After = 1
	return page, err
}

// exportAll writes the messages of first and those behind them that were there when the request came.
func exportAll(v *view, x *export.Writer, ask mail.HistoryQuery, page mail.Page) error {
	for {
		for i := range page.Messages {
			switch it := &page.Messages[i]; {
			case it.Seq > v.At:
				return x.Close()
			case v.hides(it.ID):
				continue
			}
			if err := x.Add(&page.Messages[i]); err != nil {
				return err
			}
		}
		if ask.After >= v.At {
			return x.Close()
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
